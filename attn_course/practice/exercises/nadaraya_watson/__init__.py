"""The exercises of chapter 01: average pooling, kernels, leave-one-out, a training step."""
