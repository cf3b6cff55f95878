"""The OpenAPI document is complete, and generated requests, valid or not, cause no server error."""

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.unit.web.serving import Served

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (docaps[dev])")

SLOW = list(HealthCheck)
# schemathesis does so when it changes the body of a form.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")


def ask(served: Served, examples: int) -> int:
    """Send generated requests to every operation; return how many."""
    from schemathesis.checks import CHECKS, load_all_checks

    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    schema.config.generation.update(modes=list(schemathesis.GenerationMode))
    found = [one.ok() for one in schema.get_all_operations()]
    asked: list[int] = []
    load_all_checks()  # those of OpenAPI are registered on demand
    checks = CHECKS.get_by_names(["not_a_server_error", "response_schema_conformance", "status_code_conformance"])
    for operation, mode in product(found, schemathesis.GenerationMode):
        posts = operation.method in ("post", "put", "patch")
        # Each mode gets its share: drawn together, nearly all requests may happen to be invalid. A request without a
        # body cannot be invalid.
        modes = [mode] if posts else list(schemathesis.GenerationMode)
        cases = st.one_of([operation.as_strategy(generation_mode=one) for one in modes])
        most = examples // 2 if posts else 3

        @settings(max_examples=most, deadline=None, suppress_health_check=SLOW, phases=[Phase.generate])
        @given(cases)
        def send(case: Any) -> None:
            asked.append(case.call_and_validate(checks=checks, timeout=60).status_code)

        send()
    assert asked.count(200) > len(asked) / 20, asked  # not all of them are refused
    return len(asked)


def test_the_document_describes_every_route(served: Served) -> None:
    document = served.get("/openapi.json").json()
    assert set(document["paths"]) == {
        *("/v1/translate", "/v1/translate/stream", "/v1/models", "/healthz", "/readyz", "/metrics"),
        *("/v1/files", "/v1/files/{number}", "/v1/files/{number}/result"),
        *("/v2/translate", "/v2/languages", "/v2/usage"),
        *("/v2/document", "/v2/document/{number}", "/v2/document/{number}/result"),
        *(
            "/v2/glossary-language-pairs",
            "/v2/glossaries",
            "/v2/glossaries/{number}",
            "/v2/glossaries/{number}/entries",
        ),
        *("/v3/glossaries", "/v3/glossaries/{number}", "/v3/glossaries/{number}/entries"),
        "/v3/glossaries/{number}/dictionaries",
        *("/translate", "/detect", "/languages", "/translate_file", "/download_file/{number}/{name}"),
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert operation["description"]
    request = document["components"]["schemas"]["TranslationRequest"]
    assert all("description" in field for field in request["properties"].values())
    assert request["examples"]
    assert {"401", "413", "422", "429", "503"} <= set(document["paths"]["/v1/translate"]["post"]["responses"])


def test_a_hundred_generated_requests_cause_no_server_error(served: Served) -> None:
    assert ask(served, 8) >= 100


@pytest.mark.stress
def test_two_thousand_generated_requests_cause_no_server_error(served: Served) -> None:
    assert ask(served, 160) >= 2000
