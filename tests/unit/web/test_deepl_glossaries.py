"""The client of DeepL keeps glossaries in the service."""

from collections.abc import Iterator

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries as Table
from tests.unit.web.serving import Served

TERMS = {"coat": "Mantel", "front door": "Haustür"}


@pytest.fixture
def client(served: Served) -> Iterator[deepl.DeepLClient]:
    found = deepl.DeepLClient("any", server_url=served.url)
    yield found
    for glossary in found.list_multilingual_glossaries():
        found.delete_multilingual_glossary(glossary)
    found.close()


def test_glossaries_of_one_pair(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("mine", "EN-US", "DE", TERMS)
    assert (made.name, made.source_lang, made.target_lang, made.entry_count) == ("mine", "EN", "DE", 2)
    assert made.ready
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary_entries(made) == TERMS
    client.delete_glossary(made)
    assert client.list_glossaries() == []
    with pytest.raises(deepl.GlossaryNotFoundException, match="no such glossary"):
        client.get_glossary_entries(made)
    pairs = [(one.source_lang, one.target_lang) for one in client.get_glossary_languages()]
    assert pairs == [("en", "de")]


def test_glossaries_from_csv(client: deepl.DeepLClient) -> None:
    made = client.create_glossary_from_csv("mine", "EN", "DE", 'coat,Mantel,EN,DE\r\n"a, b","c ""d"""\r\n')
    assert client.get_glossary_entries(made) == {"coat": "Mantel", "a, b": 'c "d"'}


def test_glossaries_of_several_pairs(client: deepl.DeepLClient) -> None:
    made = client.create_multilingual_glossary("mine", [Table("EN", "DE", TERMS)])
    assert [(one.source_lang, one.target_lang, one.entry_count) for one in made.dictionaries] == [("EN", "DE", 2)]
    changed = client.update_multilingual_glossary_dictionary(made, Table("EN", "DE", {"coat": "Jacke", "cat": "Katze"}))
    assert changed.dictionaries[0].entry_count == 3
    assert client.update_multilingual_glossary_name(made, "yours").name == "yours"
    (found,) = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert found.entries == "coat\tJacke\nfront door\tHaustür\ncat\tKatze"
    client.replace_multilingual_glossary_dictionary(made, Table("EN", "DE", {"a": "b"}))
    assert client.get_multilingual_glossary(made.glossary_id).dictionaries[0].entry_count == 1
    assert [one.name for one in client.list_multilingual_glossaries()] == ["yours"]
    with pytest.raises(deepl.DeepLException, match="too few or too many tables"):
        client.delete_multilingual_glossary_dictionary(made, source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.GlossaryNotFoundException, match="no terms for de-en"):
        client.get_multilingual_glossary_entries(made, "DE", "EN")
    client.delete_multilingual_glossary(made)
    assert client.list_multilingual_glossaries() == []


def test_bad_glossaries_are_refused(client: deepl.DeepLClient, served: Served) -> None:
    with pytest.raises(deepl.DeepLException, match="no model for this language"):
        client.create_glossary("mine", "EN", "FR", TERMS)
    with pytest.raises(deepl.DeepLException, match="line 2: must be a source and a target term"):
        client.create_glossary_from_csv("mine", "EN", "DE", "a,b\nc\n")
    base = {"name": "x", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    for change, message in [
        ({"entries": "a\tb\nc"}, "line 2: must be"),
        ({"entries": "a\tb\na\tc"}, "line 2: repeats 'a'"),
        ({"entries": "a\tb\tc"}, "line 1: must be"),
        ({"entries": "a b\tb\na\u00a0 b\tc"}, "line 2: 'a b' is translated as 'c', but in line 1 as 'b'"),
        ({"entries": "a\tb\u200b"}, "line 1: the target form 'b\\u200b' has characters that cannot be printed"),
        ({"entries": "\n"}, "1 to 5000 for en-de, found 0"),
        ({"entries": f"a\t{'b' * 201}"}, "1 to 200 characters, found 201"),
        ({"entries": "\n".join(f"a{number}\tb" for number in range(5001))}, "at most 5000"),
        ({"name": ""}, "name: 1 to 1000 characters"),
        ({"entries_format": "tbx"}, "entries_format"),
    ]:
        answer = served.post({**base, **change}, "/v2/glossaries")
        assert answer.status_code == 400
        assert message in answer.json()["message"]
    assert client.list_glossaries() == []
