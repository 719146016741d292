"""The exercises of page 06c: sinusoids, rotations, biases by distance, and a mixed convention."""
