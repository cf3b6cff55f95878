"""Context: the ways a model can look at the sentences before the current one."""
