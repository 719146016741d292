"""The exercises of page 07d: masks, a training step, a cache, a leak, and induction heads."""
