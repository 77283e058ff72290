"""The pages of the documentation that are made from the code: mkdocs asks for them when it builds the site.

They are the command line, the keys of experiment files, the built-in experiments, the fixes, the findings, the fields
of results, and CONTRIBUTING.md. None is a file below docs/, so none can be out of date. The tests of the docs check
their links without mkdocs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import typer.main

from dbdyno.analysis.findings.registry import KINDS
from dbdyno.analysis.why.fixes import ENTRIES
from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.cli.app import app
from dbdyno.engines import all_engines
from dbdyno.engines.fix_entries import Entry
from dbdyno.experiment import Experiment
from dbdyno.experiment.document import package_path
from dbdyno.experiment.experiment import builtin_experiments
from dbdyno.experiment.head import Head
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.result.schema import json_schema

COMMANDS = "reference/commands.md"
KEYS = "reference/experiment-keys.md"
EXPERIMENTS = "reference/experiments/index.md"
FIXES = "reference/fixes.md"
FIELDS = "reference/result-fields.md"
FINDINGS = "reference/findings.md"
CONTRIBUTING = "contributing/index.md"
_ROOT = Path(__file__).parent.parent


def pages() -> dict[str, str]:
    """Give each page's place below docs/ and its Markdown."""
    makers: dict[str, Callable[[], Iterator[str]]] = {
        COMMANDS: _commands,
        KEYS: _keys,
        EXPERIMENTS: _experiments,
        FIXES: _fixes,
        FIELDS: _fields,
        FINDINGS: _findings,
        CONTRIBUTING: _contributing,
    }
    return {place: "\n".join(make()) + "\n" for place, make in makers.items()}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave what lies outside docs/ as text: the site has pages only (a hook of mkdocs)."""
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:python|crates|tests|benches|tools)/[^)]*\)", r"`\1`", markdown)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("\n", " ") for cell in cells) + " |"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        yield from ("", _row(*head), "|" + "---|" * len(head), *(_row(*row) for row in rows))


def _plain(text: str | None) -> str:
    """Give a docstring as Markdown."""
    text = re.sub(r" ?\(:\w+:`[^`]+`\)", "", " ".join((text or "").split()))
    return text.replace("``", "`")


def _code(text: str) -> str:
    # Within a table a bar ends a cell, and backslashes before it are shown by some readers.
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`" if text else ""


def _text(text: str) -> str:
    """Give a plain text so that Markdown shows it as it is."""
    return re.sub(r"([<>*_\[\]|])", r"\\\1", text)


def _prose(text: str) -> str:
    """Escape a text as ``_text`` does, except for the code in it."""
    return "`".join(each if place % 2 else _text(each) for place, each in enumerate(text.split("`")))


# The command line


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", "This page is generated from the program. `dbdyno COMMAND --help` shows the same.")
    root = typer.main.get_command(app)
    listed = dict(_visible(root))
    yield from _table(
        ("command", "what it does"),
        [(f"[`{name}`](#{_slug(name)})", _text(_help(each))) for name, each in sorted(listed.items())],
    )
    yield from (
        "",
        "Exit codes: 0 done, 1 a trial failed, 2 bad input, 3 regression and 4 inconclusive (`gate`), 130 interrupted.",
    )
    for name, each in sorted(listed.items()):
        yield from _command(name, each)


def _visible(group: Any, before: str = "dbdyno") -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        if each.hidden:
            continue
        full = f"{before} {name}"
        if hasattr(each, "commands"):
            if each.invoke_without_command or each.params[:-1]:
                yield full, each
            yield from _visible(each, full)
        else:
            yield full, each


def _help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _command(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    usage = " ".join(piece for piece in command.collect_usage_pieces(context) if not piece.startswith("COMMAND"))
    yield from ("", f"## {name}", "", _text(_help(command)), "", f"    {name} {usage}")
    for kind in ("argument", "option"):
        records = [
            each.get_help_record(context)
            for each in command.params
            if each.param_type_name == kind and not each.hidden and each.name != "help"
        ]
        yield from _table((kind, "meaning"), [(_code(_of_types(said)), _text(_shown(told))) for said, told in records])
    if command.epilog:
        yield from ("", *(f"    {each}" for each in command.epilog.split("\n\n")[1:]))


# What typer calls a value that has no name of its own.
_VALUES = {"int range": "N", "int": "N", "float": "NUMBER", "str": "TEXT", "path": "PATH"}


def _of_types(record: str) -> str:
    if not record.startswith("-"):
        return record.partition(" <")[0]
    return re.sub(r"<([^>]+)>", lambda found: _VALUES.get(found[1], found[1].upper()), record)


def _shown(told: str) -> str:
    return re.sub(r"\s*\[[^\]]*x[<>][^\]]*\]", "", told)


# The keys of an experiment's file


def _keys() -> Iterator[str]:
    yield from (
        "# Keys of experiment files",
        "",
        "This page is generated from the types that read the file. Each table of the file has a table here.",
        "[Experiment files](experiment-file/overview.md) explains the keys, with examples. `factors` and `exclude`",
        "are not listed here: see [Factors](experiment-file/overview.md#factors).",
        "",
        "## The file",
    )
    head, body = Head.model_json_schema(), Definition.model_json_schema()
    yield from _properties({**head, "properties": {**head["properties"], **body["properties"]}}, head, body)
    known = {**head["$defs"], **body["$defs"]}
    for name in sorted(known):
        yield from ("", f"## {name}", "", _plain(known[name].get("description")))
        yield from _properties(known[name])


def _properties(schema: dict[str, Any], *of: dict[str, Any]) -> Iterator[str]:
    needed = {key for each in (of or (schema,)) for key in each.get("required", ())}
    yield from _table(
        ("key", "value", "default"),
        [
            (_code(key), _kind(each, key), "required" if key in needed else _default(each))
            for key, each in schema.get("properties", {}).items()
        ],
    )


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    if isinstance(default, bool):
        return _code(str(default).lower())
    if isinstance(default, str):
        return _code(f'"{default}"') if default else ""
    return _code(str(default)) if isinstance(default, int | float) else ""


_WORDS = {"string": "string", "integer": "integer", "number": "number", "boolean": "`true` or `false`", "null": ""}


# Strings that the schema has no type for, since they are parsed later.
_UNTYPED = {
    **dict.fromkeys(("execute", "run", "setup", "undo"), "[statement](experiment-file/transactions.md#statements)"),
    "expression": "[expression](experiment-file/transactions.md#expressions)",
    "type": "[type](experiment-file/tables.md#columns)",
    "when": "[condition](experiment-file/transactions.md#conditions)",
}
# Unions of many types, recognized by two of them.
_FAMILIES = {
    frozenset({"Serial", "Uniform"}): "[generator](experiment-file/tables.md#generators)",
    frozenset({"Execute", "Repeat"}): "[step](experiment-file/transactions.md#steps)",
}


def _kind(schema: dict[str, Any], key: str = "") -> str:
    """Describe the type of a value."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return _code(f'"{schema["const"]}"' if isinstance(schema["const"], str) else str(schema["const"]).lower())
    if "enum" in schema:
        return ", ".join(_code(f'"{each}"') for each in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        names = {each.get("$ref", "").rpartition("/")[2] for each in choices}
        for one, called in _FAMILIES.items():
            if one <= names:
                return called
        told = [_kind(each) for each in choices]
        return " or ".join(dict.fromkeys(each for each in told if each))
    if schema.get("type") == "array":
        items = schema.get("items") or schema.get("prefixItems", [{}])[0]
        return f"list of {_kind(items, key)}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table by name: {_kind(schema['additionalProperties'])}"
    return _WORDS.get(schema.get("type", ""), _UNTYPED.get(key, "value"))


# The built-in experiments


def _experiments() -> Iterator[str]:
    yield from (
        "# Built-in experiments",
        "",
        "This page is generated from the built-in experiments. `dbdyno run NAME` runs one.",
        "`dbdyno describe NAME` shows its statements, and `dbdyno init my.toml --from NAME` copies it.",
    )
    for each in builtin_experiments():
        yield from _experiment(each)


def _experiment(experiment: Experiment) -> Iterator[str]:
    head = experiment.head
    yield from ("", f"## {head.name}", "", f"{_text(head.title)}.", "", f"**Question.** {_text(head.question)}", "")
    yield from (f"**Source.** {_text(head.source)}.", "")
    if head.published:
        yield from (*_published(experiment), "")
    yield f"**Rounds.** {head.rounds}, unless `--rounds` says otherwise."
    usual = experiment.usual_factors()
    rows = []
    for name, factor in experiment.factors.items():
        levels = [level.name for level in usual[name].levels]
        rest = [level.name for level in factor.levels if level.name not in levels]
        rows.append((_code(name), ", ".join(map(_code, levels)), ", ".join(map(_code, rest))))
    yield from _table(("factor", "levels", "only with `--set`"), rows)
    if (_ROOT / "docs/reference/experiments" / f"{head.name}.md").exists():
        yield from ("", f"Details and a result: [{head.name}]({head.name}.md).")


def _published(experiment: Experiment) -> Iterator[str]:
    published = experiment.head.published
    assert published is not None
    path = package_path("published", published.file)
    lines = path.read_text(encoding="utf-8").splitlines()
    figures = list(csv.reader(line for line in lines if line and not line.startswith("#")))[1:]
    yield f"**Published figures.** {len(figures)} rows of {published.year}, in `{published.file}`."
    said = [line.lstrip("# ") for line in lines if line.startswith("#")]
    yield from (_text(each.rstrip(".")) + "." for each in said or [f"Measured on {published.machine}"])


# The fixes


def _fixes() -> Iterator[str]:
    yield from (
        "# Fixes",
        "",
        "This page is generated from the catalog of "
        "[`dbdyno why --fix`](../how-to/find-the-bottleneck.md#measure-fixes). dbdyno tries a fix if",
        "a resource in the column *against* limits the cell, the condition holds, and the fix isn't in effect yet.",
    )
    yield from ("", "## Every engine", *_catalogue(ENTRIES))
    for engine in all_engines():
        entries = engine.fixes()
        if entries:
            yield from ("", f"## {engine.title}", *_catalogue(entries))


def _catalogue(entries: Sequence[Entry]) -> Iterator[str]:
    rows = []
    for each in entries:
        against = ", ".join(RESOURCE_NAMES[resource].name for resource in each.against)
        url = each.source.url.replace("docs/", "../", 1) if each.source.url.startswith("docs/") else each.source.url
        source = f"[{_text(each.source.title)}]({url}), {_text(each.source.section)}"
        rows.append((_code(each.name), against, _text(each.applies), source))
    yield from _table(("fix", "against", "condition", "source"), rows)


# The fields of results


def _fields() -> Iterator[str]:
    yield from (
        "# Fields of the result document",
        "",
        "This page is generated from the types of the result document.",
        "[Result document](result-document.md) explains the units and the objects.",
    )
    schema = json_schema()
    for name, each in {"Document": schema, **schema["$defs"]}.items():
        yield from ("", f"## {name}", "", _plain(each.get("description")))
        fields = each.get("properties", {}).items()
        rows = [(_code(key), _nullable(field), _prose(_plain(field.get("description")))) for key, field in fields]
        yield from _table(("field", "type", "meaning"), rows)


def _nullable(schema: dict[str, Any]) -> str:
    """Describe the type of a field, which may be null or an object that has no type of its own."""
    if schema.get("additionalProperties") is True:
        return "object"
    named = _kind(schema).replace("table by name: ", "object of ")
    return f"{named} or null" if {"type": "null"} in schema.get("anyOf", ()) else named


# The findings


def _findings() -> Iterator[str]:
    yield from (
        "# Findings",
        "",
        "Conclusions that a report draws from a run, in the order in which reports list them. This page is generated",
        "from the code. The `kind` is also the `kind` of a finding in the [result document](result-document.md).",
        "dbdyno reports a finding only if the run observed the evidence for it.",
    )
    rows = [(_code(kind.name), _prose(kind.meaning), _prose(kind.remedy)) for kind in KINDS.values()]
    yield from _table(("kind", "meaning", "what to do"), rows)


# How to contribute


def _contributing() -> Iterator[str]:
    yield (_ROOT / "CONTRIBUTING.md").read_text().replace("](docs/", "](../").rstrip()
