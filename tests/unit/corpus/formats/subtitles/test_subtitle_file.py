"""Subtitles: sentences over several cues are joined and cut again; all but the text stays as it was."""

import re
from collections import Counter

import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import Rule, read, rules, sentences, translate, translate_bytes

from docaps import progress
from docaps.errors import CorpusError

STORY = """1
00:00:01,000 --> 00:00:02,500
Good morning, Dr. Weber.

2
00:00:02,600 --> 00:00:04,000 X1:1 X2:2
<i>I thought that you</i>

3
00:00:04,000 --> 00:00:06,000
<i>were already</i> on <b>your</b> way
to Paris. Do you have a moment?

4
00:00:06,000 --> 00:00:08,000
- Hi.
- Hello, <i>Anna</i>.

5
00:00:08,000 --> 00:00:09,000
{\\an8}[DOOR CLOSES]
JOHN: I know...

6
00:00:09,000 --> 00:00:10,000
...that you came.

7
00:00:10,000 --> 00:00:11,000


8
00:00:11,000 --> 00:00:12,000
♪ La la la ♪
"""


def test_sentences_run_over_cues_and_the_document_is_the_whole_file() -> None:
    """So the history of a cue is the cues before it: *Do you have a moment?* follows on *Dr. Weber*."""
    assert read("srt", STORY).sentences == (
        "Good morning, Dr. Weber.",
        "I thought that you were already on your way to Paris.",
        "Do you have a moment?",
        "Hi.",
        "Hello, Anna.",
        "door closes",
        "I know... that you came.",
        "La la la",
    )


def test_only_the_text_of_cues_is_replaced() -> None:
    assert translate("srt", STORY) == (
        STORY.replace("Good morning, Dr. Weber", "GOOD MORNING, DR. WEBER")
        .replace("I thought that you", "I THOUGHT THAT YOU")
        .replace("were already</i> on <b>your</b> way\nto Paris.", "WERE ALREADY</i> ON <b>YOUR</b> WAY TO PARIS.\n")
        .replace("\n Do you have a moment", "\nDO YOU HAVE A MOMENT")
        .replace("Hi", "HI")
        .replace("Hello, <i>Anna", "HELLO, <i>ANNA")
        .replace("I know", "I KNOW")
        .replace("that you came", "THAT YOU CAME")
        .replace("La la la", "LA LA LA")
    )


def test_a_translation_is_cut_in_proportion_and_after_punctuation() -> None:
    cues = (
        "1\n00:00:01,000 --> 00:00:02,000\nI said that\n\n2\n00:00:02,000 --> 00:00:04,000\nyou would not come, Anna.\n"
    )
    found = translate("srt", cues, ["Ich sagte, dass du gar nicht mehr kommen würdest."])
    assert found.split("\n")[2::4] == ["Ich sagte,", "dass du gar nicht mehr kommen würdest."]


def test_lines_are_broken_again_within_the_limits() -> None:
    cue = "1\n00:00:01,000 --> 00:00:09,000\nShort.\n"
    text = "Das hier ist ein ganz langer Satz, und er passt nicht in eine Zeile."
    assert translate("srt", cue, [text]).split("\n")[2:4] == [
        "Das hier ist ein ganz langer Satz,",
        "und er passt nicht in eine Zeile.",
    ]
    narrow = translate("srt", cue, [text], line_length=20, lines=4).split("\n")[2:6]
    assert " ".join(narrow) == text
    assert max(map(len, narrow)) <= 20
    assert translate("srt", cue, [text], lines=1).split("\n")[2] == text


def test_cues_beyond_the_limits_are_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    cues = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n00:00:02,000 --> 00:00:04,000\nTwo.\n"
    translate("srt", cues, ["a" * 16, "b" * 43], lines=1)
    told = capsys.readouterr().err
    assert "1 of 2 cues do not fit into 1 line of 42 characters, the first at line 6" in told
    assert "1 of 2 cues show more than 17 characters per second; the fastest, 22, is at line 6" in told
    translate("srt", cues, ["a" * 16, "b" * 34])
    assert capsys.readouterr().err == ""
    translate("ass", as_ass(["One.", "Two."]), ["a" * 5, "b" * 43])
    assert "1 of 2 cues do not fit into 2 lines of 42 characters" in capsys.readouterr().err


def test_pauses_speakers_signs_and_styles_end_a_sentence() -> None:
    def two(first: str, second: str, start: str = "00:00:02,000") -> int:
        cues = f"1\n00:00:01,000 --> 00:00:02,000\n{first}\n\n2\n{start} --> 00:00:59,000\n{second}\n"
        return len(read("srt", cues).sentences)

    assert two("I thought that", "you came.") == 1
    assert two("I thought that", "you came.", "00:00:05,100") == 2
    assert two("I thought that", "- you came.") == 2
    assert two("I thought that", "♪ you came ♪") == 2
    assert two("I thought that", "[coughs]") == 2
    assert two("MAIN STREET", "where I live") == 2
    assert two("I saw Dr.", "Weber there.") == 1
    assert two("I saw it.", "Weber there.") == 2


def test_a_text_without_punctuation_is_cut_into_sentences_of_some_cues() -> None:
    cues = "\n\n".join(f"{n}\n00:{n:02}:00,000 --> 00:{n + 1:02}:00,000\nand so it goes" for n in range(1, 50))
    found = read("srt", cues).sentences
    assert len(found) == 4
    assert sum(text.count("goes") for text in found) == 49


def test_an_encoding_is_kept_and_another_than_utf8_is_named_by_the_user() -> None:
    old = STORY.replace("Good", "Göod").replace("♪", "#").replace("\n", "\r\n").encode("windows-1252")
    with pytest.raises(CorpusError, match=r"file\.srt:3: not UTF-8: byte 0xf6; .*--encoding windows-1252"):
        read("srt", old)
    assert translate_bytes("srt", old, str, encoding="windows-1252") == translate_bytes(
        "srt", old.decode("windows-1252"), str
    ).decode().encode("windows-1252")
    for encoding in ("utf-16", "utf-8-sig"):
        found = translate_bytes("srt", STORY.encode(encoding), str)
        assert found == translate("srt", STORY, str).encode(encoding)


def test_a_character_that_the_encoding_lacks_makes_the_file_utf8() -> None:
    cue = "1\r\n00:00:01,000 --> 00:00:02,000\r\nGröße\r\n".encode("windows-1252")
    found = translate_bytes("srt", cue, ["Размер"], encoding="windows-1252")
    assert found.decode("utf-8-sig") == "1\r\n00:00:01,000 --> 00:00:02,000\r\nРазмер\r\n"
    assert found.startswith(b"\xef\xbb\xbf")


TIMES_LINE = "00:00:01,000 --> 00:00:02,000"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("srt", "", "file.srt: no cue: expected a number, then times"),
        ("srt", "Hello\n", "file.srt:1: expected a number, then times .* found 'Hello'"),
        ("srt", f"1\n{TIMES_LINE}\nA\n\n2\n00:00:01 -> x --> 3\nB\n", "file.srt:6: times that cannot be read"),
        (
            "srt",
            f"1\n{TIMES_LINE}\n{'a ' * 10_001}\n",
            "file.srt:2: a cue of 20,001 characters, expected",
        ),
        ("srt", f"1\n{TIMES_LINE}\nA\0\n", "file.srt:3: the line holds a NUL"),
        ("vtt", "Hello\n", "file.vtt:1: expected WEBVTT on the first line, found 'Hello'"),
        ("vtt", "WEBVTT\n\nNOTE x\n", "file.vtt: no cue"),
        (
            "vtt",
            "WEBVTT\n\n1\n00:01 --> 00:02.000\nA\n",
            "file.vtt:4: times that cannot be read: '00:01 -->",
        ),
        ("ass", "[Script Info]\n", r"file.ass: no section \[Events\]"),
        ("ass", "[Events]\nDialogue: 0,x\n", "file.ass:2: a line Dialogue before the line Format"),
        (
            "ass",
            "[Events]\nFormat: Text, Start, End\n",
            "file.ass:2: expected a Format with Start, End and",
        ),
        ("ass", "[Events]\nFormat: Start, End, Text\nDialogue: 1\n", "file.ass:3: 1 columns, expected 3"),
        ("ass", "[Events]\nFormat: Start, End, Text\nDialogue: 1,2,A\n", "file.ass:3: a time that cannot be read: '1'"),
    ],
)
def test_broken_files_are_refused_with_the_line(name: str, content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(name, content)


def test_more_cues_than_any_film_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.corpus.formats.subtitles.cue.MOST_CUES", 3)
    for name, maker in MAKERS.items():
        assert len(read(name, maker(["One."] * 3)).sentences) == 3
        with pytest.raises(CorpusError, match="more than 3 cues: split the file"):
            read(name, maker(["A."] * 4))


def test_a_line_of_times_begins_a_cue_of_vtt_without_a_blank_line() -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\nGood day.\n00:03.000 --> 00:04.000 align:start\nBye.\n"
    assert read("vtt", content).sentences == ("Good day.", "Bye.")
    assert translate("vtt", content) == content.replace("Good day.", "GOOD DAY.").replace("Bye.", "BYE.")


@pytest.mark.parametrize(
    ("encoding", "message"),
    [("undefined", "'undefined' is no encoding"), ("unicode_escape", "UNICODE_ESCAPE with a state")],
)
def test_an_encoding_that_cannot_write_the_same_bytes_is_refused(encoding: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("srt", "1\n00:00:01,000 --> 00:00:02,000\nHello\n", encoding=encoding)


def test_drawings_karaoke_and_comments_are_not_translated() -> None:
    rows = ["{\\p1}m 0 0 l 1 1{\\p0}", "{\\k20}ka{\\k30}ra", "{\\pos(1,2)}Good morning", "{a note}"]
    content = as_ass(rows)
    assert read("ass", content).sentences == ("Good morning",)
    assert translate("ass", content) == content.replace("Good morning", "GOOD MORNING")


def test_tags_around_some_words_move_with_them_and_those_around_all_stay() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
    for source, expected in (
        ("<i>Anna</i> came", "came <i>Anna</i>"),
        ("Anna <i>came</i>", "<i>came</i> Anna"),
        ("{\\an8}<b><i>Anna</i> came</b>", "{\\an8}<b>came <i>Anna</i></b>"),
    ):
        assert translate("srt", cue.format(source), ["came Anna"]) == cue.format(expected)


def test_voices_of_vtt_are_speakers() -> None:
    content = as_vtt(["<v Ann>I thought <v Bob>No &amp; no", "<v Bob>you came", "<v Ann>not"])
    assert read("vtt", content).sentences == ("I thought", "No & no you came", "not")
    assert translate("vtt", content, ["X", "Y < z --> Y w", "N"]).count("&lt;") == 1


# Generated files: whatever cues hold and whatever a translation does, all but the text stays.


def marked(text: str, tags: tuple[str, str], first: int, last: int) -> str:
    """Put a pair of tags around some words of a text."""
    found = text.split(" ")
    first, last = min(first, len(found) - 1), min(max(first, last), len(found) - 1)
    return " ".join([*found[:first], tags[0] + " ".join(found[first : last + 1]) + tags[1], *found[last + 1 :]])


PAIRS = st.sampled_from([("<i>", "</i>"), ("<b>", "</b>"), ('<font\tcolor="red">', "</font>"), ("", ""), ("<u>", "")])
places = st.integers(0, 6)
lines = st.builds(marked, st.builds(marked, sentences(), PAIRS, places, places), PAIRS, places, places)
starts = st.sampled_from(["", "", "- ", "{\\an8}", "<i>- ", "ANNA: ", "♪ ", "...", "[SIGHS] ", ">> "])
cue_texts = st.lists(st.builds("{}{}".format, starts, lines), max_size=3).map("\n".join)
cue_lists = st.lists(cue_texts, min_size=1, max_size=6)
TAG = re.compile(r"</?[a-z][^<>]*>|\{[^{}]*\}|<\d[^<>]*>")


def clock(seconds: int, comma: str) -> str:
    return f"00:{seconds // 60:02}:{seconds % 60:02}{comma}500"


def as_srt(texts: list[str]) -> str:
    cues = (f"{n}\n{clock(n, ',')} --> {clock(n + 1, ',')}\n{text}\n" for n, text in enumerate(texts, start=1))
    return "\n".join(cues)


def as_vtt(texts: list[str]) -> str:
    cues = (
        f"NOTE {n}\n\nid {n}\n{clock(n, '.')} --> {clock(n + 1, '.')} align:start\n{text.replace('>> ', '')}\n"
        for n, text in enumerate(texts, start=1)
    )
    return "WEBVTT - head\n\nSTYLE\n::cue { color: lime }\n\n" + "\n".join(cues)


ASS_HEAD = """[Script Info]
; a comment
Title: x

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,not this
"""


def as_ass(texts: list[str]) -> str:
    events = (
        f"Dialogue: 0,0:00:{n:02}.00,0:00:{n + 1:02}.00,Default,,0,0,0,,{to_ass(text)}\n"
        for n, text in enumerate(texts, start=1)
    )
    return ASS_HEAD + "".join(events)


def to_ass(text: str) -> str:
    return re.sub(r"</?([a-z])[^>]*>", r"{\\\1 1}", text).replace("\n", "\\N")


MAKERS = {"srt": as_srt, "vtt": as_vtt, "ass": as_ass}


def shape(name: str, content: str) -> list[tuple[object, ...]]:
    """Return all but the text of a file as a library of subtitles sees it."""
    found = pysubs2.SSAFile.from_string(content, format_=name)
    return [(event.start, event.end, event.style, event.name, event.layer, event.type) for event in found]


TIMES = re.compile(r"((?:^id \d+\n|^\d+\n)?^[\d:,.]+ --> .*\n)", re.MULTILINE)


def frame(name: str, content: str) -> list[object]:
    """Return all but the words of the texts, in order: the tags of each text, in order where they are nested."""
    if name == "ass":
        rows = [line.split(",", 9) for line in content.split("\n")]
        return [[*row[:9], *(Counter(re.findall(r"\{[^{}]*\}|\\N", text)) for text in row[9:])] for row in rows]
    parts = enumerate(TIMES.split(content))
    return [part if number % 2 else (Counter(TAG.findall(part)), part.split("\n\n")[1:]) for number, part in parts]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(MAKERS)), cue_lists, rules)
def test_the_shape_of_a_file_is_kept(name: str, texts: list[str], rule: Rule) -> None:
    content = MAKERS[name](texts)
    found = translate(name, content, rule)
    assert shape(name, found) == shape(name, content)
    assert frame(name, found) == frame(name, content)


@settings(max_examples=60, deadline=None)
@given(cue_lists, rules)
def test_tags_stay_properly_nested(texts: list[str], rule: Rule) -> None:
    found = translate("srt", as_srt(texts), rule)
    before, after = (TIMES.split(content)[2::2] for content in (as_srt(texts), found))
    nested = [number for number, text in enumerate(before) if crossings(text) == 0]
    assert [crossings(after[number]) for number in nested] == [0] * len(nested)


def crossings(text: str) -> int:
    """Count the closing tags that do not close the last tag that was opened."""
    opened, wrong = list[str](), 0
    for tag in re.findall(r"</?[a-z]+", text):
        if not tag.startswith("</"):
            opened.append(tag[1:])
        elif tag[2:] in opened:
            wrong += opened[-1] != tag[2:]
            opened.remove(tag[2:])
    return wrong


@settings(max_examples=60, deadline=None)
@given(st.lists(sentences(least=2), min_size=1, max_size=6))
def test_every_cue_gets_words_and_none_is_lost(texts: list[str]) -> None:
    found = [part.split() for part in TIMES.split(translate("srt", as_srt(texts), str.swapcase))[2::2]]
    assert all(found)
    assert "".join(word for part in found for word in part) == "".join(texts).swapcase().replace(" ", "")


@settings(max_examples=30, deadline=None)
@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(12, 60), st.integers(1, 3))
def test_lines_keep_the_limits_where_words_allow_it(texts: list[str], length: int, most: int) -> None:
    found = translate("srt", as_srt(texts), str, line_length=length, lines=most)
    for part in TIMES.split(found)[2::2]:
        shown = part.strip().split("\n")
        assert len(shown) <= most
        if len(" ".join(shown)) <= most * (length - 10):  # the longest word has 9 letters
            assert max(map(len, shown)) <= length
