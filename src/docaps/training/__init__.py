"""Training: from a prepared corpus and a recipe to a run directory."""
