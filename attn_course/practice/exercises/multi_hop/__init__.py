"""The exercises of page 06e: one hop, hops in a chain, and the reads of a memory network."""
