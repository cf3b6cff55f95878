from pathlib import Path

import pytest
from tests.unit.web.serving import Served, models, serving

from docaps.web.client import Client, ServiceError
from docaps.web.schemas import Limits

STORY = ["Anna bought a coat.", "It was warm.", ""]


def test_models_and_translations(served: Served) -> None:
    client = Client(served.url)
    assert [card.name for card in client.models()] == ["document", "sentence"]
    answer = client.translate(STORY, history=("It rained.",), nbest=2, routing=True)
    assert [one.source for one in answer.translations] == STORY
    assert len(answer.translations[0].alternatives or ()) == 2
    assert [trace.distance for trace in answer.translations[1].routing or ()] == [1, 2]
    assert client.translate("It rained. Anna came in.", model="sentence").model == "sentence"


def test_a_document_is_streamed(served: Served) -> None:
    client = Client(served.url)
    steps = list(client.stream(STORY))
    assert [step.index for step in steps] == [0, 1, 2]
    assert [step.translation for step in steps] == [one.translation for one in client.translate(STORY).translations]


def test_errors_of_the_service_are_raised(tiny_demo: Path, served: Served) -> None:
    with serving(models(tiny_demo)[1:], Limits(sentences=2), token="secret") as running:
        with pytest.raises(ServiceError, match="token is needed") as refused:
            Client(running.url).models()
        assert refused.value.status == 401
        client = Client(running.url, token="secret")
        with pytest.raises(ServiceError, match="sentences: at most 2 sentences, found 3") as refused:
            client.translate(STORY)
        assert refused.value.status == 422
        running.service.draining = True
        running.service.active += 1
        with pytest.raises(ServiceError, match="about to stop") as refused:
            list(client.stream(STORY[:1]))
        assert (refused.value.status, refused.value.retry) == (503, 5.0)
        running.service.draining = False
    with pytest.raises(ServiceError, match="cannot be reached"):
        client.models()
    with pytest.raises(ServiceError, match=r"not a valid request: beam: .*less than or equal to 32"):
        Client(served.url).translate(STORY, beam=33)
