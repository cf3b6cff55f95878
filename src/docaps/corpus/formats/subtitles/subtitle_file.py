"""Files of subtitles: read as one document, written back with only the text of cues replaced."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.encoded_text import EncodedText, decode, decode_start
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.mark_placing import place_marks
from docaps.corpus.formats.subtitles.ass import looks_like_ass, read_ass_cues
from docaps.corpus.formats.subtitles.cue import ASS, SRT, VTT, Cue, CueReader, Dialect
from docaps.corpus.formats.subtitles.cue_writing import CueLimits, CueWriter, join_pieces
from docaps.corpus.formats.subtitles.joined_cues import Piece, SpokenSentence, cut_translation, join_cues
from docaps.corpus.formats.subtitles.speech import CueText, parse_cue
from docaps.corpus.formats.subtitles.srt import looks_like_srt, read_srt_cues
from docaps.corpus.formats.subtitles.vtt import looks_like_vtt, read_vtt_cues

LONGEST_CUE = 20_000
"""Characters of the text of one cue."""
OTHER_ENCODING = "name its encoding, such as --encoding windows-1252, or convert it to UTF-8 first"


@dataclass(frozen=True, slots=True)
class SubtitleFile:
    """What is kept of a file to write it again."""

    file: EncodedText
    cues: Sequence[Cue]
    texts: Sequence[CueText]
    sentences: Sequence[SpokenSentence]


def read_subtitles(
    content: bytes, options: ReadingOptions, *, name: str, dialect: Dialect, read_cues: CueReader
) -> Document:
    """Return the document of a file: its sentences in the order of the cues, joined where they run over several."""
    file = decode(content, options, options.choices.encoding, remedy=OTHER_ENCODING)
    cues = read_cues(file, options)
    texts, marks = list[CueText](), 0
    for cue in cues:
        if cue.end - cue.start > LONGEST_CUE:
            found = f"a cue of {cue.end - cue.start:,} characters, expected at most {LONGEST_CUE:,}"
            raise options.fault(f"{found}: is the blank line after it missing?", cue.line)
        texts.append(parse_cue(file.text[cue.start : cue.end], dialect, marks))
        marks += cue.end - cue.start
    sentences = list(join_cues(cues, texts, options.language))
    kept = {"file": SubtitleFile(file, cues, texts, sentences)}
    own = tuple(sentence.marks for sentence in sentences)
    layout = TextLayout(name, details=kept)
    return Document(tuple(one.text for one in sentences), layout=layout, marks=own if any(own) else ())


def write_subtitles(item: OutputDocument, options: WritingOptions, *, dialect: Dialect) -> bytes:
    """Return the file with the translation in its cues; say how many are longer or faster than asked for."""
    assert item.document.layout is not None
    kept = cast(SubtitleFile, item.document.layout.details["file"])
    if item.translation is None:
        return kept.file.replace(())
    pieces = _collect_pieces(item, kept.sentences)
    limits = CueLimits(options)
    writer = CueWriter(dialect, limits, kept.file.line_end)
    changes = []
    for number, (cue, text) in enumerate(zip(kept.cues, kept.texts, strict=True)):
        if text.spans:
            translated = [join_pieces(pieces[number, index], " ") for index in range(len(text.spans))]
            changes.append((cue.start, cue.end, writer.write(text, translated, cue)))
    limits.report()
    return kept.file.replace(changes)


def _collect_pieces(item: OutputDocument, sentences: Sequence[SpokenSentence]) -> Mapping[tuple[int, int], list[Piece]]:
    """Return the pieces of translations that go into each span of each cue."""
    pieces: dict[tuple[int, int], list[Piece]] = {}
    for number, (sentence, text) in enumerate(zip(sentences, item.text, strict=True)):
        alignment = item.alignments[number] if item.alignments else None
        marks = place_marks(sentence.text, sentence.marks, text, alignment)
        for share, piece in zip(sentence.shares, cut_translation(sentence, text, marks), strict=True):
            pieces.setdefault((share.cue, share.span), []).append(piece)
    return pieces


def _format(
    name: str,
    summary: str,
    suffixes: tuple[str, ...],
    looks_like: Callable[[str], bool],
    reader: tuple[Dialect, CueReader],
) -> FileFormat:
    """Return the format of a dialect."""
    dialect, read_cues = reader

    def detect(start: bytes, file_name: str) -> bool:  # noqa: ARG001
        return looks_like(decode_start(start))

    return FileFormat(
        name,
        summary,
        suffixes,
        detect,
        partial(read_subtitles, name=name, dialect=dialect, read_cues=read_cues),
        partial(write_subtitles, dialect=dialect),
    )


SUBTITLES = (
    _format("srt", "SubRip subtitles", (".srt",), looks_like_srt, (SRT, read_srt_cues)),
    _format("vtt", "WebVTT subtitles", (".vtt",), looks_like_vtt, (VTT, read_vtt_cues)),
    _format("ass", "ASS and SSA subtitles", (".ass", ".ssa"), looks_like_ass, (ASS, read_ass_cues)),
)
"""The formats of subtitles."""
