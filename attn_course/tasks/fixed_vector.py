"""Bahdanau's model with its attention made useless: the encoder-decoder as it was before."""

from torch import Tensor

from attn_course.general_attention import BahdanauSeq2Seq


class UniformContext(BahdanauSeq2Seq):
    """Bahdanau's model with all scores 0: every step sees the same mean of the encoded source.

    Its parameters are the same, though those of the score change nothing. The decoder still starts
    from the encoder's last state, so this is an encoder-decoder as they were before attention.
    """

    def _score(self, states: Tensor, U_a_h: Tensor) -> Tensor:
        return states.new_zeros(*states.shape[:-1], U_a_h.shape[-2])
