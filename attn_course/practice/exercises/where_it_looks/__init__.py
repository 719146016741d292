"""The exercises of page 08e: links, error rate, correctness, supervised attention and rollout."""
