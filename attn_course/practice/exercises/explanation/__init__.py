"""The exercises of page 08f: divergences, leave-one-out, permutations, adversaries, conclusions."""
