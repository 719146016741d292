"""The exercises of page 10c: a mask from positions, a sink for each head, and a 1 not scaled."""
