"""The exercises of page 05d: words to sentences, sentences to a document, words to characters."""
