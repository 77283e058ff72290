"""Create an experiment from a SQL file whose statements are measured separately, with values for their parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines.fixes import StatementFacts
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.sql_lexer import Kind, Token, placeholders, significant, tokenize
from dbdyno.engines.statements import bind
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.factors import QUERY_FACTOR
from dbdyno.experiment.parameter_values import HINT, Generator, base_of, named_base, order_of, read_values, with_rows
from dbdyno.experiment.sql_file import Block, Pause, Statement, split_statements
from dbdyno.experiment.substitute import escape
from dbdyno.experiment.toml_text import write_toml
from dbdyno.model.experiment.sql import ANY
from dbdyno.model.experiment.validation import nearest

_OPERATOR_CHARACTERS = "+-*/<>=~!@#%^&|`?"

_WARMUP_S, _WINDOW_S = 0.1, 0.5
_MAX_QUERIES = 200
_NUMBER = re.compile(r" \d+$")

# First words of statements that affect only the transaction or the session.
_ENDS_OR_BEGINS = frozenset(("abort", "begin", "commit", "end", "rollback", "start"))
_TRANSACTION = _ENDS_OR_BEGINS | {"release", "savepoint"}
_SESSION = frozenset(
    ("close", "deallocate", "declare", "discard", "execute", "fetch", "move", "prepare", "reset", "set", "use")
)

# Second words of such statements that have other effects; the write guard checks these statements.
_BEYOND_SESSION = frozenset(("global", "immediate", "password", "persist", "persist_only", "statement"))


@dataclass(frozen=True)
class Query:
    """A statement, with `?` for each parameter. ``line``: its first line. ``values``: parameter values of the file.

    ``weight``: how often it is executed, in proportion to all weights. ``block``: the transaction that it is in.
    ``before``, ``after``: pauses of a client. ``controls``: it begins or ends a transaction. ``into``: parameters of
    later statements of the transaction, which get the columns of its first row. ``comments``, ``head``, ``levels``: of
    the file.
    """

    name: str
    sql: str
    parameters: tuple[str, ...]
    line: int
    values: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0
    block: Block | None = None
    before: tuple[Pause, ...] = ()
    after: tuple[Pause, ...] = ()
    controls: bool = False
    into: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)


def read_queries(text: str, location: str, engine: str) -> list[Query]:
    """Read statements that end with `;`, with the lexical rules of an engine. ``any`` means SQLite's.

    In transactions of the file (``-- transaction: NAME``), controls and savepoints are left out. ``location``: the
    file, for errors. Raises InputError.
    """
    made = read_statements(text, location, engine)
    return [query for query in made if not (query.controls or is_savepoint(query.sql, engine))]


def read_statements(text: str, location: str, engine: str) -> list[Query]:
    """Read all statements of a file; see :func:`read_queries`."""
    queries: list[Query] = []
    controls: list[Query] = []
    made: list[Query] = []
    for statement in split_statements(text, location, engine):
        name = statement.name or f"q{len(queries) + 1}"
        made.append(_query(statement, name, f"{location}, line {statement.line}: {name}", engine))
        (controls if made[-1].controls else queries).append(made[-1])
    if not queries:
        raise InputError(location, "no statement found", "write statements that end with `;`")
    if len(queries) > _MAX_QUERIES:
        raise InputError(location, f"{len(queries)} statements; the limit is {_MAX_QUERIES}", "split the file")
    names = [query.name for query in queries]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise InputError(location, f"two statements are named {twice}", "give each a unique name")
    return made


def merged(queries: Sequence[Query]) -> list[Query]:
    """Return each statement once, with the weight of all its copies, such as the repetitions of a loop.

    Names of copies differ only in a number at the end.
    """
    made: dict[tuple[str, str], Query] = {}
    for query in queries:
        key = query.sql, _NUMBER.sub("", query.name)
        known = made.get(key)
        if known is None:
            values = {name: query.values[name] for name in drawn_parameters(query) if name in query.values}
            made[key] = replace(query, values=values)
        else:
            made[key] = replace(known, weight=known.weight + query.weight)
    return list(made.values())


def is_savepoint(text: str, engine: str) -> bool:
    """Whether a statement sets or releases a savepoint, or goes back to one: outside of transactions, it can't."""
    words = [token.text.lower() for token in significant(tokenize(text, known_engine(engine).syntax))[:3]]
    return words[:1] in (["savepoint"], ["release"]) or (words[:1] == ["rollback"] and "to" in words)


def _query(statement: Statement, name: str, location: str, engine: str) -> Query:
    """Replace the parameters of a statement; the rest is unchanged. Raises InputError."""
    text, syntax = statement.text, known_engine(engine).syntax
    tokens = significant(tokenize(text, syntax))
    controls = statement.block is not None and _is_control(tokens)
    if not controls:
        _refuse_session_statement(tokens, text, location, is_alone=statement.block is None)
    if syntax.question_operators:
        _refuse_psql_variable(tokens, location)
    parameters: list[str] = []
    pieces: list[str] = []
    start = 0
    for token in placeholders(text, syntax):
        if token.text[0] == ":" and not token.text[1].isdigit():
            parameters.append(token.text[1:])
            pieces += [text[start : token.start], f"${len(parameters)}" if syntax.question_operators else "?"]
            start = token.end
        elif syntax.question_operators and token.text == "?" and _is_operator(token, tokens):
            continue
        elif not (syntax.session_variables and _is_set_here(token, tokens)):
            name_of = token.text.strip("?:$@%()s") or "name"
            name_of = name_of if name_of.isidentifier() else f"p{name_of}"
            hint = (
                f"write `:{name_of}` instead, and its values as `-- :{name_of} = 1..1000` or `--set {name_of}=1..1000`"
            )
            raise InputError(location, f"no values for `{token.text}`", hint)
    sql = "".join([*pieces, text[start:]])
    if bind(sql, engine, len(parameters)) is None:
        raise InputError(location, "a parameter directly follows an operand", "write it in parentheses: `(:name)`")
    return Query(
        name,
        sql,
        tuple(parameters),
        statement.line,
        statement.values,
        statement.weight,
        statement.block,
        statement.before,
        statement.after,
        controls,
        statement.into,
        statement.comments,
        statement.head,
        statement.levels,
    )


def _is_control(tokens: Sequence[Token]) -> bool:
    """Whether a statement begins or ends a transaction. `rollback to` a savepoint does not."""
    words = [token.text.lower() for token in tokens[:3]]
    if not words or words[0] not in _ENDS_OR_BEGINS or words[1:2] == ["prepared"]:
        return False
    if words[0] == "start":
        return words[1:2] == ["transaction"]
    return not (words[0] == "rollback" and "to" in words)


def _refuse_session_statement(tokens: Sequence[Token], text: str, location: str, *, is_alone: bool) -> None:
    """Raise InputError for a statement without an effect outside its own transaction or session.

    ``is_alone``: it is outside of the transactions that the file names.
    """
    words = [token.text.lower() for token in tokens[:4]]
    if len(words) > 1 and words[1] in _BEYOND_SESSION:
        return
    shown = " ".join(text.split())
    first = words[0] if words else ""
    if is_alone and first in _TRANSACTION and (first != "start" or words[1:2] == ["transaction"]):
        problem = f"`{shown}` has no effect: each statement is a separate transaction"
        hint = "write `-- transaction: NAME` above the statements of a transaction, and run the file with `--mix`"
        raise InputError(location, problem, hint)
    if first in _SESSION or (first == "create" and {"temp", "temporary"} & set(words[1:])):
        problem = f"`{shown}` has no effect: each statement has a separate session"
        hint = "give the database and its settings in the URL"
        raise InputError(location, problem, hint)


def _refuse_psql_variable(tokens: Sequence[Token], location: str) -> None:
    """Raise InputError for psql's `:'name'` and `:"name"`, which PostgreSQL doesn't support."""
    brackets = 0
    for colon, quoted in pairwise(tokens):
        brackets += {"[": 1, "]": -1}.get(colon.text, 0)
        is_glued = colon.text == ":" and colon.end == quoted.start
        # In brackets it is a slice.
        if is_glued and quoted.kind in (Kind.STRING, Kind.NAME) and brackets == 0:
            name = quoted.text[1:-1]
            hint = f"write `:{name}`" if quoted.kind is Kind.STRING and name.isidentifier() else "write the value"
            raise InputError(location, f"`:{quoted.text}` is a variable of psql, not SQL", hint)


def _is_operator(mark: Token, tokens: Sequence[Token]) -> bool:
    """Whether a `?` is an operator: part of a longer one, or between a column and an operand."""
    at = next(index for index, token in enumerate(tokens) if token.start == mark.start)
    before, after = tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None:
        return False
    is_longer = after.start == mark.end and after.text[0] in _OPERATOR_CHARACTERS
    is_operand = after.kind in (Kind.STRING, Kind.NAME, Kind.NUMBER, Kind.PLACEHOLDER) or after.text in ("(", "$")
    return is_longer or (before.kind is Kind.WORD and is_operand)


def _is_set_here(variable: Token, tokens: Sequence[Token]) -> bool:
    """Whether a statement itself sets a session variable."""
    name = variable.text.lower()
    pairs = [(left.text.lower(), right.text.lower()) for left, right in pairwise(tokens)]
    return (name, ":=") in pairs or ("into", name) in pairs


def queries_experiment(
    queries: Sequence[Query],
    given: Mapping[str, str],
    location: str,
    engine: str = ANY,
    *,
    keeps_data: bool = False,
) -> Experiment:
    """Create an experiment that measures each statement with one client on an existing database.

    ``given``: values of parameters, which override those of the file. ``engine``: the engine the statements are written
    for, or ``any`` to translate them. ``keeps_data``: see :func:`experiment_of_levels`. Raises InputError.
    """
    levels = statement_levels(queries, given, location)
    has_mix = any(query.block is not None or query.weight != 1 for query in queries)
    hint = " `dbdyno run --mix` measures the file as one workload." if has_mix else ""
    weights = {query.name: query.weight for query in queries} if has_mix else {}
    head = {
        "name": "queries",
        "title": f"Statements of {Path(location).name}",
        "question": f"What does each statement of {Path(location).name} take?{hint}",
        # The statements are given (load); the user chooses the system.
        "report": {
            "roles": {QUERY_FACTOR: "load"},
            "questions": [QUERY_FACTOR],
            "times": True,
            **({"weights": weights} if weights else {}),
        },
    }
    return experiment_of_levels(head, levels, location, engine, keeps_data=keeps_data)


def experiment_of_levels(
    head: Mapping[str, Any],
    levels: Mapping[str, Mapping[str, Any]],
    location: str,
    engine: str,
    *,
    keeps_data: bool = False,
) -> Experiment:
    """Create an experiment whose factor is the statement; see :func:`queries_experiment`.

    Each execution of a ``delete`` is rolled back, since later ones would find no rows. ``keeps_data``: so is each
    execution of every statement that changes rows.
    """
    steps = {}
    for name, level in levels.items():
        text = level["sql"] if engine == ANY else {engine: level["sql"]}
        made = [*level["sets"], {"execute": text, "params": level["params"]}]
        facts = StatementFacts(name, level["sql"])
        if facts.deletes or (keeps_data and facts.writes):
            control = {} if engine != ANY else {"optional": True}
            made = [{"begin": "deferred", **control}, *made, {"rollback": True, **control}]
        steps[name] = {"steps": made}
    data = {
        **head,
        **({"dialect": "sqlite"} if engine == ANY else {}),
        "rounds": "auto",
        "factors": {QUERY_FACTOR: escape(steps)},
        "load": {"warmup": {"seconds": _WARMUP_S}, "stop": {"seconds": _WINDOW_S}},
        "measure": {"label": "executions", "estimates": True},
        "transactions": [{"name": "statement", "steps": f"${{{QUERY_FACTOR}.steps}}"}],
    }
    return make_experiment(parse(write_toml(data), location, Path()))


def statement_levels(queries: Sequence[Query], given: Mapping[str, str], location: str) -> dict[str, dict[str, Any]]:
    """Return the statements with generators for their parameters, by name; see :func:`queries_experiment`."""
    check_parameters(queries, given, location)
    return {
        query.name: {
            "sql": query.sql,
            **_drawn(
                {name: generator_of(query, name, given, location) for name in drawn_parameters(query, given)},
                query.parameters,
                f"{location}, line {query.line}: {query.name}",
            ),
        }
        for query in queries
    }


def drawn_parameters(query: Query, given: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return the parameters of a statement, and other parameters to which they are relative."""
    values = {**query.values, **given}
    names = list(dict.fromkeys(query.parameters))
    for name in names:
        base = named_base(values.get(name, ""))
        names += [base] if base in values and base not in names else []
    return names


def generator_of(query: Query, name: str, given: Mapping[str, str], location: str) -> Generator:
    """Return the generator of a parameter's values. Raises InputError if it has none, or they are invalid."""
    words = given.get(name, query.values.get(name))
    where = f"{location}, line {query.line}: {query.name}"
    if words is None:
        hint = f"write `-- :{name} = 1..1000` above it, or give `--set {name}=1..1000`; other forms: {HINT[6:]}"
        raise InputError(where, f":{name} has no values", hint)
    return read_values(words, f"{where}: :{name}")


def check_parameters(
    queries: Sequence[Query], given: Mapping[str, str], location: str, factors: Sequence[str] = ()
) -> None:
    """Raise InputError for values of a parameter that no statement has. ``factors``: other names that `--set` takes."""
    parameters = list(dict.fromkeys(name for query in queries for name in query.parameters))
    unused = sorted(set(given) - set(parameters))
    if unused:
        known = [*factors, *parameters]
        hint = nearest(unused[0], known) if known else "write `:name` instead of a value to define one"
        raise InputError("--set", f"no statement has a parameter :{unused[0]}", hint)
    named = {name for query in queries for name in query.values} - {
        name for query in queries for name in drawn_parameters(query)
    }
    if named:
        problem = f"no statement has a parameter :{min(named)}, for which the file gives values"
        raise InputError(location, problem, "remove the comment, or write the parameter into a statement")


def _drawn(generators: Mapping[str, Generator], parameters: Sequence[str], location: str) -> dict[str, Any]:
    """Return generators for a statement's `?`. A parameter that is used several times is set once, by a step."""
    generators = with_rows(generators, location)
    ordered = order_of(generators, location)
    if len(generators) == len(parameters) and all(base_of(generators[name]) is None for name in ordered):
        return {"sets": [], "params": [generators[name] for name in parameters]}
    sets = [{"set": name, "value": generators[name]} for name in ordered]
    return {"sets": sets, "params": [{"variable": name} for name in parameters]}


def as_query(text: str, name: str, engine: str) -> Query | None:
    """Parse a single statement; ``None`` if it is empty. Raises InputError for several."""
    if not text.strip():
        return None
    statements = list(split_statements(text, name, engine))
    if not statements:
        return None
    if len(statements) > 1:
        problem = f"{len(statements)} statements in one argument"
        raise InputError(name, problem, "give each in its own argument, or a file to `dbdyno queries`")
    return replace(_query(statements[0], name, name, engine), values={})
