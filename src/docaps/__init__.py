"""docaps: translate whole documents, each sentence with the sentences before it in view."""

__version__ = "0.1.0"
