"""How the time of a notebook is shared out among its exercises: a slow one costs itself alone.

In turn, each exercise may take the time that is not spent yet, divided by the number of exercises
that are not done, so what one does not use goes to the others. One that has used up its share is
stopped. When all have had their turn, those that were stopped are tried again, as long as that
gives them more than they had. So the order of the exercises does not decide who gets how much.

    shares = TimeShares(seconds=60)
    share = shares.begin(shares.fair(among=8))   # at most 7.5 seconds
    …                                            # share.left says how many of them are left
    shares.end(share)

Running a notebook's cells is on no exercise's account. But after twice the seconds all of it ends.
"""

import time
from collections.abc import Callable

_MORE = 1.1  # a tenth more than before, to be worth another try
_ALL_TOGETHER = 2  # times the seconds, for the cells too


class Share:
    """What one exercise may take, counted from when it was made until it is ended."""

    def __init__(self, seconds: float, latest: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._begun = clock()
        self._latest = min(self._begun + seconds, latest)
        self._ended: float | None = None

    def end(self) -> None:
        """Stop the count."""
        self._ended = self._clock()

    @property
    def left(self) -> float:
        """The seconds that are left of it; none or fewer where it is used up."""
        return self._latest - self._now

    @property
    def used(self) -> float:
        """The seconds that it took."""
        return self._now - self._begun

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    @property
    def _now(self) -> float:
        return self._clock() if self._ended is None else self._ended


class TimeShares:
    """So many seconds for the exercises of one notebook, by this clock."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._unspent = seconds
        self._clock = clock
        self._latest = clock() + _ALL_TOGETHER * seconds

    @property
    def is_over(self) -> bool:
        """Whether everything ends now, whatever is left of anybody's share."""
        return self._clock() >= self._latest

    def fair(self, among: int) -> float:
        """Return the seconds for each of so many exercises that are not done."""
        return self._unspent / among

    def is_worth_another_try(self, share: Share, offered: float) -> bool:
        """Return whether one that used up its share would get more with the seconds `offered`."""
        return not self.is_over and offered >= _MORE * share.seconds

    def begin(self, seconds: float) -> Share:
        """Return the share of an exercise that begins now."""
        return Share(seconds, self._latest, self._clock)

    def end(self, share: Share) -> None:
        """Settle up with an exercise. One that was stopped, and may be tried again, has spent none.

        So one that we took too long to judge costs the others nothing.
        """
        share.end()
        if not share.is_used_up:
            self._unspent -= share.used
