"""Foreign keys without an index that a DELETE or an UPDATE of the parent's key has to scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.findings.indexes import is_costly, mean_time
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.searches import shown
from dbdyno.analysis.measured.engines import engine_name, engine_of_cell
from dbdyno.base.numbers import milliseconds
from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines.catalog_table import quoted
from dbdyno.engines.index import index_name
from dbdyno.engines.statements import numbered
from dbdyno.model.result.cell import Cell, CellStatement
from dbdyno.model.result.reading import JsonObject, number, objects
from dbdyno.model.result.shape import Finding

# A scan of fewer rows hardly takes time.
_SOME_ROWS = 1000


@finding(
    "foreign key without index",
    needs=("statement", "table", "columns", "sql"),
    meaning="A costly DELETE or UPDATE scans a table for each row, because the foreign key of the table has no index.",
    remedy="Create the index that the finding names, and measure again.",
)
def unindexed_foreign_key(material: Material) -> Iterator[Finding]:
    """Report unindexed foreign keys that costly statements have to check, also through cascades."""
    found: dict[tuple[str, str, str], tuple[Cell, CellStatement, list[JsonObject], list[str]]] = {}
    for cell in material.cells:
        for statement in cell.statements if enforces_foreign_keys(cell) else ():
            for path in _paths(cell, statement) if is_costly(cell, statement) else ():
                key = (cell.system.name, statement.sql, _create_index(cell, path[-1]))
                found.setdefault(key, (cell, statement, path, []))[3].append(cell.id)
    for (_, sql, create), (cell, statement, path, cells) in found.items():
        scanned = path[-1]
        table, columns = str(scanned["table"]), [str(column) for column in scanned["columns"]]
        time = mean_time(cell, statement)
        mean = 0.0 if time is None else time[0]
        evidence: JsonObject = {
            "statement": sql,
            "table": table,
            "columns": columns,
            "through": [str(each["table"]) for each in path[:-1]],
            "mean_ms": mean,
            "sql": create,
        }
        through = "".join(f", through the cascade to {each}" for each in evidence["through"])
        text = f"`{shown(statement)}` takes {milliseconds(mean)} ms and scans the whole table {table} for each row of "
        text += f"{scanned['parent']}{through}: the foreign key {table} ({', '.join(columns)}) has no index. "
        text += f"To create one (not measured): `{create}`."
        yield unindexed_foreign_key.found(text, cells, evidence)


@finding(
    "foreign keys not enforced",
    needs=("statement", "tables"),
    meaning="SQLite checks foreign keys only if a connection turns that on, so a statement is measured without checks.",
    remedy="If your application turns foreign keys on, measure with `--set foreign_keys=on`.",
)
def unenforced_foreign_key(material: Material) -> Iterator[Finding]:
    """Report statements that would scan a table if foreign keys were enforced."""
    found: dict[tuple[str, str], tuple[CellStatement, list[str], list[str]]] = {}
    for cell in material.cells:
        for statement in () if enforces_foreign_keys(cell) else cell.statements:
            tables = [str(path[-1]["table"]) for path in _paths(cell, statement)]
            if tables:
                found.setdefault((cell.system.name, statement.sql), (statement, tables, []))[2].append(cell.id)
    for (_, sql), (statement, tables, cells) in found.items():
        text = f"`{shown(statement)}` is measured with foreign_keys=off, SQLite's default. With foreign keys on, it "
        text += f"would also search {' and '.join(tables)}, which lack an index for that: "
        text += "measure with `--set foreign_keys=on`."
        yield unenforced_foreign_key.found(text, cells, {"statement": sql, "tables": tables})


def enforces_foreign_keys(cell: Cell) -> bool:
    """Whether the engine checks foreign keys; SQLite does so only if a setting says so."""
    return cell.system.settings.get("foreign_keys", "1") in ("1", "on", "true")


def _paths(cell: Cell, statement: CellStatement) -> Iterator[list[JsonObject]]:
    """Yield the unindexed foreign keys that a statement has to scan, each after the cascades that lead to it."""
    changed = _changed_key(cell, statement)
    if changed is None:
        return
    keys = objects(cell.system.catalog.get("foreign_keys"))
    table, columns = changed
    waiting: list[tuple[str, list[str] | None, list[JsonObject]]] = [(table, columns, [])]
    seen: list[JsonObject] = []
    while waiting:
        table, columns, path = waiting.pop(0)
        for key in keys:
            if _lower(key["parent"]) != table or key in seen or not _refers(cell, key, columns):
                continue
            seen.append(key)
            rows = number(key, "rows")
            if not key.get("indexed") and (rows is None or rows >= _SOME_ROWS):
                yield [*path, key]
            if key.get("on_delete" if columns is None else "on_update") == "cascade":
                names = None if columns is None else [_lower(column) for column in key["columns"]]
                waiting.append((_lower(key["table"]), names, [*path, key]))


def _changed_key(cell: Cell, statement: CellStatement) -> tuple[str, list[str] | None] | None:
    """Return the table of a DELETE, or the table and the columns of an UPDATE, in lowercase."""
    from sqlglot import exp

    grammar = engine_of_cell(cell).grammar
    if grammar is None or not any(word in statement.sql.lower() for word in ("delete", "update")):
        return None
    tree = sql_tree(numbered(statement.sql, VALUE, engine_name(cell)), grammar)
    match tree:
        case exp.Delete():
            changed, columns = tree.this, None
        case exp.Update():
            changed = tree.this
            columns = [
                expression.this.name.lower() for expression in tree.expressions if isinstance(expression, exp.EQ)
            ]
        case _:
            return None
    return (changed.name.lower(), columns) if isinstance(changed, exp.Table) else None


def _refers(cell: Cell, key: JsonObject, columns: Sequence[str] | None) -> bool:
    """Whether a foreign key refers to changed columns. ``columns``: None for a deleted row."""
    if columns is None:
        return True
    referenced = [
        _lower(parent_column) for parent_column in key.get("parent_columns") or _primary_key(cell, str(key["parent"]))
    ]
    return any(each in columns for each in referenced)


def _primary_key(cell: Cell, name: str) -> list[str]:
    tables = objects(cell.system.catalog.get("tables"))
    keys = (table.get("primary_key") for table in tables if _lower(table.get("name")) == name.lower())
    return list(next(keys, None) or [])


def _create_index(cell: Cell, key: JsonObject) -> str:
    grammar = engine_of_cell(cell).grammar or ""
    table, columns = str(key["table"]), [str(column) for column in key["columns"]]
    place = ".".join(quoted(str(each), grammar) for each in (key.get("schema"), table) if each)
    names = ", ".join(quoted(column, grammar) for column in columns)
    return f"create index {index_name(table, columns)} on {place} ({names})"


def _lower(name: object) -> str:
    return str(name).lower()
