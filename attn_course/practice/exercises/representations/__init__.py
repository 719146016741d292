"""The exercises of page 05e: several embeddings per word, mixed by a softmax or by gates."""
