"""Strings of programs and web pages: PO, XLIFF, TMX, and JSON or YAML files of strings."""
