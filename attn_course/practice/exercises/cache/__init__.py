"""The exercises of page 10b: a cache with rotated keys, shared key-value heads, positions."""
