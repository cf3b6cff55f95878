"""Capsule routing.

algorithm  Algorithm 1 and its formulas: squash, Pearson correlation, routing iterations
layer      the module with the weights; recomputation for very many words
"""
