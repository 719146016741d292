"""The exercises of page 10a: online softmax, blockwise attention, and a sentinel that wins."""
