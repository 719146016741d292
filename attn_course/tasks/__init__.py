"""Tasks with a known answer: where attention belongs is known before any model exists.

Every mechanism of the course has a task here, a tiny model with it and the same model without it.
`find_task` returns a task by its name, `train` trains one of its models, `task.figure` draws what
was found next to what is right, and `attn-course tasks` runs them all and prints the table.

Four leaks let an ablation solve a task all the same; a comment says where a task closes one:

1. An encoder does the selecting: one tanh per token may silence what does not matter.
2. An output with a hidden layer separates what the average has mixed.
3. The weight itself encodes the answer, where there are few answers.
4. What is absent reveals it: all answers but the right one, where each occurs once.

>>> find_task("key_lookup").question
'Which value belongs to the key that the query repeats, with a little noise?'
"""

from functools import cache
from importlib import import_module

from attn_course.tasks.task import Arm, Comparison, Examples, Task
from attn_course.tasks.training import Evaluation, Trained, evaluate, train

__all__ = [
    "Arm",
    "Comparison",
    "Evaluation",
    "Examples",
    "Task",
    "Trained",
    "all_tasks",
    "evaluate",
    "find_task",
    "train",
]

# In the order of the chapters: the module, and its tasks.
_TASKS = {
    "noisy_curve": ("NoisyCurve",),
    "key_lookup": ("KeyLookup", "KeyLookupElsewhere"),
    "scaled_lookup": ("ScaledLookup", "ScaledLookupWide"),
    "padded_lookup": ("PaddedLookup", "ZeroPaddedLookup"),
    "causal": ("NextToken",),
    "digit_patch": ("DigitPatch", "DigitPatchEarly"),
    "copy_patch": ("CopyPatch",),
    "transliteration": ("Transliteration", "TransliterationInRange"),
    "right_to_left": ("RightToLeft", "RightToLeftInRange"),
    "votes": ("Votes",),
    "bids": ("Bids",),
    "feature_places": ("FeaturePlaces",),
    "means_by_feature": ("MeansByFeature",),
    "scene_question": ("SceneQuestion",),
    "shopping_list": ("ShoppingList",),
    "target_sentiment": ("TargetSentiment",),
    "spelling": ("Spelling",),
    "telling_sentence": ("TellingSentence",),
    "uneven_embeddings": ("UnevenEmbeddings",),
    "brackets": ("Brackets",),
    "last_assignment": ("LastAssignmentInRange", "LastAssignment", "LastAssignmentLong"),
    "two_facts": ("TwoFacts",),
    "two_means": ("TwoMeans",),
    "two_steps": ("TwoSteps",),
    "triggers": ("Triggers",),
    "ratings": ("Ratings",),
    "repeats": ("Repeats",),
    "numerals": ("Numerals",),
    "dates": ("BahdanauDates", "TransformerDates"),
    "importance": ("TellingWord", "MajorityOfWords", "MajorityAmongFillers"),
    "graph_lookup": ("GraphLookup",),
}


@cache
def all_tasks() -> dict[str, Task]:
    """Return every task by its name, in the order of the chapters."""
    found = (
        getattr(import_module(f"{__name__}.{module}"), kind)()
        for module, kinds in _TASKS.items()
        for kind in kinds
    )
    return {task.name: task for task in found}


def find_task(name: str) -> Task:
    """Return the task of that name."""
    known = all_tasks()
    if name not in known:
        raise KeyError(f"there is no task {name!r}; there are: {', '.join(known)}")
    return known[name]
