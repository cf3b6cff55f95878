"""The client of DeepL uploads documents and downloads their translations."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import deepl
import pytest
from tests.unit.web.serving import TOKEN, Served, wait_until

STORY = "Anna bought a coat. It was warm.\n\nIt rained.\n"


@pytest.fixture
def client(served: Served) -> Iterator[deepl.DeepLClient]:
    found = deepl.DeepLClient("any", server_url=served.url)
    yield found
    found.close()


def finished(client: deepl.DeepLClient, handle: deepl.DocumentHandle) -> deepl.DocumentStatus:
    """Wait for a document; the client's own waiting takes 5 seconds."""
    wait_until(lambda: client.translate_document_get_status(handle).status.value in ("done", "error"))
    return client.translate_document_get_status(handle)


def test_a_document_is_translated_once(client: deepl.DeepLClient, served: Served, tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(STORY, encoding="utf-8")
    with (tmp_path / "story.txt").open("rb") as file:
        handle = client.translate_document_upload(file, target_lang="DE", source_lang="EN")
    status = finished(client, handle)
    assert status.done
    assert status.billed_characters == len("Anna bought a coat.It was warm.It rained.")
    output = io.BytesIO()
    client.translate_document_download(handle, output)
    words = [one["translation"] for one in served.post({"text": STORY}).json()["translations"]]
    assert output.getvalue().decode() == f"{words[0]} {words[1]}\n\n{words[2]}\n"

    def gone() -> bool:
        try:
            client.translate_document_get_status(handle)
        except deepl.DeepLException as error:
            return "no such file" in str(error)
        return False

    wait_until(gone)


def test_a_document_is_translated_in_one_call(
    client: deepl.DeepLClient, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As most users do, from file to file or from stream to stream; the client asks again after 5 seconds."""
    monkeypatch.setattr(deepl.translator.time, "sleep", lambda _, wait=time.sleep: wait(0.01))
    words = [one["translation"] for one in served.post({"text": STORY}).json()["translations"]]
    expected = f"{words[0]} {words[1]}\n\n{words[2]}\n"
    (tmp_path / "story.txt").write_text(STORY, encoding="utf-8")
    out = tmp_path / "story.de.txt"
    status = client.translate_document_from_filepath(tmp_path / "story.txt", out, target_lang="DE", source_lang="EN")
    assert status.done
    assert out.read_text(encoding="utf-8") == expected
    with (tmp_path / "story.txt").open("rb") as source:
        client.translate_document(source, output := io.BytesIO(), target_lang="DE")
    assert output.getvalue().decode() == expected
    (tmp_path / "story.txt").write_bytes(b"a\0b")
    with pytest.raises(deepl.DocumentTranslationException, match=r"story\.txt"):
        client.translate_document_from_filepath(tmp_path / "story.txt", out, target_lang="DE")


def test_a_bad_document_has_an_error(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload(b"a\0\xff", target_lang="DE", filename="../../a.bin")
    status = finished(client, handle)
    assert not status.ok
    assert str(status.error_message).startswith("a.bin")
    with pytest.raises(deepl.DeepLException, match="Bad request"):
        client.translate_document_download(handle, io.BytesIO())


def test_doubts_are_part_of_the_status(client: deepl.DeepLClient, served: Served) -> None:
    glossary = client.create_glossary("one", "EN", "DE", {"zebras": "漢字"})
    content = "1\n00:00:01,000 --> 00:00:01,100\nGrazing zebras never hesitate. It was old.\n"
    handle = client.translate_document_upload(
        content, target_lang="DE", source_lang="EN", filename="a.srt", glossary=glossary
    )
    assert finished(client, handle).done
    client.delete_glossary(glossary)
    state = served.post({"document_key": handle.document_key}, f"/v2/document/{handle.document_id}").json()
    assert state["warning"] == "43% of the words are rare or unknown to this model (3 of 7); see its card"
    assert state["missing_terms"] == 1
    assert "more than 17 characters per second" in state["notes"][0]


def test_the_name_of_a_stream_tells_its_format(client: deepl.DeepLClient) -> None:
    given = {"filename": "../a.yaml"}
    content = io.BytesIO(b"a: It ran.\n")
    handle = client.translate_document_upload(content, target_lang="DE", extra_body_parameters=given)
    assert finished(client, handle).done
    output = io.BytesIO()
    client.translate_document_download(handle, output)
    assert output.getvalue().startswith(b"a: ")


def test_an_error_has_its_details(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload("It ran.", target_lang="DE", filename="a.txt", formality="more")
    assert "formality: this model cannot" in str(finished(client, handle).error_message)


def test_a_document_needs_its_key(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload(STORY, target_lang="DE", filename="a.txt")
    for number, key in ((handle.document_id, "wrong"), ("0" * 32, handle.document_key)):
        with pytest.raises(deepl.DeepLException, match="Not found, message: there is no such file"):
            client.translate_document_get_status(deepl.DocumentHandle(number, key))
    assert finished(client, handle).done


def test_bad_uploads_are_refused(client: deepl.DeepLClient, strict: Served) -> None:
    for content, message in ((b"", "the file is empty"), (b"\x1f\x8b\x08\0", "the file is compressed")):
        with pytest.raises(deepl.DeepLException, match=message):
            client.translate_document_upload(content, target_lang="DE", filename="a.txt")
    with pytest.raises(deepl.DeepLException, match="no model for this language"):
        client.translate_document_upload(STORY, target_lang="FR", filename="a.txt")
    with pytest.raises(deepl.DeepLException, match="output_format: this service has no"):
        client.translate_document_upload(STORY, target_lang="DE", filename="a.txt", output_format="docx")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("no", server_url=strict.url).translate_document_upload("x", target_lang="DE", filename="a")


def test_a_failed_part_fails_the_document(strict: Served) -> None:
    client = deepl.DeepLClient(TOKEN, server_url=strict.url)
    handle = client.translate_document_upload(f"It ran. {'x' * 31}.", target_lang="DE", filename="a.txt")
    assert str(finished(client, handle).error_message).startswith("a sentence is too long; sentences.0: ")
