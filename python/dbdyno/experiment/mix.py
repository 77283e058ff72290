"""Create an experiment that runs a SQL file as one workload: its transactions by weight, by several clients."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.experiment.control_statements import CONTROLS
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import Experiment, make_experiment
from dbdyno.experiment.factors import MIX_FACTORS
from dbdyno.experiment.parameter_values import Generator, base_of, order_of, read_pause, with_rows
from dbdyno.experiment.queries import Query, check_parameters, drawn_parameters, generator_of
from dbdyno.experiment.substitute import escape
from dbdyno.experiment.toml_text import COMMENT, write_toml
from dbdyno.model.experiment.sql import ANY

_SECONDS = 5
_WARMUP_SECONDS = 1
# As the drivers of several languages set it. Servers wait for locks longer.
_BUSY_TIMEOUT_MS = 5_000

_BEGIN = "${begin}"
_SHOWN = 60

Step = dict[str, Any]


def mix_experiment(
    statements: Sequence[Query],
    given: Mapping[str, str],
    location: str,
    engine: str = ANY,
) -> Experiment:
    """Create an experiment that runs the statements of a file as one workload on an existing database.

    A statement outside of the file's transactions is a transaction by itself. ``statements``: with those that begin and
    end transactions. ``given``: values of parameters, which override those of the file. ``engine``: the engine the
    statements are written for, or ``any`` to translate them. Raises InputError.
    """
    document = mix_document(statements, given, location, engine)
    return make_experiment(parse(write_toml(document), location, Path()))


def mix_document(
    statements: Sequence[Query], given: Mapping[str, str], location: str, engine: str = ANY
) -> dict[str, Any]:
    """Return the document of the experiment, with the comments of the file; see :func:`mix_experiment`."""
    queries = [statement for statement in statements if not statement.controls]
    for query in queries:
        for name in set(query.parameters) & set(MIX_FACTORS):
            where = f"{location}, line {query.line}: {query.name}"
            raise InputError(where, f"`{name}` is a factor of a mix, not a parameter", f"rename `:{name}`")
    check_parameters(queries, given, location, MIX_FACTORS)
    transactions: list[dict[str, Any]] = []
    for block, group in groupby(statements, key=lambda query: query.block or query.line):
        members = list(group)
        name = members[0].name if isinstance(block, int) else block.name
        steps = _Transaction(members, given, location, engine).steps()
        transactions.append({COMMENT: _about(members), "name": name, "weight": members[0].weight, "steps": steps})
    _check_transactions(transactions, location)
    factors: dict[str, Any] = {"clients": [1], "seconds": [_SECONDS], "prepare": ["once"], "connect": ["once"]}
    factors |= {name: [level] for name, level in statements[0].levels.items()}
    if any(step.get("begin") == _BEGIN for transaction in transactions for step in transaction["steps"]):
        factors["begin"] = ["deferred"]
    return {
        COMMENT: statements[0].head,
        "name": "mix-" + re.sub(r"[^A-Za-z0-9._-]+", "-", Path(location).stem),
        "title": f"Workload of {Path(location).name}",
        "question": f"How many transactions of {Path(location).name} per second, and where does their time go?",
        **({"dialect": "sqlite"} if engine == ANY else {}),
        "factors": factors,
        "system": {"sqlite": {"busy_timeout": _BUSY_TIMEOUT_MS}},
        "load": {
            "clients": "${clients}",
            "prepare": "${prepare}",
            "connect": "${connect}",
            "warmup": {"seconds": _WARMUP_SECONDS},
            "stop": {"seconds": "${seconds}"},
        },
        "report": {
            "x": "clients",
            "operations": True,
            "weights": {query.name: query.weight for query in queries},
        },
        "transactions": transactions,
    }


def _about(members: Sequence[Query]) -> list[str]:
    """Return the comments about a transaction. A statement outside of transactions has all of its comments."""
    first = members[0]
    if first.block is not None:
        return list(first.block.comments)
    return [*(each for pause in first.before for each in pause.comments), *first.comments]


def _check_transactions(transactions: Sequence[Mapping[str, Any]], location: str) -> None:
    names = Counter(each["name"] for each in transactions)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise InputError(location, f"a transaction and a statement are named {twice}", "give each a unique name")
    if not any(each["weight"] for each in transactions):
        raise InputError(location, "all weights are 0", "give a transaction or a statement a weight above 0")


class _Transaction:
    """Makes the steps of one transaction."""

    def __init__(self, members: Sequence[Query], given: Mapping[str, str], location: str, engine: str) -> None:
        self._members = members
        self._given = given
        self._location = location
        self._engine = engine
        self._uses = Counter(name for member in members for name in member.parameters)
        self._generators: dict[str, Generator] = {}
        # Parameters to which others are relative.
        self._bases: set[str | None] = set()
        # Parameters whose values are results of a statement.
        self._results: set[str] = set()

    def steps(self) -> list[Step]:
        """Return the steps: values that several places share, and the statements between `begin` and `commit`.

        Pauses above the first statement and below the last one are outside of the transaction, unless the file itself
        begins and ends it.
        """
        members, block = self._members, self._members[0].block
        for member in members:
            for name in drawn_parameters(member, self._given):
                if name not in self._results:
                    self._read(member, name)
            self._add_results(member)
        where = f"{self._location}, line {members[0].line}: {members[0].name}"
        self._generators = with_rows(self._generators, where)
        self._bases = {base_of(made) for made in self._generators.values()}
        sets = [
            {COMMENT: self._about(name), "set": name, "value": self._generators[name]}
            for name in order_of(self._generators, where)
            if self._is_set(name)
        ]
        if block is None or block.is_request or any(member.controls for member in members):
            made = [step for member in members for step in (*self._pauses(member.before), self._step(member))]
            self._check_ends()
        else:
            inside = [step for member in members[1:] for step in (*self._pauses(member.before), self._step(member))]
            control = {} if self._engine != ANY else {"optional": True}
            made = [
                *self._pauses(members[0].before),
                {"begin": _BEGIN, **control},
                self._step(members[0]),
                *inside,
                {"commit": True, **control},
            ]
        return [*sets, *made, *self._pauses(members[-1].after)]

    def _is_set(self, name: str) -> bool:
        """Whether a step above the statements stores a parameter's value, because several places use it."""
        return name in self._generators and (self._uses[name] > 1 or name in self._bases)

    def _about(self, name: str) -> list[str]:
        """Return the comments about a parameter: they begin with its name in backticks."""
        comments = [each for member in self._members if member.block is not None for each in member.comments]
        return [each for each in comments if each.startswith(f"`{name}`:")]

    def _read(self, query: Query, name: str) -> None:
        """Read the values of a parameter, which are the same for the whole transaction. Raises InputError."""
        made = generator_of(query, name, self._given, self._location)
        if self._generators.setdefault(name, made) != made:
            where = f"{self._location}, line {query.line}: {query.name}"
            problem = f":{name} has other values than above in the same transaction, which draws it once"
            raise InputError(where, problem, "give one of the two parameters another name")

    def _add_results(self, query: Query) -> None:
        """Take the results of a statement for later ones. Raises InputError."""
        where = f"{self._location}, line {query.line}: {query.name}"
        twice = next((name for name in query.into if name in self._results or name in self._generators), None)
        if twice is not None:
            problem = f":{twice} has a value before `-- into:` gives it the result of this statement"
            raise InputError(where, problem, "rename the parameter of `-- into:`")
        if query.into and not any(self._uses[name] for name in query.into):
            hint = f"write `:{query.into[0]}` into a later one, or remove `-- into:`"
            raise InputError(where, "no later statement of the transaction uses its result", hint)
        self._results.update(query.into)

    def _step(self, query: Query) -> Step:
        if query.controls:
            return self._control(query)
        text = escape(query.sql)
        params = [
            {"variable": name} if name in self._results or self._is_set(name) else self._generators[name]
            for name in query.parameters
        ]
        elsewhere = [each for name in self._generators if self._is_set(name) for each in self._about(name)]
        about = [each for each in query.comments if query.block is not None and each not in elsewhere]
        step: Step = {
            COMMENT: about,
            "execute": text if self._engine == ANY else {self._engine: text},
            "name": escape(query.name),
        }
        if query.into:
            step["into"] = list(query.into)
        return {**step, "params": escape(params)} if params else step

    def _control(self, query: Query) -> Step:
        """Return the step for a statement that begins or ends a transaction. Raises InputError."""
        words = " ".join(query.sql.split())
        for verb, pattern in CONTROLS.items():
            match = pattern.fullmatch(words)
            if match is None:
                continue
            if verb != "begin":
                if match["further"] and not match["no"]:
                    break
                return {verb: True}
            if match["further"]:
                # Plans don't support modes of isolation, so send the statement itself.
                return {"execute": {self._engine: escape(query.sql)}, "name": words}
            return {"begin": match["lock"].lower() if match["lock"] else _BEGIN}
        hint = "write `begin`, `commit` or `rollback`, with modes such as `begin immediate`"
        where = f"{self._location}, line {query.line}"
        raise InputError(where, f"dbdyno doesn't support `{shortened(words, _SHOWN)}` in a mix", hint)

    def _check_ends(self) -> None:
        """Raise InputError for a transaction that is begun twice, not ended, or ended without a beginning."""
        open_line: int | None = None
        for member in self._members:
            if not member.controls:
                continue
            begins = member.sql.split(maxsplit=1)[0].lower() in ("begin", "start")
            where = f"{self._location}, line {member.line}"
            if begins and open_line is not None:
                raise InputError(where, f"line {open_line} has begun a transaction already", "end it first")
            if not begins and open_line is None:
                raise InputError(where, "no statement above it begins the transaction", "write `begin;` first")
            open_line = member.line if begins else None
        if open_line is not None:
            problem = "the transaction that begins here isn't ended"
            raise InputError(f"{self._location}, line {open_line}", problem, "add `commit;`")

    def _pauses(self, pauses: Sequence[Any]) -> list[Step]:
        return [
            {
                COMMENT: pause.comments if self._members[0].block is not None else (),
                "think": read_pause(pause.words, f"{self._location}, line {pause.line}"),
                "unit": "us",
            }
            for pause in pauses
        ]
