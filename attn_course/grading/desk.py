"""What an instructor's files say about results: which attempt counts, how late it was, who it was.

The policy, the table of what was collected and the roster come as texts. The gradebook can note a
text, so that reports which are written again, after an override for instance, are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attn_course.grading.collected import Attempt, CollectedProblem, counted, read_collected
from attn_course.grading.gradebook import Entry
from attn_course.grading.policy import Lateness, Policy, PolicyProblem, read_policy
from attn_course.grading.roster import Learner, Roster, RosterProblem, read_roster
from attn_course.practice.numbers import Misuse
from attn_course.practice.results import Verdict
from attn_course.translate import _

PROBLEMS = (PolicyProblem, CollectedProblem, RosterProblem)


@dataclass(frozen=True)
class Desk:
    """The files as texts; an empty one was not named."""

    policy_text: str = ""
    collected_text: str = ""
    roster_text: str = ""

    @cached_property
    def policy(self) -> Policy | None:
        """Deadlines, late work and extensions."""
        return read_policy(self.policy_text, _("The policy")) if self.policy_text else None

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """What was collected."""
        return read_collected(self.collected_text, _("The table of what was collected"))

    @cached_property
    def roster(self) -> Roster | None:
        """Who takes the course."""
        return read_roster(self.roster_text, _("The roster")) if self.roster_text else None

    def counted(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return one result for each learner and chapter: of several attempts the best one.

        Best is what has the most points once they were late; folders are learners again.
        """
        found = counted(list(entries), self.attempts, self._worth)
        return [entry for entry, _attempt in found]

    def login(self, folder: str) -> str:
        """Return whose folder this is; where that is not known, its name."""
        return self._logins.get(folder, folder)

    def attempt(self, entry: Entry) -> Attempt | None:
        """Return the attempt that a result is about, where it was collected.

        Of a file that could not be read there is no content: then it is the last one.
        """
        found = self._by_content.get((entry.learner, entry.chapter, entry.content))
        return found or (None if entry.content else self._last.get((entry.learner, entry.chapter)))

    def lateness(self, entry: Entry, points: float | None) -> Lateness | None:
        """Return how late a notebook was; None where it has no deadline, or is not there."""
        if self.policy is None or entry.record.status is Verdict.NOTHING_HANDED_IN:
            return None
        return self.policy.lateness(entry.learner, entry.chapter, self.attempt(entry), points)

    def strangers(self, entries: Iterable[Entry]) -> list[str]:
        """Return a sentence for each login with an extension of whom there is no result."""
        names = self.policy.strangers(entry.learner for entry in entries) if self.policy else []
        words = _("The policy has an extension for {login}, and there is no result of this login.")
        return [words.format(login=login) for login in names]

    def learner(self, login: str) -> Learner:
        """Return what is known of a learner, which may be the login alone."""
        known = self.roster.by_login if self.roster else {}
        return known.get(login) or Learner(login)

    def assignment(self, chapter: str) -> str:
        """Return what another system calls a chapter."""
        return self.policy.assignment(chapter) if self.policy else chapter

    def _worth(self, entry: Entry, attempt: Attempt | None) -> float | None:
        points = entry.record.points
        if self.policy is None:
            return points
        late = self.policy.lateness(entry.learner, entry.chapter, attempt, points)
        return late.final if late else points

    @cached_property
    def _last(self) -> dict[tuple[str, str], Attempt]:
        return {(one.learner, one.chapter): one for one in self.attempts if one.is_last}

    @cached_property
    def _logins(self) -> dict[str, str]:
        return {one.folder: one.learner for one in self.attempts}

    @cached_property
    def _by_content(self) -> dict[tuple[str, str, str], Attempt]:
        return {(one.learner, one.chapter, one.sha256): one for one in self.attempts}


def read_text(file: Path) -> str:
    """Return the text of an instructor's file; or raise `Misuse`."""
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or _("it is not UTF-8")
        raise Misuse(_("{file} can't be read: {why}.").format(file=file, why=why)) from fault
