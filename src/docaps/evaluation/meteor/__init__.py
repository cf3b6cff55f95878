"""METEOR 1.5 for German and English, from the published description (Denkowski and Lavie 2014).

The documentation of metrics says where it follows the program instead.
"""
