"""What is counted over words and classes, against jiwer, sacrebleu and scikit-learn.

The confusion matrix is scikit-learn's own, so that only what we add to it is compared. jiwer's
distances are compiled; ours are whole numbers of 1,600 bits in Python.
"""

from functools import partial

import jiwer
import numpy as np
import sacrebleu
from sklearn.metrics import precision_recall_fscore_support

from attn_course.evaluation import corpus_bleu, precision_recall_f1, word_error_rate
from benchmarks.measure import Line, compare_times

WORDS, SENTENCES, EXAMPLES = 1_600, 200, 10_000


def run(repeats: int) -> list[Line]:
    """Return the three times."""
    rng = np.random.default_rng(0)
    repeats = min(repeats, 7)

    def sentence(n: int) -> list[str]:
        return [f"word{number}" for number in rng.integers(500, size=n)]

    said, heard = sentence(WORDS), sentence(WORDS)
    spoken, written = " ".join(said), " ".join(heard)
    wanted = [sentence(20) for _ in range(SENTENCES)]
    found = [[w if rng.random() < 0.7 else "other" for w in words] for words in wanted]
    candidates, references = ([" ".join(words) for words in corpus] for corpus in (found, wanted))
    bleu = sacrebleu.BLEU(tokenize="none")
    truth, guessed = rng.integers(5, size=(2, EXAMPLES))
    return [
        compare_times(
            f"WER, 1 x {WORDS:,} words: time / jiwer",
            lambda: word_error_rate([said], [heard]),
            lambda: jiwer.wer(spoken, written),
            2,
            repeats,
        ),
        compare_times(
            f"BLEU, {SENTENCES} sentences: time / sacrebleu",
            lambda: corpus_bleu(found, [[words] for words in wanted]),
            lambda: bleu.corpus_score(candidates, [references]),
            1.2,
            repeats,
        ),
        compare_times(
            f"precision, recall, F1 of {EXAMPLES:,}: time / scikit-learn",
            partial(precision_recall_f1, truth, guessed, average="macro"),
            partial(precision_recall_fscore_support, truth, guessed, average="macro"),
            1.2,
            repeats,
        ),
    ]
