"""Describe a compiled cell in words and SQL (``dbdyno describe``)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbdyno.engines import engine_of
from dbdyno.model.plan.cell import CompiledCell

# Maximum number of values of a list that are shown.
_MOST_SHOWN = 8


@dataclass(frozen=True)
class TransactionText:
    """A transaction: one line per step, indented by four spaces per nesting level."""

    name: str
    weight: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The description of a cell. ``settings``: names and values of the system's settings. ``load``: lines of text.

    ``samples``: columns whose values were sampled, with some values of each.
    """

    cell: str
    settings: tuple[tuple[str, str], ...]
    definitions: tuple[str, ...]
    rows: tuple[str, ...]
    setup: tuple[str, ...]
    samples: tuple[str, ...]
    load: tuple[str, ...]
    transactions: tuple[TransactionText, ...]


def describe(compiled: CompiledCell) -> Description:
    """Describe a compiled cell: definitions and statements in the engine's SQL, the rows and the load."""
    engine = compiled.cell.system.engine
    # A user's program (`exec:`) has neither statements nor transactions.
    statements = [_sent(statement, engine, compiled.trial) for statement in compiled.trial.get("statements", [])]
    return Description(
        cell=compiled.cell.id,
        settings=tuple(compiled.settings.shown()),
        definitions=tuple(compiled.before),
        rows=tuple(_rows(table) for table in compiled.tables),
        setup=tuple(compiled.after),
        samples=tuple(f"{name}: {_value(values)}" for name, values in compiled.definition.samples.items()),
        load=tuple(_load(compiled.trial)),
        transactions=tuple(
            TransactionText(each["name"], each["weight"], tuple(_steps(each["steps"], statements, engine, 0)))
            for each in compiled.trial.get("transactions", [])
        ),
    )


def _sent(statement: dict[str, Any], engine: str, trial: dict[str, Any]) -> str:
    """Return a statement as it is sent to the engine, except that values replace its ``?`` if it isn't prepared."""
    beginning, text = engine_of(engine).parameter_prefix, str(statement["sql"])
    if beginning is None or trial["prepare"] == "never":
        return text
    content, pieces, start = text.encode(), [], 0
    for number, place in enumerate(statement.get("places", []), 1):
        pieces.append(f"{content[start:place].decode()}{beginning}{number}")
        start = place + 1
    return "".join([*pieces, content[start:].decode()])


def _rows(table: dict[str, Any]) -> str:
    columns = ", ".join(f"{column['name']} = {generator_text(column['fill'])}" for column in table["columns"])
    if table["file"]:
        limit = f"at most {table['rows']:,}" if table["rows"] else "all"
        return f"{table['name']}: {limit} rows of {table['file']}"
    return f"{table['name']}: {table['rows']:,} rows: {columns}"


def _load(trial: dict[str, Any]) -> Iterable[str]:
    clients = trial["clients"]
    yield f"{clients:,} client{'s' if clients > 1 else ''}, connect {trial['connect']}, prepare {trial['prepare']}"
    arrival = trial["arrival"]
    if arrival["loop"] == "open":
        yield f"open loop: {_number(arrival['rate'])} transactions per second, {arrival['gaps']} gaps"
    warmup = [f"{_number(value)} {unit}" for unit, value in trial["warmup"].items() if value]
    if warmup:
        longer = ", whichever is longer" if len(warmup) > 1 else ""
        yield f"warm-up: {' or '.join(warmup)} of each client{longer}"
    window = [f"{_number(value)} {unit}" for unit, value in trial["window"].items() if value is not None]
    yield f"until {' or '.join(window)} of each client"
    retry = trial["retry"]
    if retry["attempts"] > 1:
        kinds = ", ".join(retry["on"]) or "locked, deadlock, serialization"
        yield f"{retry['attempts']} attempts on {kinds}, {retry['wait_ms']:g} ms apart"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _steps(steps: list[dict[str, Any]], statements: list[str], engine: str, depth: int) -> Iterable[str]:
    for step in steps:
        yield "    " * depth + _step(step, statements, engine)
        yield from _steps(step.get("then", step.get("steps", [])), statements, engine, depth + 1)
        if step.get("otherwise"):
            yield "    " * depth + "else"
            yield from _steps(step["otherwise"], statements, engine, depth + 1)


def _step(step: dict[str, Any], statements: list[str], engine: str) -> str:  # noqa: PLR0911 - one per kind
    match step["do"]:
        case "execute":
            text: str = statements[step["statement"]]
            if step["params"]:
                text += "   -- " + ", ".join(map(generator_text, step["params"]))
            return text + (f"   -> {', '.join(step['into'])}" if step["into"] else "")
        case "begin":
            return engine_of(engine).control_text("begin", step["mode"])
        case "commit" | "rollback" as verb:
            return engine_of(engine).control_text(verb, "deferred")
        case "set":
            return f"{step['variable']} = {generator_text(step['value'])}"
        case "when":
            if step["left"]["kind"] == "expression":
                return f"when {generator_text(step['left'])}"
            right = f" {generator_text(step['right'])}" if "right" in step else ""
            return f"when {generator_text(step['left'])} {_COMPARISONS[step['compare']]}{right}"
        case "chance":
            return f"with probability {step['probability']:g}"
        case "repeat":
            return f"{step['times']:,} times"
        case "think":
            return f"think {generator_text(step['milliseconds'])} ms"
        case "pause":
            return f"think {generator_text(step['microseconds'])} us"
        case verb:
            return str(verb)


_COMPARISONS = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "is_null": "is null",
    "is_not_null": "is not null",
}


def generator_text(generator: dict[str, Any]) -> str:  # noqa: PLR0911 - one per kind
    """Return a plan's generator as text for display."""
    match generator:
        case {"kind": "constant", "value": value}:
            return "null" if value is None else repr(value)
        case {"kind": "variable", "name": name}:
            return str(name)
        case {"kind": "expression", "text": text}:
            return str(text)
        case {"kind": "reference", "of": of, "row": row}:
            return f"{generator_text(of)} of row {generator_text(row)}"
        case {"kind": "format", "template": template, "parts": parts}:
            return f"'{template}' of {', '.join(map(generator_text, parts))}"
        case {"kind": "nullable", "share": share, "of": of}:
            return f"null ({share:g}) or {generator_text(of)}"
        case {"kind": "pick", "values": values, "weights": weights}:
            return f"pick(values {_value(values)}, weights {_value([f'{each:.3g}' for each in weights])})"
    details = ", ".join(f"{key} {_value(value)}" for key, value in generator.items() if key != "kind")
    return f"{generator['kind']}({details})"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_value(inner)}" for key, inner in value.items())
    if not isinstance(value, list):
        return str(value)
    if len(value) > _MOST_SHOWN:
        return f"{', '.join(map(str, value[: _MOST_SHOWN - 1]))}, … {value[-1]} ({len(value):,} values)"
    return ", ".join(map(str, value))
