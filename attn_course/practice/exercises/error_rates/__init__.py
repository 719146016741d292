"""The exercises of page 08b: the table of edit distances, and the error rates made from it."""
