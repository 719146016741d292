"""The exercises of page 05c: affinities, scores of both sides from one matrix, two grains."""
