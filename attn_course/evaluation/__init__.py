"""Evaluation: is it right, and does it look where it should?  (chapter 8)

- what a model says: `corpus_bleu`, `sentence_bleu`, `meteor`, `perplexity`, `word_error_rate`,
  `phoneme_error_rate`, `psnr`, `ssim`, `iou`, `accuracy`, `precision_recall_f1`
- where it looks: `attention_correctness` (always together with `uniform_correctness`),
  `alignment_error_rate`, `spearman` and `kendall` with human attention, `attention_rollout`
- teaching it where to look: `SupervisedAttention`
- whether a part is needed: `ablate`
- whether attention explains anything: `explanation`, a lab of its own
"""

from attn_course.evaluation.ablation import Ablation, ablate, uniform_weights
from attn_course.evaluation.bleu import Bleu, corpus_bleu, sentence_bleu
from attn_course.evaluation.classification import (
    PrecisionRecallF1,
    accuracy,
    confusion_matrix,
    precision_recall_f1,
)
from attn_course.evaluation.correctness import (
    argmax_hits,
    attention_correctness,
    correctness_by_row,
    uniform_correctness,
)
from attn_course.evaluation.divergences import jsd, jsd_ceiling, kl, tvd
from attn_course.evaluation.error_rates import (
    EditAlignment,
    edit_alignment,
    phoneme_error_rate,
    position_independent_error_rate,
    word_error_rate,
)
from attn_course.evaluation.images import psnr, ssim, ssim_map
from attn_course.evaluation.links import (
    LinkCounts,
    alignment_error_rate,
    corpus_alignment_error_rate,
    link_counts,
    links_from_weights,
)
from attn_course.evaluation.meteor import Meteor, meteor
from attn_course.evaluation.meteor_links import count_chunks, count_crossings, link_words
from attn_course.evaluation.paired_comparison import Paired
from attn_course.evaluation.perplexity import bits_per_token, perplexity
from attn_course.evaluation.rank_correlation import kendall, spearman
from attn_course.evaluation.regions import box_iou, iou
from attn_course.evaluation.rollout import attention_rollout
from attn_course.evaluation.supervision import (
    SupervisedAttention,
    cross_entropy_loss,
    gold_distribution,
    kl_loss,
    squared_loss,
)

__all__ = [
    "Ablation",
    "Bleu",
    "EditAlignment",
    "LinkCounts",
    "Meteor",
    "Paired",
    "PrecisionRecallF1",
    "SupervisedAttention",
    "ablate",
    "accuracy",
    "alignment_error_rate",
    "argmax_hits",
    "attention_correctness",
    "attention_rollout",
    "bits_per_token",
    "box_iou",
    "confusion_matrix",
    "corpus_alignment_error_rate",
    "corpus_bleu",
    "correctness_by_row",
    "count_chunks",
    "count_crossings",
    "cross_entropy_loss",
    "edit_alignment",
    "gold_distribution",
    "iou",
    "jsd",
    "jsd_ceiling",
    "kendall",
    "kl",
    "kl_loss",
    "link_counts",
    "link_words",
    "links_from_weights",
    "meteor",
    "perplexity",
    "phoneme_error_rate",
    "position_independent_error_rate",
    "precision_recall_f1",
    "psnr",
    "sentence_bleu",
    "spearman",
    "squared_loss",
    "ssim",
    "ssim_map",
    "tvd",
    "uniform_correctness",
    "uniform_weights",
    "word_error_rate",
]
