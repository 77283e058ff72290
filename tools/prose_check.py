#!/usr/bin/env python3
"""Find prose that reads as if translated, in documentation, messages, help, comments and commit subjects.

    prose_check.py ROOT                    print every hit as PATH:LINE: [PATTERN] text
    prose_check.py ROOT --summary          counts by pattern and by kind of text, and per 1,000 words
    prose_check.py ROOT --pages            hits per 1,000 words for each Markdown page, worst first
    prose_check.py ROOT --sample 30        a random sample (--seed N), to measure precision by hand
    prose_check.py ROOT --only docs,help   restrict to kinds: docs, help, messages, docstrings, comments, commits
    prose_check.py ROOT --pattern P06,P07  restrict to patterns
    prose_check.py ROOT --max 900          exit code 1 if there are more hits than this (a ratchet for CI)
    prose_check.py ROOT FILE...            only these files

The patterns are heuristics: a hit is a sentence to look at, not an error. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import collections
import io
import random
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCTS = "SQLite|PostgreSQL|MariaDB|MySQL|MongoDB|FerretDB|DuckDB|SQL Server|Ray|Linux|TLS|HTTP|valgrind|callgrind|Python|Rust|Alembic|InnoDB|pgbench|npm|Go"
DET = "the|a|an|its|their|his|your|our|my|each|every|all|no|this|that|these|those|several|one|two|three"
START = r"(?:^|(?<=[.!?:;] )|(?<=[.!?:;]\*\* )|(?<=\*\* ))"
NP = r"[\w'`/.=%-]+(?: [\w'`/.=%-]+){0,5}?"
# verb forms after which a detached relative clause is suspicious
PART = r"(?:[a-z]+ed|[a-z]+en|given|made|kept|read|run|told|found|sent|held|put|taken|left|drawn|known|written|shown|had|done|seen|chosen|set|cut|built|begun)"

PATTERNS: dict[str, tuple[str, str]] = {
    "P01": (
        "'of' genitive instead of a noun compound",
        rf"\b(?!(?:versions?|instead|most|many|some|part|all|one|any|each|none|user|out|because|outside|regardless|case|kind|rest|consist\w*|independent|copy|inside|use|behavior|install\w*|minor|subset|implementations?|lack) of)[a-z][a-z-]+ of (?:{PRODUCTS}|durability|95 ?%|\d+(?:\.\d+)? %|experiments?'?)\b(?! and \w+ (?:is|are))"
        rf"|\b(?:figures?|tests?|trials?|statements?|intervals?|clients|rounds?|cells?|commands?|settings?|users?|options?|sessions?|copies|files?|names?|texts?|keys?) of (?:tests|files|servers|trials|rounds|cells|runs|trees|leaves|documents|readers|bench(?:es)?|databases?|commits?|statements|SQL|keys|machines|load|releases|connections)\b",
    ),
    "P02": (
        "inversion: predicate or adverbial first, subject last",
        rf"{START}(?:In|On|Under|Behind|Beside|Beneath|Above|Below|Within|Between|At|From|Before|After|Into|With|By) (?!(?:which|what|whom|order|addition|practice|general|fact|short|particular|both)\b)(?:(?:{DET}) )?(?:(?!(?:{DET}|it|they|he|you|we|all|what|nobody|everything|nothing)\b)[\w`'.=-]+ ){{1,3}}(?:stands?|lies?|lay|comes?|goes|follows?|belongs?|is|are|was|were) (?:not )?(?:{DET}|what|who|nothing|nobody|none)\b"
        rf"|{START}(?:Refused|Shown|Left out|Needed|Missing|Given|Kept|Counted|Measured|Told|Named|Added|Not [a-z]+(?: [a-z]+)?) (?:is|are|was|were|does|do|did) "
        rf"|{START}(?:Beside|Behind|Then|Beneath|Below|Above|First|Else|There|Here) (?:it|them|that|this)?,? ?(?:stands?|comes?|goes|lies?|lay) (?!back|away|up|down)"
        rf"|{START}(?:How|Which|Whether|Whose|What) [^.?!]{{4,70}}?,? (?:the (?:report|result|engine|system|answer|server|worker|plan)|`?benches/[\w.]+`?|it|dbdyno) (?:says|tells|said|shows|measures|decides)\b(?![^.]*\?)",
    ),
    "P03": (
        "sentence opens with 'Of'",
        rf"{START}Of (?!course\b)[a-z`\"'0-9]",
    ),
    "P04": (
        "bare 'what' clause as subject or object",
        rf"{START}What (?!(?:if|about|happened|next|else)\b)[^.?!:;]{{2,90}}?\b(?:is|are|was|were|has|have|had|does|do|can|may|must|counts?|goes|go|fails?|takes?|comes?|stays?|disturbs|makes?|says?|holds?|needs?|follows|would|will|moves?|becomes?|hits|adds?|ends?)\b(?![^.]*\?)"
        r"|(?<![Nn]o matter )\b(?:of|from|by|as|than|beside|and|or|with|to|for|in|into|beyond|at|on|where|that|below|after|before|but|name|names|show|shows|list|lists|tell|tells|counts?) what (?!(?:if|happens|happened|to|a|an)\b)(?:it|is|are|was|were|they|the|that|those|others|each|one|has|had|can|could|dbdyno|you|needs|comes|lies|goes|an? [a-z]+ (?:has|is)|clients|trials?|somebody|nobody|else|[a-z]+ (?:has|have|is|are|was|were|asks?|does|do|gives?|takes?|say|says|wrote))\b",
    ),
    "P05": (
        "headless who/whoever/nobody/somebody",
        rf"{START}Who (?!(?:is|are|am|can|should|uses|maintains|needs) [^.]*\?)[a-z]|\b[Ww]hoever\b|\b(?:for|of|to|wakes|stops|by|than|from|finds|with) who [a-z]+s?\b|\b[Nn]obody\b|\b[Ss]omebody\b|\b[Nn]o one\b",
    ),
    "P06": (
        "'where' used for if/when",
        r"(?:(?<=[.;:(] )|^|(?<=[.;:(])|(?<=, )|(?<=\*\* ))[Ww]here (?!(?:to|you|possible|appropriate|applicable|relevant|the [a-z]+ (?:lies|lie|lives|stands) )\b)(?:a|an|the|it|they|there|no|none|that|one|all|two|both|some|nothing|nobody|this|its|only|clients?|cells?|several|each|neither|either|more|many|few|most|other|others|what|these|those|values|rows|transactions|plans?|servers?|noise|memory|windows|data|SQLite|[a-z]+s? (?:is|are|was|were|has|have|can|cannot|does|do))\b"
        r"|(?<=[a-z)`0-9] )where (?:a|an|it|they|there|no|none|that|one|all|both|some|nothing|nobody|needed|several|each|neither|either|more|many|few|most|others|what|asked|known)\b"
        r"|(?<=[a-z)`0-9] )where the [a-z' -]{2,30} (?:is|are|was|were|has|have|can|cannot|does|do|did|could|would|tells?|says?|shows?|takes?|allows?|knows?|lets?)\b",
    ),
    "P07": (
        "'is there' for exists / is available",
        r"\b(?:is|are|was|were|be|been) (?:not |already |still |all |always |only )?there\b(?! (?:a|an|any|no|is|are)\b)|\bthere (?:is|are|was|were) (?:none|nothing|such)\b|\b[Nn]ot there\b|\bis none\b|\bthere already\b|\bthat there (?:is|are|was|were|may|has)\b|\bWhat is not there\b",
    ),
    "P08": (
        "relative clause detached from its noun",
        rf"\b(?:is|are|was|were|be|been) (?:not )?(?:{PART})(?: anew| together| alone| also| once| apart)? (?:whose|who|which)(?<!told which)(?<!known which)(?<!shown which)(?<!found which)\b"
        rf"|\b(?:are|were) (?:not )?(?:{PART})(?: anew| together| alone| also| once| apart| out| in| first)? that (?:are|were|is|has|have|had|was|do|does|lie|stand|take|give|can|cannot|may|no|end|begin|need|[a-z]+s|fall|say)\b(?! (?:that|to be))"
        r"|\b(?:is|are|was|were|be) (?:not )?(?:said|told|named|shown|refused|left out|counted|measured|listed|tried|kept|taken|found) (?:here |there |then |so )?that (?:are|is|has|have|had|do|does|a|an|the|no|its|their|clients?|it|cannot|can|may|lie|stand|take|give) (?!(?:said|told|shown) )[a-z]+ (?=[a-z]+[.,;])|\b(?:a|an|the|no|each|one|those) [a-z]+ (?:is|are|was|were) (?:[a-z]+ed|made|given|found|told|taken) (?:of|for|from|with|by|in|to|at) [a-z]+ (?:that|which|whose)\b"
        r"|\b(?:costs?|takes?|lies?|goes|ends|out|away|anew|apart|together|beside it|on|off|over|up) (?:that|which|whose|who) (?:is|are|was|were|has|have|had|does|do|did|cannot|can|may|must|share|take|lie|stand|begin|end|wait|answers?|threads)\b",
    ),
    "P09": (
        "stand / lie / come / go for be, appear, be stored",
        r"\b(?:stands?|stood|standing) (?:in|at|on|behind|before|beside|above|below|between|within|under|there|with|by|first|for itself|as|of|to|apart|still|as it)\b"
        r"|\b(?:lies?|lay|lying) (?:in|at|on|behind|before|beside|above|below|between|under|there|with|apart|beyond|across|next|from|as|after)\b"
        r"|\b(?:comes?|came|coming) (?:out|to [±\d]|first|beside|anew|back up|later|up|by itself|seldom|with them|together)\b|\bwhat (?:comes?|came|goes) \b|\bthat (?:come|comes) (?:in|to|with|together|beside)\b|\bgoes (?:as|by|for|into|with|when|under|beside|again|well)\b",
    ),
    "P10": (
        "odd verb: tell, hold against, hear, give way, have of, know no, look at",
        r"\b(?:tells?|told|telling) (?!(?:you|us|the (?:user|reader|server|kernel|worker|compiler)|it to|them|uv|pip|me|him|Python)\b)(?:of|by|apart|from|the|it|a|an|in|as|with|which|how|what|whether|that|where|nothing|no|none|each|all|more|little|one|those|two|something|so|when|at|there|beside|and|under)\b|\b(?:is|are|was|were|be) told\b(?! (?:to|that)\b)"
        r"|\b(?:hold|holds|held|holding) (?:\w+ ){0,4}?(?:against|beside)\b|\b[Hh]ears? (?:an?|the|it|of|that)\b|\b(?:to|not) hear\b|\bknows? (?:no|nothing|of no|it not|none)\b|\b(?:looked|looks?|looking) (?:at|into) (?:what|all|it|them|each|the (?:clock|sessions))\b|\bhas? (?:it|them) (?:not|in force)\b|\bcan be had\b|\b[Bb]elieved\b|\bSays? (?:of|what|which|how|whether|it)\b|\b[Ss]ay(?:s)? (?:of (?:which|what|a|the|it)|nothing|so\b)",
    ),
    "P11": (
        "'is no X', 'nothing/none is': negated noun instead of negated verb",
        r"\b(?:is|are|was|were|be|has|have|had|does|do|gives?|gave|takes?|makes?|made|needs?|knows?|asks?|sees?|tells?|says?|shows?|finds?|found|returns?|returned|sends?|begins?|writes?|names?) (?:no|none)\b(?! (?:longer|more|less|later|sooner|different|better|matter|need|such|effect|impact|way|guarantee|reason|support|difference|longer|other)\b)(?= [a-z`(]|[.,;:])"
        r"|\b[Nn]othing (?:is|was|has|had|of|that|else|in|but|can|did|here|says|was|knows|waits|will)\b|\b(?:[Nn]one|Neither|[Nn]o [a-z]+) (?:is|are|was|were) (?:said|told|shown|given|made|known|there|called|looked|named|taken|tried|had|left|run|done|drawn|found|of|in)\b|\bno sooner\b|\bnot (?:a|one) [a-z]+ (?:more|less)\b",
    ),
    "P12": (
        "'is to' / 'have X done' for must, should, make, let",
        r"\b(?:is|are|was|were) (?:not )?to (?:be )?(?!(?:do|the|a|an|use|run|provide|create|add|avoid|make sure|ensure|allow)\b)(?:[a-z]+)\b(?= [a-z]|[.,;:])"
        r"|\b(?:[Hh]as|[Hh]ave|[Hh]ad|[Hh]aving) (?:the|a|an|it|them|each|clients|tests|others|what|dbdyno|Ray|that|trials|all|every|two|something|systems?|tables|commands|programs) (?:[a-z'-]+ ){0,4}?(?:done|run|shown|made|built|measured|started|told|read|asked|taken|put|given|come|fail|prepare|say|allow|try|begin|have|take|write|find|show|add|split|splits|split)\b"
        r"|^Have (?:a|an|the|it|what|each|tests|all|two|its|their|directories|nothing)\b|\bLet (?:no|nothing|who|what|us not|clients|tests|a|an|the|another|logins|trials)\b",
    ),
    "P13": (
        "function words from another language: as, else, so many, by/a for per, in place of, anew, unasked",
        r"\b(?:anew|unasked|for want of|in place of|[Mm]eanwhile|by itself|by themselves|alike|hence|thereby|therein|thereof|likewise|beforehand|lately|all the same|as ever|amiss|at home|as it comes|as they come|by halves|some hundred|at the most|in the end|into force|of late|as well as ever|as far as it|in turn|kin)\b"
        r"|\bso (?:many|much|long|few|large)\b(?! (?:as|that|of a|more|for))|\b(?:that|this) many\b"
        r"|(?:^|(?<=[.;] ))Else\b|[;,] else\b(?! if)|\bor else (?:it|the)\b"
        r"|\bby (?:select|transaction|commit|insert|interval|answer|lookup|statement|execution|client|cell|window|round|cell's|thread|machine|page|series)\b(?! (?:of|in|at) )"
        r"|\ban? (?:row|line|step|file|sentence|field|bar|folder|chart|curve|trial|figure|entry|layer|point|page|crate) an? [a-z]+\b|\ban? (?:row|line|step|file|sentence|field|bar|folder|chart|curve|trial|entry|layer) for each\b"
        r"|, as (?:a|an|in|of|with|where|by|for|libpq|psql|pyenv|gprof|on|from|one|those|that|when|what|at|if|[a-z]+ing)\b(?! (?:well|long|soon|much|result|follows|opposed))",
    ),
    "P14": (
        "coined or archaic noun",
        r"\b(?:[Ll]aborator(?:y|ies)|workplace|[Kk]eepers?|claims\.py|harness(?:'s)?|sightings?|\w* ?[Ff]loors|circles?|knots?|laws?(?= is)|ends? of the (?:interval|two)|affair|kin|mood|catalogue|look-ups?|folder|takings?|doubts?|truth values?|whole numbers?|moments?(?= (?:at|when|for|only))|pieces?|figures?|texts?(?= (?:is|are|of|for|by|under|that))|works?(?= must)|reaches?|[Rr]ooms?|standings?|surroundings|remed(?:y|ies)|means(?= by)|shares?(?= of (?:the )?(?:time|machine|processor|clients)))\b",
    ),
    "P15": (
        "stand-in pronoun or possessive predicate: that of, those that, is the engine's",
        r"\b(?:that|those) of\b|\b(?:those|one|ones) (?:that|who|which|whose|there|with|in|at|above|below|of)\b(?! (?:a kind))|\b(?:[Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Bb]e|[Bb]ecomes?) (?:not )?(?:(?:the|a|an) )?(?:[\w-]+ )?[\w-]+(?:'s|s')(?: own)?(?: to [a-z]+)?(?=[.,;:)]| and | or |$)|\b(?:of|by|with|from|for|at) (?:them|these)\b(?= |[.,])|\bthe (?:former|latter|others?|rest)\b(?= (?:is|are|was|were|do|does|have|has|wait|go|sleep|[a-z]+s?\b)|[.,;:])",
    ),
    # Not prose, but what a reader stumbles over first.
    "X1": ("'95 %' with a space, and 'interval of 95 %'", r"\b\d+(?:\.\d+)? %|\binterval of \d"),
    "X2": (
        "wrong article: 'a error'",
        r"\b[Aa] (?:error|entry|engine|experiment|index|interval|option|update|insert|event|answer|other)\b",
    ),
}

COMPILED = {name: (title, re.compile(regex, re.M)) for name, (title, regex) in PATTERNS.items()}
KINDS = ("docs", "help", "messages", "docstrings", "comments", "commits")


@dataclass
class Piece:
    """A run of prose with the line it begins on."""

    path: str
    line: int
    kind: str
    text: str


@dataclass
class Hit:
    path: str
    line: int
    kind: str
    pattern: str
    match: str
    sentence: str


def words(text: str) -> int:
    return len(re.findall(r"[A-Za-z][A-Za-z'-]+", text))


def _clean(text: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>\s][^>]*>", "", text)
    return re.sub(r"\s+", " ", text).strip()


def markdown(path: Path, shown: str) -> Iterator[Piece]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    block: list[str] = []
    begun, fenced, front = 0, False, bool(lines) and lines[0] == "---"
    for number, line in enumerate([*lines, ""], 1):
        if front:
            front = number == 1 or line != "---"
            continue
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        stripped = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.) ", stripped)
        table = stripped.startswith("|")
        code = line.startswith("    ") and not block
        ends = (
            not stripped
            or item
            or table
            or stripped.startswith("#")
            or code
            or stripped.startswith(("!!!", "???", "<"))
        )
        if ends and block:
            yield Piece(shown, begun, "docs", _clean(" ".join(block)))
            block = []
        if not stripped or code or stripped.startswith("#") or re.fullmatch(r"[|:\- ]+", stripped):
            continue
        if table:
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if words(cell) >= 4:
                    yield Piece(shown, number, "docs", _clean(cell))
            continue
        if not block:
            begun = number
        block.append(stripped[item.end() :] if item else stripped)


def _prose(text: str) -> bool:
    """Whether a string literal is a sentence for people."""
    if (
        words(text) < 4
        or "\n" in text.strip()
        or re.match(
            r"\s*(?:select|insert|update|delete|create|with|pragma|explain|alter|set|show|drop|begin) ", text, re.I
        )
    ):
        return False
    if re.search(r"[{}<>\\]{3}|://\S+$|^[\w./-]+$|\bSELECT\b", text):
        return False
    return bool(re.search(r"[a-z]{2,} [a-z]{2,}", text))


def python(path: Path, shown: str) -> Iterator[Piece]:
    source = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    docs: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs.add(id(node.value))
            for offset, part in _paragraphs(node.value.value):
                yield Piece(shown, node.lineno + offset, "docstrings", _clean(re.sub(r":\w+:`[^`]*`|``", "`", part)))
    helps: set[int] = set()
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in ("help", "epilog", "short_help"):
                    helps.update(id(each) for each in ast.walk(keyword.value))
        if isinstance(node, ast.JoinedStr):
            inner.update(id(each) for each in ast.walk(node) if each is not node)
    for node in ast.walk(tree):
        if id(node) in docs or id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "X" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _prose(text):
            yield Piece(shown, node.lineno, "help" if id(node) in helps else "messages", _clean(text))
    held: list[str] = []
    begun = last = 0
    try:
        tokens = [
            each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, IndentationError):
        return
    for each in [*tokens, None]:
        if each is None or (held and each.start[0] != last + 1):
            if held and words(" ".join(held)) >= 3:
                yield Piece(shown, begun, "comments", _clean(" ".join(held)))
            held = []
        if each is None:
            break
        text = each.string.lstrip("#! ")
        if re.match(r"(noqa|type:|pragma|fmt:|ruff|mypy|nosec|isort)", text):
            last = each.start[0]
            continue
        if not held:
            begun = each.start[0]
        held.append(text)
        last = each.start[0]


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    offset, held, begun = 0, [], 0
    for offset, line in enumerate([*text.splitlines(), ""]):
        if line.strip():
            if not held:
                begun = offset
            held.append(line.strip())
        elif held:
            yield begun, " ".join(held)
            held = []


def hashed(path: Path, shown: str, marker: str = "#") -> Iterator[Piece]:
    """Comments of TOML, Make, shell."""
    held: list[str] = []
    begun = 0
    for number, line in enumerate([*path.read_text(encoding="utf-8", errors="replace").splitlines(), ""], 1):
        found = re.match(rf"\s*{marker}+ ?(.*)", line)
        if found and not line.startswith("#!"):
            if not held:
                begun = number
            held.append(found[1])
        elif held:
            if words(" ".join(held)) >= 3:
                yield Piece(shown, begun, "comments", _clean(" ".join(held)))
            held = []


def rust(path: Path, shown: str) -> Iterator[Piece]:
    held: list[str] = []
    begun, kind = 0, "comments"
    for number, line in enumerate([*path.read_text(encoding="utf-8", errors="replace").splitlines(), ""], 1):
        found = re.match(r"\s*(//[/!]?)\s?(.*)", line)
        if found and found[2].strip():
            now = "docstrings" if found[1] != "//" else "comments"
            if held and now != kind:
                yield Piece(shown, begun, kind, _clean(" ".join(held)))
                held = []
            if not held:
                begun, kind = number, now
            held.append(found[2])
            continue
        if held:
            if words(" ".join(held)) >= 3:
                yield Piece(shown, begun, kind, _clean(" ".join(held)))
            held = []
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            if _prose(text):
                yield Piece(shown, number, "messages", _clean(re.sub(r"\{[^}]*\}", "X", text)))


def commits(root: Path, limit: int) -> Iterator[Piece]:
    done = subprocess.run(
        ["git", "-C", str(root), "log", f"-{limit}", "--no-merges", "--format=%h %s"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        sha, _, subject = line.partition(" ")
        yield Piece(f"commit {sha}", 0, "commits", subject)


READERS = {".md": markdown, ".py": python, ".rs": rust, ".toml": hashed, ".mk": hashed, ".sh": hashed}


def pieces(root: Path, files: list[str], limit: int) -> Iterator[Piece]:
    if not files:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False
        ).stdout.split("\n")
        files = [each for each in listed if each] or [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
        yield from commits(root, limit)
    for name in files:
        path = root / name
        reader = hashed if path.name == "Makefile" else READERS.get(path.suffix)
        # Its own patterns and names would count.
        if reader and path.is_file() and "/vendor/" not in name and path.name != "prose_check.py":
            yield from reader(path, name)


def sentences(text: str) -> Iterator[str]:
    yield from (each for each in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"(])", text) if each.strip())


def find(piece: Piece, wanted: set[str]) -> Iterator[Hit]:
    # Code in backquotes is one word to the patterns; what it says is not prose.
    for sentence in sentences(piece.text):
        masked = re.sub(r"`[^`]*`", lambda found: "`" + "c" * max(len(found[0]) - 2, 1) + "`", sentence)
        for name, (_, regex) in COMPILED.items():
            if name in wanted:
                for found in regex.finditer(masked):
                    yield Hit(
                        piece.path,
                        piece.line,
                        piece.kind,
                        name,
                        sentence[found.start() : found.end()].strip(),
                        sentence,
                    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--pattern", default="")
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--tests", action="store_true", help="include tests/ and benches/")
    parser.add_argument("--max", type=int, default=-1)
    asked = parser.parse_intermixed_args()
    kinds = set(asked.only.split(","))
    wanted = set(asked.pattern.split(",")) if asked.pattern else {each for each in PATTERNS if each.startswith("P")}
    hits: list[Hit] = []
    read: collections.Counter[str] = collections.Counter()
    by_page: collections.Counter[str] = collections.Counter()
    for piece in pieces(asked.root, asked.files, asked.commits):
        if piece.kind not in kinds or (
            not asked.tests and not asked.files and re.match(r"(tests|benches)/|.*/tests?[/.]|.*_test\.rs", piece.path)
        ):
            continue
        read[piece.kind] += words(piece.text)
        by_page[piece.path] += words(piece.text)
        hits += find(piece, wanted)
    if asked.pages:
        of_page = collections.Counter(each.path for each in hits)
        rows = [
            (1000 * of_page[page] / max(count, 1), page, of_page[page], count)
            for page, count in by_page.items()
            if page.endswith(".md")
        ]
        for rate, page, found, count in sorted(rows, reverse=True):
            print(f"{rate:6.1f}  {found:5d} hits  {count:6d} words  {page}")
    elif asked.summary:
        head = "".join(f"{kind:>11}" for kind in KINDS if kind in kinds)
        print(f"{'pattern':58}{head}      total  per 1,000 words")
        total_words = sum(read.values())
        for name, (title, _) in PATTERNS.items():
            if name in wanted:
                counts = collections.Counter(each.kind for each in hits if each.pattern == name)
                cells = "".join(f"{counts[kind]:11,d}" for kind in KINDS if kind in kinds)
                print(
                    f"{name + ' ' + title:58.58}{cells}{sum(counts.values()):11,d}  {1000 * sum(counts.values()) / max(total_words, 1):8.2f}"
                )
        cells = "".join(f"{sum(each.kind == kind for each in hits):11,d}" for kind in KINDS if kind in kinds)
        print(f"{'all':58}{cells}{len(hits):11,d}  {1000 * len(hits) / max(total_words, 1):8.2f}")
        cells = "".join(f"{read[kind]:11,d}" for kind in KINDS if kind in kinds)
        print(f"{'words':58}{cells}{total_words:11,d}")
        cells = "".join(
            f"{1000 * sum(each.kind == kind for each in hits) / max(read[kind], 1):11.1f}"
            for kind in KINDS
            if kind in kinds
        )
        print(f"{'hits per 1,000 words':58}{cells}")
    else:
        shown = random.Random(asked.seed).sample(hits, min(asked.sample, len(hits))) if asked.sample else hits
        for each in shown:
            where = f"{each.path}:{each.line}" if each.line else each.path
            print(f"{where}: [{each.pattern}] «{each.match}» {each.sentence}")
    return 1 if 0 <= asked.max < len(hits) else 0


if __name__ == "__main__":
    sys.exit(main())
