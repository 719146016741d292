"""The exercises of chapter 03: softmax, masks, windows, hard attention."""
