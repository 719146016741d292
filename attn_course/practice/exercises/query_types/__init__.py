"""The exercises of page 06a: a decoder asks, a mean asks, and whose query is it?"""
