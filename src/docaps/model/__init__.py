"""Models: the Transformer, and what lets it look at the sentences before."""
