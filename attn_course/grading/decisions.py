"""What an instructor decides after the checks: points that are overridden, and comments.

An override sets the points of one learner in one exercise. A comment is for everyone who made the
same named mistake, and is written once. Both are kept with author and time, next to the results
and not in them, so they survive when notebooks are graded again. They are only ever added: the
last one counts, and one that has no points (or no words) removes what there was.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from attn_course.grading.records import ExerciseRecord, Record, status_of
from attn_course.practice.numbers import current_stem
from attn_course.practice.results import Verdict
from attn_course.translate import _


@dataclass(frozen=True)
class Decision:
    """An override (of a `learner`) or a comment (on a `mistake`); `exercise` is its name."""

    chapter: str  # NN_topic
    exercise: str
    author: str
    learner: str = ""
    mistake: str = ""
    points: int | None = None  # of an override; None removes it
    words: str = ""  # the reason, or the comment; a comment without words is removed
    made: str = ""  # when, UTC

    @property
    def is_comment(self) -> bool:
        """Whether it is for everyone with a mistake, and not about one learner's points."""
        return bool(self.mistake)

    @property
    def is_removal(self) -> bool:
        """Whether it takes an earlier decision back."""
        return not self.words if self.is_comment else self.points is None

    @property
    def exercise_id(self) -> str:
        """The id that the exercise has today."""
        return f"{current_stem(self.chapter).partition('_')[0]}.{self.exercise}"

    @property
    def day(self) -> str:
        """The day on which it was made."""
        return self.made.partition("T")[0]


class Decisions:
    """The decisions that count, to be shown in records."""

    def __init__(self, made: Iterable[Decision]) -> None:
        self._overrides: dict[tuple[str, str], Decision] = {}
        self._comments: dict[tuple[str, str], Decision] = {}
        for one in made:
            if one.is_comment:
                self._comments[one.exercise_id, one.mistake] = one
            else:
                self._overrides[one.learner, one.exercise_id] = one

    def override(self, learner: str, exercise_id: str) -> Decision | None:
        """Return the override that counts for a learner and an exercise."""
        found = self._overrides.get((learner, exercise_id))
        return None if found is None or found.is_removal else found

    def comment(self, exercise_id: str, mistake: str) -> Decision | None:
        """Return the comment for everyone who made a mistake."""
        found = self._comments.get((exercise_id, mistake))
        return None if found is None or found.is_removal else found

    def shown_in(self, learner: str, record: Record) -> Record:
        """Return a learner's record with the decisions on it."""
        exercises = tuple(self._decided(learner, one) for one in record.exercises)
        if exercises == record.exercises:
            return record
        status = record.status
        if status is Verdict.NOT_JUDGED and all(one.is_judged for one in exercises):
            status = status_of(tuple(one for one in exercises if not one.decision))
        return replace(record, status=status, exercises=exercises)

    def _decided(self, learner: str, record: ExerciseRecord) -> ExerciseRecord:
        comment = self.comment(record.id, record.mistake) if record.mistake else None
        if comment:
            said = _("Comment by {author}: {words}").format(
                author=comment.author, words=comment.words
            )
            record = replace(record, notes=(said, *record.notes))
        override = self.override(learner, record.id)
        if override:
            sentence = sentence_of(override, record)
            record = replace(record, points=override.points, decision=sentence)
        return record


def sentence_of(override: Decision, record: ExerciseRecord) -> str:
    """Say who set the points of an exercise, when and why, and what the check had given."""
    fields = {"author": override.author, "day": override.day, "reason": override.words}
    if record.points is None:
        words = _(
            "Points set by {author} on {day}, since the check came to no end. Reason: {reason}"
        )
        return words.format(**fields)
    words = _("Points set by {author} on {day}; the check gave {points}. Reason: {reason}")
    return words.format(points=record.points, **fields)
