"""The exercises of chapter 02: the seven scores, the scale, two bugs, a bound, a training step."""
