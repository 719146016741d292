"""The exercises of page 06f: a context per class, the margin loss, verdicts that must not meet."""
