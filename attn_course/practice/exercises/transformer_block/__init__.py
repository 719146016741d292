"""The exercises of page 07c: a norm, a feed-forward network, one block, and its parameters."""
