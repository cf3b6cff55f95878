"""The names, types and values on /metrics."""

import re

from tests.unit.web.serving import Served

TYPES = {
    "docaps_requests_total": "counter",
    "docaps_translate_seconds": "histogram",
    "docaps_sentences_total": "counter",
    "docaps_batches_total": "counter",
    "docaps_busy_seconds_total": "counter",
    "docaps_characters_total": "counter",
    "docaps_queue_sentences": "gauge",
    "docaps_active_requests": "gauge",
    "process_resident_memory_bytes": "gauge",
}
BUCKETS = ["0.01", "0.03", "0.1", "0.3", "1.0", "3.0", "10.0", "30.0", "100.0", "+Inf"]


def test_metric_names_types_and_labels_are_stable(served: Served) -> None:
    """Dashboards depend on them: no sample is missing, none is added (such as `_created`)."""
    served.post({"sentences": ["x"]})
    response = served.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert dict(re.findall(r"^# TYPE (\S+) (\S+)$", response.text, flags=re.MULTILINE)) == TYPES
    assert set(re.findall(r"^# HELP (\S+) \S", response.text, flags=re.MULTILINE)) == set(TYPES)
    samples = [line.rsplit(" ", 1)[0] for line in response.text.splitlines() if line[0] != "#"]
    buckets = [f'docaps_translate_seconds_bucket{{le="{bound}"}}' for bound in BUCKETS]
    families = ("sentences_total", "characters_total", "batches_total", "busy_seconds_total", "queue_sentences")
    by_model = [f'docaps_{name}{{model="{model}"}}' for name in families for model in ("document", "sentence")]
    single = ["docaps_active_requests", "process_resident_memory_bytes"]
    histogram = [*buckets, "docaps_translate_seconds_sum", "docaps_translate_seconds_count"]
    requests = {one for one in samples if re.fullmatch(r'docaps_requests_total\{path="[^"]+",status="\d+"\}', one)}
    assert 'docaps_requests_total{path="/v1/translate",status="200"}' in requests
    assert sorted(set(samples) - requests) == sorted([*histogram, *by_model, *single])
    assert [one for one in samples if one in buckets] == buckets


def test_metrics_count_requests_and_sentences(served: Served) -> None:
    def read() -> dict[str, float]:
        lines = served.get("/metrics").text.splitlines()
        return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}

    before = read()
    served.post({"sentences": ["x", "y"]})
    served.post({"sentences": "x"})
    served.get("/random-12345")
    after = read()

    def rise(key: str) -> float:
        return after.get(key, 0) - before.get(key, 0)

    assert rise('docaps_sentences_total{model="document"}') == 2
    assert rise('docaps_requests_total{path="/v1/translate",status="200"}') == 1
    assert rise('docaps_requests_total{path="/v1/translate",status="422"}') == 1
    assert rise('docaps_requests_total{path="other",status="404"}') == 1
    assert rise("docaps_translate_seconds_count") == 2
    assert rise('docaps_translate_seconds_bucket{le="+Inf"}') == 2
    assert after["process_resident_memory_bytes"] > 1e7
    assert not any("12345" in key for key in after)
