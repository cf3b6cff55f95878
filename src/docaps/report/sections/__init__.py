"""The sections of the page, one function each."""
