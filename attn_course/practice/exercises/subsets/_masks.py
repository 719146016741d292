"""What both exercises with a mask draw."""


def two_at_least(rng, *size):
    """Return a mask with two True and one False at least in each row."""
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the places in each row
    return ranks < rng.integers(2, size[-1], (*size[:-1], 1))
