"""The exercises of chapter 04: a weight for every feature, its context, its heads, its training."""
