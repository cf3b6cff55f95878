"""What models tell about their use of the history, gathered over a text; no model is known by its name here."""

from collections.abc import Iterable
from typing import Any

from docaps.diagnosis.distributions import Distribution
from docaps.model.interface import Trace


class TraceBook:
    """Distributions of all numbers that a model told, by name and by place of the axis."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._places: dict[str, dict[str, Distribution]] = {}

    def add(self, traces: Iterable[Trace]) -> None:
        """Take in what a model told about a batch."""
        for trace in traces:
            self._titles[trace.name] = trace.title
            places = self._places.setdefault(trace.name, {})
            for label, values in zip(trace.labels, trace.values.float().cpu().numpy(), strict=True):
                places.setdefault(label, Distribution(trace.low, trace.high)).add(values)

    def as_list(self) -> list[dict[str, Any]]:
        """Return plain JSON values; places where nothing was observed are left out."""
        return [
            {
                "name": name,
                "title": self._titles[name],
                "places": [
                    {"place": label, **known}
                    for label, found in places.items()
                    if (known := found.as_dict()) is not None
                ],
            }
            for name, places in self._places.items()
        ]
