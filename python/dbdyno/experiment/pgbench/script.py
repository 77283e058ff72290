"""Compile a pgbench script to the steps of a transaction of an experiment."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.sql_lexer import UnterminatedError, placeholders, tokenize
from dbdyno.experiment.control_statements import CONTROLS
from dbdyno.experiment.pgbench.lexer import POSTGRESQL, Meta, Quoted, Sql, Variable, commands
from dbdyno.experiment.pgbench.results import result_columns
from dbdyno.experiment.substitute import escape
from dbdyno.model.experiment.expression import (
    AUTOMATIC,
    NAME,
    ExpressionError,
    parse_expression,
    read_constant,
    substitute_variables,
)

Step = dict[str, Any]

# Each level of conditions is two levels of the plan's JSON, whose nesting is limited to 128 levels.
MAX_CONDITIONS = 16

_LIKE_CONTROL = re.compile(r"(?:begin|start transaction|commit|end|abort|rollback)\b", re.IGNORECASE)
_OTHER_CONTROL = re.compile(r"rollback(?: work| transaction)? to\b|(?:commit|rollback) prepared\b", re.IGNORECASE)
_SCHEMA_CHANGE = re.compile(r"(?:create|alter|drop|attach|detach)\b", re.IGNORECASE)

_SLEEP = re.compile(rf"(?:\+?(?P<time>[0-9]{{1,10}})|:(?P<variable>{NAME}))\s*(?P<unit>us|ms|s)?", re.IGNORECASE)
# Characters of a statement or an expression in a message.
_SHOWN = 60
_MAX_SLEEP_US = 2**31 - 1

_REFUSED = {
    "aset": r"end each statement with `;`, or with `\gset` to use its values",
    "setshell": r"the start of a program would be measured; use `\set` or `--define`",
    "shell": "the start of a program would be measured; leave it out",
    "startpipeline": "statements are sent individually; leave it out",
    "endpipeline": "statements are sent individually; leave it out",
    "syncpipeline": "statements are sent individually; leave it out",
}
_KNOWN = ("set", "if", "elif", "else", "endif", "sleep", "gset")


@dataclass(frozen=True)
class Presets:
    """The initial values of variables (``-D``), as strings by name."""

    texts: Mapping[str, str]

    def constant(self, name: str) -> str | None:
        """Return the value in the syntax of expressions, or ``None`` if it is not a constant."""
        try:
            value = read_constant(self.texts[name])
        except ValueError:
            return None
        return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)

    def value(self, name: str) -> Any:
        """Return the value as a generator of an experiment."""
        try:
            value = read_constant(self.texts[name])
        except ValueError:
            return escape(self.texts[name])
        return {"null": True} if value is None else value


@dataclass
class _Condition:
    line: int
    step: Step
    levels: int
    ended: bool = False


@dataclass
class Script:
    """A compiled script. ``begins``: it has a plain ``BEGIN``. ``changes_schema``: it creates or changes tables.

    ``own``: statements that only PostgreSQL supports, each with its line. ``used``: the variables it sets or reads.
    """

    steps: list[Step] = field(default_factory=list)
    begins: bool = False
    changes_schema: bool = False
    own: list[tuple[int, str]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def assigned_variables(text: str, location: str) -> set[str]:
    r"""Return the variables that a script sets with ``\set`` and ``\gset``. Raises InputError."""
    names: set[str] = set()
    statement: Sql | None = None
    for command in commands(text, location):
        if isinstance(command, Sql):
            statement = command
            continue
        if command.name == "set":
            names.update(command.arguments.split(maxsplit=1)[:1])
        elif command.name == "gset" and statement is not None:
            prefix = command.arguments
            names.update(prefix + column for column in result_columns(statement, f"{location}: line {command.line}"))
    return names


def read_script(
    text: str, location: str, *, presets: Presets, begin: str, dynamic: set[str], assigned: Collection[str] = ()
) -> Script:
    """Compile a script. ``begin``: the mode of a plain ``BEGIN``. ``dynamic``: presets that a script changes.

    ``assigned``: variables that any of the client's scripts sets. Raises InputError with file and line if the script is
    invalid or not supported.
    """
    reader = _Reader(location, presets, begin, dynamic, assigned)
    for command in commands(text, location):
        if isinstance(command, Sql):
            reader.sql(command)
        else:
            reader.meta(command)
    return reader.end()


class _Reader:
    def __init__(
        self, location: str, presets: Presets, begin: str, dynamic: set[str], assigned: Collection[str]
    ) -> None:
        self._location = location
        self._presets = presets
        self._begin = begin
        self._dynamic = dynamic
        self._varying = {*dynamic, *assigned, *AUTOMATIC}
        self._script = Script()
        self._steps = self._script.steps
        self._conditions: list[tuple[_Condition, list[Step]]] = []
        # The previous statement, which `\gset` may follow, and its step.
        self._last: tuple[Sql, Step] | None = None
        self._open: int | None = None
        self._known = set(dynamic)
        # Variables that the script uses. Hash functions use the seed implicitly, so it always counts as used.
        self._used = self._script.used
        self._used |= dynamic & set(AUTOMATIC)

    def end(self) -> Script:
        """Return the script after all commands have been added."""
        if self._conditions:
            raise self._wrong(self._conditions[-1][0].line, r"missing `\endif` for this `\if`", r"add `\endif`")
        if self._open is not None:
            raise self._wrong(self._open, "the transaction that begins here isn't ended", "add `END;` or `COMMIT;`")
        first = [
            {"set": name, "value": self._presets.value(name), "once": True}
            for name in sorted(self._used & self._dynamic)
        ]
        self._script.steps = [*first, *_tidy(self._script.steps)]
        if not any("execute" in step or "then" in step for step in self._script.steps):
            raise InputError(self._location, "no statement in the script", "add a statement that ends with `;`")
        return self._script

    def sql(self, statement: Sql) -> None:
        """Add a statement."""
        self._last = None
        control = self._control(statement)
        if control is not None:
            self._steps.append(control)
            return
        self._script.changes_schema |= _SCHEMA_CHANGE.match(statement.words) is not None
        texts, params = [], []
        for piece in statement.pieces:
            if isinstance(piece, Variable):
                inline, param = self._param(piece)
                texts.append(inline)
                params += [] if param is None else [param]
            else:
                texts.append(self._in_quotes(piece) if isinstance(piece, Quoted) else piece)
        text = "".join(texts)
        if engine_of(POSTGRESQL).places(text) != len(params):
            problem = "a `?` without a value"
            raise self._wrong(statement.line, problem, "write `:name`, or an operator between two operands")
        written = escape(text)
        step: Step = {"execute": written if _reads_alike(text, len(params)) else {POSTGRESQL: written}}
        step |= {"params": params} if params else {}
        self._steps.append(step)
        self._last = (statement, step)

    def _control(self, statement: Sql) -> Step | None:
        """Return the step for a statement that begins or ends a transaction, otherwise None."""
        for verb, pattern in CONTROLS.items():
            match = pattern.fullmatch(statement.words)
            if match:
                return self._step_of(verb, match, statement)
        if _LIKE_CONTROL.match(statement.words) and not _OTHER_CONTROL.match(statement.words):
            problem = f"`{shortened(statement.words, _SHOWN)}` is not valid in PostgreSQL"
            hint = "write `begin`, `commit` or `rollback`, with modes such as `isolation level serializable`"
            raise self._wrong(statement.line, problem, hint)
        return None

    def _step_of(self, verb: str, match: re.Match[str], statement: Sql) -> Step:
        further = bool(match["further"])
        if verb == "begin":
            self._open = self._open or statement.line
        else:
            further = further and not match["no"]
            # With `and chain`, the next transaction begins immediately.
            self._open = self._open if further else None
        if further:
            # Plans don't support these modes, so send the statement itself. After a failure, the session still rolls
            # back, because the server reports the state of the transaction.
            self._script.own.append((statement.line, statement.words))
            return {"execute": {POSTGRESQL: escape("".join(map(str, statement.pieces)))}}
        if verb != "begin":
            return {verb: True}
        lock = match["lock"]
        self._script.begins |= lock is None
        return {"begin": lock.lower() if lock else self._begin}

    def _in_quotes(self, quoted: Quoted) -> str:
        """Replace variables in a string or quoted name by constants, as pgbench's simple mode does."""
        values: dict[str, str] = {}
        for name in quoted.variables:
            if name in self._varying:
                problem = f"`:{name}` is inside quotes, so a value can't be bound to it"
                hint = f"write it outside, such as `'…' || :{name}`"
                raise self._wrong(quoted.line, problem, hint)
            if name in self._presets.texts:
                values[name] = self._presets.texts[name]
                self._used.add(name)
        return quoted.replaced(values)

    def _param(self, variable: Variable) -> tuple[str, Any]:
        """Return the replacement of a variable in a statement's text, and the bound value, if any."""
        name = variable.name
        self._used.add(name)
        if name in self._known:
            made: Any = {"variable": name}
        elif name in self._presets.texts:
            text = self._presets.texts[name]
            value = self._presets.value(name)
            # pgbench inserts the text into the statement. If it isn't a constant, it may be the name of a table.
            plain = not isinstance(value, bool) or text.lower() in ("true", "false")
            if variable.glued or isinstance(value, str) or not plain:
                return text, None
            made = value
        elif name in AUTOMATIC:
            made = {"expression": f":{name}"}
        else:
            raise self._unset(name, variable.line)
        if variable.glued:
            problem = f"`:{name}` is part of a longer name, so a value can't be bound to it"
            raise self._wrong(variable.line, problem, f"give it with `--define {name}=…`, or put a space before it")
        return "?", made

    def meta(self, command: Meta) -> None:
        """Add a backslash command."""
        last, self._last = self._last, None
        match command.name:
            case "set":
                self._set(command)
            case "if" | "elif" | "else" | "endif":
                self._condition(command)
            case "sleep":
                self._sleep(command)
            case "gset":
                self._gset(command, last)
            case name if name in _REFUSED:
                raise self._wrong(command.line, rf"`\{name}` is not supported", _REFUSED[name])
            case name:
                from dbdyno.model.experiment.validation import nearest

                raise self._wrong(command.line, rf"unknown command `\{name}`", nearest(name, _KNOWN))

    def _set(self, command: Meta) -> None:
        name, *rest = command.arguments.split(maxsplit=1) or [""]
        text = rest[0] if rest else ""
        if not text:
            raise self._wrong(command.line, r"`\set` needs a name and an expression", r"such as `\set x random(1, 10)`")
        self._assign(name, command.line)
        self._steps.append({"set": name, "value": {"expression": self._expression(text, command.line)}})
        self._known.add(name)

    def _assign(self, name: str, line: int) -> None:
        if not re.fullmatch(NAME, name):
            raise self._wrong(line, f"`{name}` is not the name of a variable", "use letters, digits and `_`")
        if name in AUTOMATIC and name not in self._dynamic:
            problem = f"`{name}` is set automatically and can't be changed"
            raise self._wrong(line, problem, f"choose another name, or also define it with `--define {name}=…`")
        self._used.add(name)

    def _expression(self, text: str, line: int) -> str:
        try:
            parsed = parse_expression(text)
            constants: dict[str, str] = {}
            self._used.update(parsed.variables)
            for name in parsed.variables:
                if name in self._known:
                    continue
                if name not in self._presets.texts:
                    raise self._unset(name, line)
                constant = self._presets.constant(name)
                if constant is None:
                    problem = f"`{name}` is `{self._presets.texts[name]}`, which is not a number"
                    raise self._wrong(line, problem, f"give a number, such as `--define {name}=1`")
                constants[name] = constant
            text = substitute_variables(text, constants)
            return parse_expression(text).text
        except ExpressionError as error:
            shown = shortened(" ".join(text.split()), _SHOWN)
            raise self._wrong(line, f"`{shown}`: {error.problem}", error.hint) from None

    def _condition(self, command: Meta) -> None:
        name, line = command.name, command.line
        if name in ("if", "elif") and not command.arguments:
            raise self._wrong(line, rf"`\{name}` needs an expression", rf"such as `\{name} :x > 1`")
        if name in ("else", "endif") and command.arguments:
            raise self._wrong(line, rf"`\{name}` doesn't accept arguments", "remove them")
        if name != "if" and not self._conditions:
            raise self._wrong(line, rf"missing `\if` for this `\{name}`", r"begin with `\if`")
        if name in ("if", "elif"):
            levels = 1 + (self._conditions[-1][0].levels if self._conditions else 0)
            if levels > MAX_CONDITIONS:
                problem = f"conditions are nested deeper than {MAX_CONDITIONS} levels"
                raise self._wrong(line, problem, r"use fewer levels; each `\elif` is a level as well")
            step: Step = {"when": {"expression": self._expression(command.arguments, line)}, "then": []}
        if name == "if":
            self._conditions.append((_Condition(line, step, levels), self._steps))
            self._steps.append(step)
            self._steps = step["then"]
            return
        condition, outside = self._conditions[-1]
        if name == "endif":
            self._conditions.pop()
            self._steps = outside
            return
        if condition.ended:
            raise self._wrong(line, rf"`\{name}` follows `\else`", r"end the condition with `\endif` first")
        if name == "else":
            condition.ended = True
            self._steps = condition.step["else"] = []
            return
        condition.step["else"] = [step]
        condition.step, condition.levels, self._steps = step, levels, step["then"]

    def _sleep(self, command: Meta) -> None:
        match = _SLEEP.fullmatch(command.arguments)
        if not match:
            problem = rf"`\sleep {command.arguments}` is invalid".replace(" `", "`")
            raise self._wrong(command.line, problem, r"write an integer or a variable, and `us`, `ms` or `s`")
        unit = (match["unit"] or "s").lower()
        factor = 1000 if unit == "s" else 1
        time: Any
        if match["variable"]:
            expression = f"int(:{match['variable']})" + (f" * {factor}" if factor > 1 else "")
            time = {"expression": self._expression(expression, command.line)}
        else:
            time = int(match["time"])
            if time > _MAX_SLEEP_US:
                raise self._wrong(command.line, f"the sleep `{time}` is too long", f"give at most {_MAX_SLEEP_US}")
            time *= factor
        self._steps.append({"think": time} | ({"unit": "us"} if unit == "us" else {}))

    def _gset(self, command: Meta, last: tuple[Sql, Step] | None) -> None:
        if last is None:
            problem = r"`\gset` does not follow a statement"
            raise self._wrong(command.line, problem, r"write it instead of the statement's `;`")
        prefix = command.arguments
        names = [prefix + column for column in result_columns(last[0], f"{self._location}: line {command.line}")]
        for name in names:
            self._assign(name, command.line)
        last[1]["into"] = names
        self._known.update(names)

    def _unset(self, name: str, line: int) -> InputError:
        hint = rf"set it before with `\set {name} …`, or define it with `--define {name}=…`"
        return self._wrong(line, f"no earlier command sets the variable `{name}`", hint)

    def _wrong(self, line: int, problem: str, hint: str) -> InputError:
        return InputError(f"{self._location}: line {line}", problem, hint)


def _reads_alike(text: str, values: int) -> bool:
    """Whether other engines may interpret a statement as PostgreSQL does."""
    # For other engines, brackets are quotes, and a `?` in a dollar-quoted string is a parameter.
    try:
        alike = sum(token.text == "?" for token in placeholders(text)) == values
    except UnterminatedError:
        return False
    return alike and all(token.text != "[" for token in tokenize(text, engine_of(POSTGRESQL).syntax))


def _tidy(steps: list[Step]) -> list[Step]:
    """Remove branches without steps."""
    made = []
    for step in steps:
        if "when" not in step:
            made.append(step)
            continue
        then, otherwise = _tidy(step["then"]), _tidy(step.get("else", []))
        when = step["when"]
        if not then:
            then, otherwise = otherwise, []
            when = {"expression": f"case when {when['expression']} then false else true end"}
        if then:
            made.append({"when": when, "then": then} | ({"else": otherwise} if otherwise else {}))
    return made
