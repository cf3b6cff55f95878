"""The routes of DeepL's API for glossaries: version 2 with one pair of languages each, version 3 with several."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastapi import FastAPI, Request, Response

from docaps.web.deepl_routes import REFUSALS, respond
from docaps.web.deepl_schemas import (
    DeepLError,
    DeepLGlossary,
    DeepLGlossaryList,
    DeepLGlossaryRequest,
    DeepLNamedTables,
    DeepLPair,
    DeepLPairList,
    DeepLTable,
    DeepLTableInfo,
    DeepLTables,
    DeepLTablesInfo,
    DeepLTablesInfoList,
)
from docaps.web.forms import describe_body, parse, read_fields
from docaps.web.glossaries import GlossaryStore, Pair, StoredGlossary, Terms, merged, read_entries, write_entries
from docaps.web.http_errors import HttpError, describe_errors, invalid
from docaps.web.language_pairs import LanguagePairs, base_language

WRITE_ERRORS = REFUSALS | describe_errors(408, 413, model=DeepLError)
NUMBER_ERRORS = WRITE_ERRORS | describe_errors(404, model=DeepLError)
NOTHING: dict[str, Any] = {"description": "It is deleted."}
ENTRIES_TEXT: dict[str, Any] = {
    "description": "One pair of terms a line, separated by a tab.",
    "content": {"text/tab-separated-values": {"schema": {"type": "string"}}},
}
PAIR_PARAMETERS = [
    {
        "name": name,
        "in": "query",
        "required": True,
        "description": f"The {what} language.",
        "schema": {"type": "string"},
    }
    for name, what in (("source_lang", "source"), ("target_lang", "target"))
]


@dataclass(frozen=True)
class DeepLGlossaries:
    """The routes for glossaries."""

    store: GlossaryStore
    pairs: LanguagePairs

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        one, v3 = "/v2/glossaries/{number}", "/v3/glossaries"
        tables = f"{v3}/{{number}}/dictionaries"
        listed, info = (REFUSALS, DeepLTablesInfoList), (NUMBER_ERRORS, DeepLTablesInfo)
        rows: list[tuple[str, str, Any, tuple[Any, Any], dict[str, Any]]] = [
            ("GET", "/v2/glossary-language-pairs", self.list_pairs, (REFUSALS, DeepLPairList), {}),
            ("GET", "/v2/glossaries", self.list_all, (REFUSALS, DeepLGlossaryList), {}),
            ("POST", "/v2/glossaries", self.create, (WRITE_ERRORS, DeepLGlossary), describe_body(DeepLGlossaryRequest)),
            ("GET", one, self.get, (NUMBER_ERRORS, DeepLGlossary), {}),
            ("DELETE", one, self.delete, (NUMBER_ERRORS, None), {}),
            ("GET", f"{one}/entries", self.entries, (NUMBER_ERRORS, str), {}),
            ("GET", v3, self.list_named, listed, {}),
            ("POST", v3, self.create_named, (WRITE_ERRORS, DeepLTablesInfo), describe_body(DeepLNamedTables)),
            ("GET", f"{v3}/{{number}}", self.get_named, info, {}),
            ("PATCH", f"{v3}/{{number}}", self.change_named, info, describe_body(DeepLNamedTables)),
            ("DELETE", f"{v3}/{{number}}", self.delete, (NUMBER_ERRORS, None), {}),
            ("GET", f"{v3}/{{number}}/entries", self.get_table, (NUMBER_ERRORS, DeepLTables), _by_pair()),
            ("PUT", tables, self.replace_table, (NUMBER_ERRORS, DeepLTableInfo), describe_body(DeepLTable)),
            ("DELETE", tables, self.delete_table, (NUMBER_ERRORS, None), _by_pair()),
        ]
        for method, path, endpoint, (errors, model), extra in rows:
            _add_route(app, method, path, endpoint, errors, model, extra)

    async def list_pairs(self) -> Response:
        """List the pairs of languages that glossaries are used for."""
        pairs = dict.fromkeys((card.source_language, card.target_language) for card in self.pairs.cards)
        return respond(DeepLPairList(supported_languages=[DeepLPair(source_lang=s, target_lang=t) for s, t in pairs]))

    async def list_all(self) -> Response:
        """List the glossaries that have one pair of languages."""
        return respond(
            DeepLGlossaryList(glossaries=[_describe(one) for one in self.store.list() if len(one.tables) == 1])
        )

    async def create(self, request: Request) -> Response:
        """Create a glossary for one pair of languages; it is forgotten when the service stops."""
        asked = parse(DeepLGlossaryRequest, await read_fields(request))
        return respond(_describe(self.store.put(StoredGlossary(asked.name, self._read([asked])))), 201)

    async def get(self, number: str) -> Response:
        """Return a glossary for one pair of languages, without its terms."""
        return respond(_describe(self._single(number)))

    async def entries(self, number: str) -> Response:
        """Return the terms of a glossary for one pair of languages."""
        (terms,) = self._single(number).tables.values()
        return Response(write_entries(terms), media_type="text/tab-separated-values")

    async def delete(self, number: str) -> Response:
        """Delete a glossary."""
        self.store.remove(number)
        return Response(status_code=204)

    async def list_named(self) -> Response:
        """List all glossaries."""
        return respond(DeepLTablesInfoList(glossaries=[_describe_tables(one) for one in self.store.list()]))

    async def create_named(self, request: Request) -> Response:
        """Create a glossary for several pairs of languages; it is forgotten when the service stops."""
        asked = parse(DeepLNamedTables, await read_fields(request))
        glossary = StoredGlossary(asked.name or "", self._read(asked.dictionaries))
        return respond(_describe_tables(self.store.put(glossary)), 201)

    async def get_named(self, number: str) -> Response:
        """Return a glossary without its terms."""
        return respond(_describe_tables(self.store.find(number)))

    async def change_named(self, number: str, request: Request) -> Response:
        """Change the name of a glossary, or add terms to its tables."""
        asked = parse(DeepLNamedTables, await read_fields(request))
        glossary = merged(self.store.find(number), self._read(asked.dictionaries))
        glossary = replace(glossary, name=glossary.name if asked.name is None else asked.name)
        return respond(_describe_tables(self.store.put(glossary)))

    async def get_table(self, number: str, request: Request) -> Response:
        """Return the terms of a glossary for a pair of languages."""
        pair = await _read_pair(request)
        terms = self._table(number, pair)
        table = DeepLTable(source_lang=pair[0], target_lang=pair[1], entries=write_entries(terms), entries_format="tsv")
        return respond(DeepLTables(dictionaries=[table]))

    async def replace_table(self, number: str, request: Request) -> Response:
        """Replace the terms of a glossary for a pair of languages."""
        asked = parse(DeepLTable, await read_fields(request))
        ((pair, terms),) = self._read([asked]).items()
        glossary = self.store.find(number)
        self.store.put(replace(glossary, tables={**glossary.tables, pair: terms}))
        return respond(_describe_table(pair, terms))

    async def delete_table(self, number: str, request: Request) -> Response:
        """Delete the terms of a glossary for a pair of languages; the last pair stays."""
        pair = await _read_pair(request)
        self._table(number, pair)
        glossary = self.store.find(number)
        self.store.put(replace(glossary, tables={one: terms for one, terms in glossary.tables.items() if one != pair}))
        return Response(status_code=204)

    def _read(self, tables: list[DeepLTable] | list[DeepLGlossaryRequest]) -> dict[Pair, Terms]:
        found: dict[Pair, Terms] = {}
        for table in tables:
            pair = base_language(table.source_lang), base_language(table.target_lang)
            self.pairs.choose(*pair, fields=("source_lang", "target_lang"))
            found[pair] = {**found.get(pair, {}), **read_entries(table.entries, table.entries_format)}
        return found

    def _single(self, number: str) -> StoredGlossary:
        glossary = self.store.find(number)
        if len(glossary.tables) != 1:
            raise HttpError(404, "this glossary has several pairs of languages: use /v3/glossaries")
        return glossary

    def _table(self, number: str, pair: Pair) -> Terms:
        tables = self.store.find(number).tables
        if pair not in tables:
            raise HttpError(404, f"this glossary has no terms for {'-'.join(pair)}")
        return tables[pair]


def _by_pair() -> dict[str, Any]:
    return {"parameters": PAIR_PARAMETERS}


def _add_route(
    app: FastAPI,
    method: str,
    path: str,
    endpoint: Any,
    errors: Mapping[int | str, Any],
    model: Any,
    extra: dict[str, Any],
) -> None:
    status = 204 if model is None else 201 if method == "POST" else 200
    success = NOTHING if model is None else ENTRIES_TEXT if model is str else {"model": model}
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        status_code=status,
        response_class=Response,
        responses={**errors, status: success},
        openapi_extra=extra,
        tags=["DeepL glossaries"],
    )


async def _read_pair(request: Request) -> Pair:
    fields = await read_fields(request)
    pair = [fields.get(name) for name in ("source_lang", "target_lang")]
    for name, code in zip(("source_lang", "target_lang"), pair, strict=True):
        if not isinstance(code, str) or not code:
            raise invalid("a language is missing", name, "the code of a language")
    return base_language(str(pair[0])), base_language(str(pair[1]))


def _describe(glossary: StoredGlossary) -> DeepLGlossary:
    (((source, target), terms),) = glossary.tables.items()
    return DeepLGlossary(
        glossary_id=glossary.number,
        name=glossary.name,
        source_lang=source,
        target_lang=target,
        creation_time=_time(glossary),
        entry_count=len(terms),
    )


def _describe_tables(glossary: StoredGlossary) -> DeepLTablesInfo:
    return DeepLTablesInfo(
        glossary_id=glossary.number,
        name=glossary.name,
        dictionaries=[_describe_table(pair, terms) for pair, terms in glossary.tables.items()],
        creation_time=_time(glossary),
    )


def _describe_table(pair: Pair, terms: Terms) -> DeepLTableInfo:
    return DeepLTableInfo(source_lang=pair[0], target_lang=pair[1], entry_count=len(terms))


def _time(glossary: StoredGlossary) -> str:
    """Return the time of creation as DeepL writes it, always with microseconds."""
    return glossary.created.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
