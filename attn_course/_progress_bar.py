"""Progress of long work: a bar in a terminal, plain lines where there is none."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from tqdm import tqdm

from attn_course.translate import _

tqdm.monitor_interval = 0  # no thread of its own: a process with two can't be forked safely
_LINES = 10  # so many plain lines for a whole run …
_LONGEST_SILENCE = 30.0  # … and one at least so often, in seconds


class ProgressBar:
    """Counts finished pieces of work and shows them on `stream` (the standard error by default).

    with ProgressBar(1000, "grading", unit="notebooks") as progress:
        for path in paths:
            progress.now(path.name)
            …
            progress.advance()

    A terminal gets one bar that moves. Anything else (a log, a pipe, a file) gets about ten lines,
    each whole, with the rate, the time that is left and what is running.
    """

    def __init__(
        self,
        total: int,
        label: str,
        unit: str = "",
        show: bool = True,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self.done = 0
        self._label, self._unit, self._show = label, unit, show
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._start = self._last_line = clock()
        self._next_line = total / _LINES
        self._running = ""
        is_terminal = getattr(self._stream, "isatty", bool)()
        self._bar = (
            tqdm(total=total, desc=label, unit=f" {unit}" if unit else "", file=self._stream)
            if show and is_terminal
            else None
        )

    def now(self, what: str) -> None:
        """Say what is running."""
        self._running = what
        if self._bar is not None:
            self._bar.set_postfix_str(what[:40], refresh=False)

    def advance(self, by: int = 1) -> None:
        """Count `by` more pieces as done."""
        self.done += by
        if self._bar is not None:
            self._bar.update(by)
        elif self._show and self._is_time():
            print(self.line(), file=self._stream, flush=True)
            self._last_line = self._clock()
            self._next_line = self.done + self.total / _LINES

    def _is_time(self) -> bool:
        silent = self._clock() - self._last_line
        return self.done >= min(self._next_line, self.total) or silent > _LONGEST_SILENCE

    def line(self) -> str:
        """Return how far it is, as one line."""
        seconds = max(self._clock() - self._start, 1e-9)
        rate = self.done / seconds
        left = (self.total - self.done) / rate if rate else float("inf")
        text = (
            _("{label}: {done} of {total} {unit}")
            .format(label=self._label, done=self.done, total=self.total, unit=self._unit)
            .rstrip()
        )
        speed = _("{rate:.3g} a second, {left:.0f} s left").format(rate=rate, left=left)
        running = _(", now: {what}").format(what=self._running) if self._running else ""
        return f"{text}, {speed}{running}"

    def write(self, text: str) -> None:
        """Print a line of its own without tearing the bar."""
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        elif self._show:
            print(text, file=self._stream, flush=True)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
