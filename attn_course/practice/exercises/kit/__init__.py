"""The exercises of page 07a: twelve attentions from words, ten models to name, five lookalikes."""
