"""Experiments: grids of runs and the demo. They train and measure, and leave files that the report reads.

The defaults that commands and experiments share are here: importing them costs nothing.
"""

from pathlib import Path

DOCUMENTS = 8000
"""Training documents of generated mini-documents."""
RECIPE = "minidocs"
"""Recipe of grids."""
PHENOMENA = "pronoun,ambiguity"
"""Phenomena of the mini-documents of grids."""
DEMO_DIRECTORY = Path("runs/demo")
