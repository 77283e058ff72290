"""The documentation: its links lead somewhere, and the commands that its guides show do what they say."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from conftest import Cli
from dbdyno.analysis.findings.registry import KINDS
from dbdyno.engines.server.installations import find_installations
from docs_output import Command, File, Output, commands, renewed, steps
from experiment_files import shortened
from reference import pages as generated

if TYPE_CHECKING:
    from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages whose commands are run, each on a machine that has what the page is about.
GUIDES = [
    "index.md",
    "tutorial/first-benchmark.md",
    "tutorial/your-own-experiment.md",
    "how-to/ci.md",
    "how-to/compare-queries.md",
    "how-to/highest-rate.md",
    "how-to/sqlite-or-postgresql.md",
    "how-to/sqlite-settings.md",
]
# A page's commands and the servers that they name.
SERVERS = re.compile(r"\b(postgresql|mysql|mongodb):")


def parse(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


# Lines

PAGES = (*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_paragraphs_wrap_at_100_columns(page: Path) -> None:
    text = page.read_text()
    lines = text.splitlines()
    paragraphs = (token.map for token in parse(text) if token.type == "paragraph_open" and token.map is not None)
    numbers = [number for begin, end in paragraphs for number in range(begin, end)]
    assert [number + 1 for number in numbers if len(lines[number]) > 100] == []


# Links


@cache
def anchors(text: str) -> set[str]:
    """The names of a page's headings in links, as GitHub and the site make them."""
    tokens = parse(text)
    found: list[str] = []
    seen: Counter[str] = Counter()
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            told = "".join(each.content for each in inline.children or [] if each.type in {"text", "code_inline"})
            name = re.sub(r"[^\w\- ]", "", told.lower()).replace(" ", "-")
            found.append(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return set(found)


# `make docs` has them written.
SCHEMAS = {DOCS / f"{name}.schema.json" for name in ("plan", "event", "result", "prediction")}


def links(text: str) -> Iterator[str]:
    for token in parse(text):
        for each in token.children or []:
            target = each.attrGet("href") if each.type == "link_open" else each.attrGet("src")
            if isinstance(target, str) and not re.match(r"[a-z]+:", target):
                yield target


def broken(pages: Mapping[Path, str]) -> list[str]:
    """The links of pages, by their paths, that lead to no file, page or heading."""
    found = []
    for path, text in pages.items():
        for link in links(text):
            place, _, anchor = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            if target in SCHEMAS:
                continue
            if target not in pages and not target.exists():
                found.append(f"{path.name}: {link}: there is no such file")
            elif anchor and anchor not in anchors(pages.get(target) or target.read_text()):
                found.append(f"{path.name}: {link}: there is no such heading")
    return found


def test_links_lead_to_files_and_headings_that_are_there() -> None:
    pages = {path: path.read_text() for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"))}
    pages |= {DOCS / place: text for place, text in generated().items()}
    assert len(pages) > 20
    assert broken(pages) == []


def test_the_contents_of_the_site_have_each_page_once() -> None:
    contents = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    named = re.findall(r"[\w/-]+\.md$", contents, re.MULTILINE)
    assert sorted(named) == sorted({str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} | generated().keys())


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    text = "# A `page`\n\n[a](#a-page) [b](other.md#b-c) [c](none.md) [d](other.md#no) ![e](e.png) [f](#f)\n"
    found = broken({page: text, other: "# B, c\n"})
    assert [each.split(": ")[1] for each in found] == ["none.md", "other.md#no", "e.png", "#f"]


def test_the_reference_has_each_command_option_and_experiment(cli: Cli) -> None:
    pages = generated()
    assert "`--same-durability CLASS`" in pages["reference/commands.md"]
    assert "## dbdyno cpu count" in pages["reference/commands.md"]
    assert "| `memory_limit_mb` | number |" in pages["reference/experiment-keys.md"]
    assert "| `rounds` | list of [Round](#round) |" in pages["reference/result-fields.md"]
    assert "| `peak_rss_bytes` | integer or null |" in pages["reference/result-fields.md"]
    assert "| `synchronous_commit=off` | device flush |" in pages["reference/fixes.md"]
    for kind in KINDS.values():
        assert f"| `{kind.name}` | {kind.meaning} | {kind.remedy} |" in pages["reference/findings.md"]
    for line in cli("list").partition("\n\n")[0].splitlines()[1:]:
        if line[:1].strip():
            assert f"\n## {line.split()[0]}\n" in pages["reference/experiments/index.md"]


# Commands


Step = Command | File | Output


def brief(step: Step) -> Step:
    """The same with shorter windows and budgets. Commands end alike with them: what a gate finds is large."""
    if isinstance(step, File):
        return replace(step, text=shortened(step.text)[0])
    if isinstance(step, Output):
        return step
    arguments = [re.sub(r"^\d+(s|m)$", "1s", each) for each in step.arguments]
    return replace(step, arguments=arguments)


def do(cli: Cli, step: Step) -> None:
    """Do what a page says. Fails where that does not end as the page says."""
    if isinstance(step, File):
        path = cli.directory / step.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text)
        return
    if isinstance(step, Output):
        return
    program, *arguments = step.arguments
    if program == "sqlite3":
        database, sign, file = arguments
        assert sign == "<"
        # A script may attach other databases, by relative paths.
        with contextlib.chdir(cli.directory), closing(sqlite3.connect(database)) as made:
            made.executescript(Path(file).read_text())
        return
    assert not {"|", "&", "&&", ";", "<", ">"} & set(arguments), f"only a shell can do this: {step.arguments}"
    ended = cli.invoke(*arguments)
    assert ended.code in step.codes, f"{step.arguments}: exit code {ended.code}\n{ended.out}\n{ended.errors}"


@pytest.mark.parametrize("page", GUIDES)
def test_commands_of_a_guide_do_what_it_says(page: str, server_cli: Cli) -> None:
    told = list(steps((DOCS / page).read_text()))
    arguments = [argument for each in told if isinstance(each, Command) for argument in each.arguments]
    named = {engine for each in arguments for engine in SERVERS.findall(each)}
    for engine in sorted(named):
        if not find_installations(engine):
            pytest.skip(f"there is no {engine} server on this machine to start")
    for each in told:
        do(server_cli, brief(each))
        if isinstance(each, Command) and each.arguments[1] == "init":
            written = server_cli.directory / each.arguments[2]
            written.write_text(shortened(written.read_text())[0])


def test_each_guide_has_commands() -> None:
    for page in GUIDES:
        assert any(isinstance(each, Command) for each in steps((DOCS / page).read_text())), page


def test_a_command_that_fails_is_found(cli: Cli) -> None:
    page = '```toml title="a.toml"\nname = 1\n```\n\n```sh\ndbdyno describe \\\n  a.toml\n```\n'
    file, command = steps(page)
    assert command == Command(["dbdyno", "describe", "a.toml"], frozenset({0}))
    do(cli, file)
    with pytest.raises(AssertionError, match="exit code 2"):
        do(cli, command)
    (said,) = commands("dbdyno describe a.toml  # exit code 0 or 2\n")
    do(cli, said)


def test_output_is_put_beneath_its_command(tmp_path: Path) -> None:
    program = tmp_path / "dbdyno"
    program.write_text(
        "#!/bin/sh\necho first of $2 $(cat a.toml)\necho second\necho\necho run 1 is stored: dbdyno show 1\n"
    )
    program.chmod(0o755)
    block = '```toml title="a.toml"\nx = 1\n```\n\n```sh\ndbdyno run {}\n```\n\n'
    old = "```text\nold\nold\n```\n\n"
    page = f"# A\n\n{block}{old}Words.\n\n# B\n\n{block}{old}# C\n\n```text\nkept\n```\n"
    made = renewed(page.format("a.toml", "b.toml"), program)
    new = "```text\nfirst of {} x = 1\nsecond\n```\n\n"
    expected = f"# A\n\n{block}{new}Words.\n\n# B\n\n{block}{new}# C\n\n```text\nkept\n```\n"
    assert made == expected.format("a.toml", "a.toml", "b.toml", "b.toml")
