"""Files are uploaded, translated in the background, and fetched, by the own routes and those of LibreTranslate."""

import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from tests.unit.web.serving import TOKEN, Served, models, serving, wait_until

from docaps.web import file_store, file_translation, service
from docaps.web.schemas import Limits, ModelCard

STORY = "<d>\nDavid stopped in front of a famous church.\nIt was old.\n<d>\nThe film was about vampires.\n"
TMX = """<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>It was old.</seg></tuv><tuv xml:lang="fr"><seg>Vieux.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>It ran.</seg></tuv></tu>
</body></tmx>
"""
PO = """msgid "It was old."
msgstr "Es war alt."

msgid "It ran."
msgstr ""

msgid "The film was old."
msgstr "Der Film war alt."
"""
CUES = "1\n00:00:01,000 --> 00:00:01,500\nAnna bought a coat.\n"


def send(served: Served, content: bytes | str, name: str = "story.txt", **parameters: Any) -> httpx.Response:
    with served.client() as client:
        return client.post("/v1/files", data=parameters, files={"file": (name, content)})


def state_of(served: Served, number: str) -> dict[str, Any]:
    found: dict[str, Any] = served.get(f"/v1/files/{number}").json()
    return found


def finish(served: Served, answer: httpx.Response) -> dict[str, Any]:
    number = answer.json()["id"]
    wait_until(lambda: state_of(served, number)["status"] in ("done", "error"))
    return state_of(served, number)


def test_a_file_is_translated_and_deleted(served: Served) -> None:
    answer = send(served, STORY, "C:\\texts/ä story.en.txt")
    assert answer.status_code == 202
    assert answer.json()["name"] == "ä story.en.txt"
    state = finish(served, answer)
    assert (state["status"], state["sentences"], state["translated"]) == ("done", 3, 3)
    result = served.get(f"/v1/files/{state['id']}/result")
    one = served.post({"sentences": STORY.splitlines()[1:3]}).json()["translations"]
    two = served.post({"sentences": STORY.splitlines()[4:]}).json()["translations"]
    lines = [row["translation"] for row in (*one, *two)]
    assert result.text == f"<d>\n{lines[0]}\n{lines[1]}\n<d>\n{lines[2]}\n"
    assert result.headers["content-type"] == "application/octet-stream"
    assert unquote(result.headers["content-disposition"]) == "attachment; filename*=UTF-8''ä story.en.de.txt"
    with served.client() as client:
        assert client.delete(f"/v1/files/{state['id']}").status_code == 204
        assert client.delete(f"/v1/files/{state['id']}").status_code == 404
    assert served.get(f"/v1/files/{state['id']}/result").status_code == 404


def test_the_model_and_its_context_are_chosen(served: Served) -> None:
    text = "David stopped in front of a famous church.\nIt was old."
    for parameters in ({"model": "sentence"}, {"context": "false"}):
        state = finish(served, send(served, text, **parameters))
        body = {"sentences": text.splitlines(), **parameters, "context": "context" not in parameters}
        own = [one["translation"] for one in served.post(body).json()["translations"]]
        assert served.get(f"/v1/files/{state['id']}/result").text.split("\n")[:2] == own
    assert send(served, text, model="none").status_code == 422


def test_a_file_keeps_to_a_glossary(served: Served) -> None:
    plain, terms = {"sentences": ["It was old."]}, "it was\tsie war"
    expected = served.post({**plain, "glossary": terms}).json()["translations"][0]["translation"]
    assert expected != served.post(plain).json()["translations"][0]["translation"]
    state = finish(served, send(served, "<d>\nIt was old.\n", glossary=terms))
    assert served.get(f"/v1/files/{state['id']}/result").text == f"<d>\n{expected}\n"
    assert state["missing_terms"] == 0
    assert finish(served, send(served, "It was old. It was.", glossary="it was\t漢字"))["missing_terms"] == 2
    long = "".join(f"word{number}\t{'x' * 80}\n" for number in range(1000)) + terms
    state = finish(served, send(served, "<d>\nIt was old.\n", glossary=long))
    assert served.get(f"/v1/files/{state['id']}/result").text == f"<d>\n{expected}\n"
    foreign = send(served, "It was old.", glossary="<martif></martif>")
    assert (foreign.status_code, "no concept has terms in both en and de" in foreign.text) == (422, True)
    bad = send(served, "It was old.", glossary="a\tb\nc")
    assert (bad.status_code, "line 2" in bad.text) == (422, True)
    state = finish(served, send(served, "It was old.", formality="formal"))
    assert "formality: this model cannot" in state["error"]
    assert send(served, "It was old.", formality="more").status_code == 422


def test_the_form_of_address_of_a_file_is_chosen(with_tags: Served) -> None:
    found = []
    for formality in ({}, {"formality": "formal"}):
        state = finish(with_tags, send(with_tags, "<d>\nit was old\n", **formality))
        found.append(with_tags.get(f"/v1/files/{state['id']}/result").text)
        (own,) = with_tags.post({"sentences": ["it was old"], **formality}).json()["translations"]
        assert found[-1] == f"<d>\n{own['translation']}\n"
    assert found[0] != found[1]


def test_the_encoding_of_subtitles_is_chosen(served: Served) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nThe caf\xe9 was old.\n".encode("latin-1")
    state = finish(served, send(served, content, "a.srt"))
    advice = "name its encoding, such as encoding=windows-1252, or convert it to UTF-8 first"
    assert state["error"] == f"a.srt:3: not UTF-8: byte 0xe9; {advice}"
    assert finish(served, send(served, content, "a.srt", encoding="windows-1252"))["status"] == "done"
    for encoding in ("klingon", "base64", "a\0"):
        assert send(served, content, "a.srt", encoding=encoding).status_code == 422


def test_the_limits_of_cues_are_chosen(served: Served) -> None:
    states = [
        finish(served, send(served, CUES, "a.srt", **one)) for one in ({}, {"line_length": 4, "lines": 1}, {"lines": 9})
    ]
    assert "do not fit into 1 line of 4 characters" in states[1]["notes"][0]
    assert not any("do not fit" in note for one in states[::2] for note in one.get("notes", []))
    slow = finish(served, send(served, CUES, "a.srt", reading_speed=1))
    assert any("more than 1 characters per second" in note for note in slow["notes"])
    assert "notes" not in finish(served, send(served, CUES, "a.srt", reading_speed=1000))
    for name, value in (("lines", 0), ("line_length", "x"), ("reading_speed", "nan"), ("length", 3)):
        refused = send(served, CUES, "a.srt", **{name: value})
        assert (refused.status_code, refused.json()["details"][0]["where"]) == (422, name)


def test_only_what_has_no_translation_is_translated(served: Served) -> None:
    """What is only read as context costs nothing, is not counted, and has no terms."""

    def characters() -> int:
        return int(served.get("/v2/usage").json()["character_count"])

    body = {"sentences": ["It ran."], "history": ["It was old."]}
    expected = served.post(body).json()["translations"][0]["translation"]
    before = characters()
    state = finish(served, send(served, PO, "a.po", glossary="it was\t漢字\nfilm\t漢字"))
    assert (state["sentences"], state["translated"], state["missing_terms"]) == (1, 1, 0)
    assert characters() - before == len("It ran.")
    result = served.get(f"/v1/files/{state['id']}/result").text
    assert f'msgstr "{expected}"' in result
    assert "Es war alt." in result
    again = finish(served, send(served, PO, "a.po", all="true", glossary="film\t漢字"))
    assert (again["sentences"], again["translated"], again["missing_terms"]) == (3, 3, 1)
    assert "Es war alt." not in served.get(f"/v1/files/{again['id']}/result").text
    done = finish(served, send(served, PO.replace('msgstr ""', 'msgstr "Es lief."'), "a.po"))
    assert (done["status"], done["sentences"], "error" in done) == ("done", 0, False)


def test_files_are_read_with_the_target_language_of_the_model(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe = service._describe_model

    def into_french(*given: Any, **options: Any) -> ModelCard:
        return describe(*given, **options).model_copy(update={"target_language": "fr"})

    monkeypatch.setattr(service, "_describe_model", into_french)
    with serving(models(tiny_demo)[1:]) as running:
        state = finish(running, send(running, TMX, "a.tmx"))
        assert (state["sentences"], state["result_name"]) == (1, "a.fr.tmx")
        result = running.get(f"/v1/files/{state['id']}/result").text
    assert result.count('<tuv xml:lang="fr"') == 2
    assert "<seg>Vieux.</seg>" in result


@pytest.mark.parametrize(("limit", "value"), [("PART", 1), ("PART_CHARACTERS", 20)])
def test_parts_see_the_sentences_before_them(
    served: Served, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    text = "\n".join(f"It was {word}." for word in ["old", "cold", "warm", "new"])
    whole = finish(served, send(served, text))
    monkeypatch.setattr(file_translation, limit, value)
    parts = finish(served, send(served, text))
    both = [served.get(f"/v1/files/{state['id']}/result").text for state in (whole, parts)]
    assert both[0] == both[1]
    alone = finish(served, send(served, text, context="false"))
    assert alone["translated"] == 4


def test_a_part_has_few_sentences_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_translation, "PART_CHARACTERS", 10)
    sentences = ["aaaa", "aaaa", "aaaa", "a" * 30, "", "", "", "a", "a" * 10]
    assert [*file_translation._parts(sentences, 3)] == [(0, 2), (2, 3), (3, 4), (4, 7), (7, 8), (8, 9)]
    assert [*file_translation._parts([], 3)] == []


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"PK\x03\x04 truncated", "a.docx", "a.docx: "),
        (b"\xff\xfe\x00", "a.txt", "a.txt:1: not UTF-8"),
        (b"a\0b", "../a.txt", "a.txt"),
        ("x" * 6000, "a.txt", "a sentence is too long; sentences.0: at most 5000 characters, found 6000"),
    ],
)
def test_a_file_that_cannot_be_translated_says_why(
    served: Served, content: bytes | str, name: str, message: str
) -> None:
    state = finish(served, send(served, content, name))
    assert state["status"] == "error"
    assert state["error"].startswith(message)
    assert "/" not in state["error"].split(":")[0]
    result = served.get(f"/v1/files/{state['id']}/result")
    assert result.status_code == 422
    assert state["error"].startswith(result.json()["error"])


def test_uploads_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    assert send(served, b"").json() == {"error": "the file is empty"}
    with served.client() as client:
        other = client.post("/v1/files?name=a", content="x", headers={"Content-Type": "text/plain"})
    assert (other.status_code, "multipart/form-data" in other.text) == (415, True)
    monkeypatch.setattr(file_store, "MOST_BYTES", 10)
    assert send(served, "x" * 11).status_code == 429
    monkeypatch.setattr(file_store, "MOST_FILES", 0)
    assert send(served, "x").headers["retry-after"] == "60"
    monkeypatch.undo()
    monkeypatch.setattr(file_translation, "MOST_SENTENCES", 2)
    assert finish(served, send(served, "<d>\na\nb\nc\n"))["error"] == "the file has more than 2 sentences: split it"


def test_files_need_the_token_and_leave_nothing(
    tiny_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limits = Limits(file=1000, queue=1)
    with serving(models(tiny_demo)[1:], limits, token=TOKEN) as running, running.client() as client:
        assert client.post("/v1/files", files={"file": ("a", "x")}).status_code == 401
        secret = {"Authorization": f"Bearer {TOKEN}"}
        large = client.post("/v1/files", files={"file": ("a", "x" * 1001)}, headers=secret)
        assert (large.status_code, large.json()) == (413, {"error": "the file is too large: at most 1000 bytes"})
        largest = client.post("/v1/files", files={"file": ("a", "x" * 1000)}, headers=secret)
        assert client.delete(f"/v1/files/{largest.json()['id']}", headers=secret).status_code == 204
        number = client.post("/v1/files", files={"file": ("a", "It ran.\nIt sat.")}, headers=secret).json()["id"]
        assert client.get(f"/v1/files/{number}").status_code == 401
        form = {"data": {"source": "en", "target": "de"}, "files": {"file": ("a.txt", "It ran.")}}
        assert client.post("/translate_file", **form).status_code == 403
        form["data"]["api_key"] = TOKEN
        assert client.post("/translate_file", **form).status_code == 200
        (folder,) = tmp_path.iterdir()
        wait_until(lambda: len(list(folder.rglob("translation"))) == 2)
        assert len(list(folder.rglob("document*"))) == 0
        assert len(list(folder.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_leaves_does_not_keep_its_file(served: Served, gate: threading.Event) -> None:
    request = httpx.Request(
        "POST",
        f"{served.url}/translate_file",
        data={"source": "en", "target": "de"},
        files={"file": ("a.txt", "It ran.")},
    )
    head = "\r\n".join(f"{name}: {value}" for name, value in request.headers.items())
    before = served.service.active
    with socket.create_connection(served.address) as connection:
        connection.sendall(f"POST /translate_file HTTP/1.1\r\n{head}\r\n\r\n".encode() + request.read())
        wait_until(lambda: served.service.active == before + 1)
    wait_until(lambda: served.service.active == before)
    assert not gate.is_set()


def test_libretranslate_translates_a_file(served: Served) -> None:
    files = {"file": ("my story.txt", "It was old. It ran.\n")}
    with served.client() as client:
        answer = client.post("/translate_file", data={"source": "auto", "target": "de"}, files=files)
        url = answer.json()["translatedFileUrl"]
        assert url.startswith(f"{served.url}/download_file/")
        assert url.endswith("/my%20story.de.txt")
        words = [one["translation"] for one in served.post({"text": "It was old. It ran."}).json()["translations"]]
        assert client.get(url).text == f"{words[0]} {words[1]}\n"
        bad = {"file": ("a.zip", b"PK\x03\x04")}
        refused = client.post("/translate_file", data={"source": "en", "target": "de"}, files=bad)
        assert (refused.status_code, set(refused.json())) == (400, {"error"})
        assert "a.zip" in refused.json()["error"]
        assert client.post("/translate_file", data={"source": "en", "target": "fr"}, files=files).status_code == 400
        assert client.get("/download_file/0/x").status_code == 404
