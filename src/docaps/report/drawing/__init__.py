"""The drawing engine: charts and heat maps as SVG, for the page and for `--figures` alike."""
