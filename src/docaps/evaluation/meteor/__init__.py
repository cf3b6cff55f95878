"""METEOR 1.5 for German and English, from the published description (Denkowski and Lavie 2014).

`docs/reference/metrics.md` says where it follows the program instead.
"""
