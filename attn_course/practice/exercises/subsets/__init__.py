"""The exercises of page 03e: sparsemax, and a subset that is drawn."""
