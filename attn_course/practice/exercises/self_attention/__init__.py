"""The exercises of page 06b: learned queries, Lin's penalty, self-attention, refined features."""
