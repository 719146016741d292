"""The exercises of chapter 05b: sizes, a masked mean, one question, hops, the layer, training."""
