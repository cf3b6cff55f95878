"""The report: run directories in, one self-contained HTML page out."""

from docaps.report.page import build_page
from docaps.runs.results import RunResults, read_results

__all__ = ["RunResults", "build_page", "read_results"]
