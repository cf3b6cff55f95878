"""The fake grid of the report's tests."""

from tests.unit.report.conftest import folder, grids, results

__all__ = ["folder", "grids", "results"]
