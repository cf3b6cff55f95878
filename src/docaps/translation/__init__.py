"""Translation: searching for translations with a trained model, and scoring given ones."""
