"""The same mechanisms as literal loops over numbers, as the survey writes them: the oracle.

One query at a time, one number at a time: no matrix product, no broadcasting. Slow, and easy to
check with a pencil. Tests hold the fast code against these; pages show them next to it. One file
a chapter; NumPy alone, and only to hold the results.
"""
