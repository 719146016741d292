"""The exercises of page 08a: n-grams that match, BLEU, METEOR's penalty and perplexity."""
