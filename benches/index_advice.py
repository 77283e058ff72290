"""Whether `dbdyno queries` finds the best index: statements whose best index is known, on three engines.

For each statement, the indexes that it should get are built and timed, as is what `queries` recommends. Prints the
times without an index, with the best known one and with the recommended ones. A recommendation counts as right if it
takes at most a tenth longer than the best known index, and as harmful if it takes a tenth longer than no index.
Statements that delete rows are last, because `queries` really deletes them in the server's own tables.

    python benches/index_advice.py [sqlite|postgresql|mariadb…] [--only NAME…]

The pairs are in `index_pairs/ENGINE.sql`: tables with data, then a statement for each pair, after `-- pair: NAME` and
`-- best:` with an index that it should get. Several such lines are alternatives, `;` separates indexes that belong
together, and an empty line means no index. A parameter `:id` has values for `queries` in `-- :id = VALUES`, and one for
timing in `-- value:`, so that rows which statements delete don't lack.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.engines.server.data import create_data
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target as target_of
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask

ENGINES = ("sqlite", "postgresql", "mariadb")
REPETITIONS, ENOUGH_S = 40, 0.5
# A recommendation may take this much longer than the best index, plus milliseconds of noise: a round trip to a server.
MARGIN, NOISE_MS = 1.1, {"sqlite": 0.02, "postgresql": 0.05, "mariadb": 0.05}


@dataclass(frozen=True)
class Pair:
    """A statement and the sets of indexes of which it should get one; without their ``create index … on``.

    ``file``: the statement with the values of its parameter.
    """

    name: str
    sql: str
    file: str
    best: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Database:
    """A database with the tables of the pairs. ``url``: as for `--system`; ``target``: as in a plan."""

    engine: str
    url: str
    target: dict[str, Any]

    def run(self, statements: Sequence[str]) -> list[float]:
        """Run statements in one session; return the seconds of each."""
        task = {"kind": "load", "target": self.target, "before": [], "tables": [], "after": list(statements)}
        done = ask({"schema": PLAN, "seed": 1, "task": task}, Loaded).tables
        return [each.seconds for each in done[: len(statements)]]

    def milliseconds(self, sql: str, indexes: Sequence[str]) -> float:
        """Return the shortest time of a statement with indexes, which are dropped again."""
        named = [f"dbdyno_pair_{place}" for place in range(len(indexes))]
        made = [f"create index {name} on {each}" for name, each in zip(named, indexes, strict=True)]
        self.run([*made, *self._analyze])
        try:
            writes = re.match(r"(?i)insert|update|delete", sql) is not None
            script = ["begin", sql, "rollback"] if writes else [sql]
            place = script.index(sql)
            first = self.run(script)[place]
            count = max(2, min(REPETITIONS, int(ENOUGH_S / max(first, 1e-6))))
            return min(1e3 * each for each in self.run(script * count)[place :: len(script)])
        finally:
            self.run([self._drop(name, each) for name, each in zip(named, indexes, strict=True)])

    @property
    def _analyze(self) -> list[str]:
        tables = "customer, invoice, `order details`, product, event, parent, child, grandchild"
        return {"sqlite": [], "postgresql": ["vacuum analyze"], "mariadb": [f"analyze table {tables}"]}[self.engine]

    def _drop(self, name: str, definition: str) -> str:
        table = re.match(r"`[^`]+`|\S+", definition)
        schema = "sales." if definition.startswith("sales.") else ""
        return f"drop index {schema}{name}" + (f" on {table[0]}" if self.engine == "mariadb" and table else "")


def read_pairs(engine: str) -> tuple[list[str], list[Pair]]:
    """Return the statements that create the tables, and the pairs."""
    text = (Path(__file__).parent / "index_pairs" / f"{engine}.sql").read_text()
    head, *parts = text.split("-- pair: ")
    pairs = []
    for part in parts:
        name, _, rest = part.partition("\n")
        noted = re.findall(r"(?m)^-- (best|value):(.*)$", rest)
        best = (tuple(one.strip() for one in each.split(";") if one.strip()) for note, each in noted if note == "best")
        file = re.sub(r"(?m)^-- (best|value):.*\n", "", rest).strip() + "\n"
        sql = re.sub(r"(?m)^--.*\n", "", file).strip().removesuffix(";")
        for note, value in noted:
            sql = sql.replace(":id", value.strip()) if note == "value" else sql
        pairs.append(Pair(name.strip(), sql, file, tuple(best)))
    return [each for each in re.split(r";\s*\n", head) if each.strip()], pairs


@contextmanager
def database(engine: str, place: Path) -> Iterator[Database]:
    """Provide a file, or a database on a new server."""
    if engine == "sqlite":
        yield Database(
            engine, f"sqlite:{place / 'shop.db'}?foreign_keys=on", {"engine": "sqlite", "path": str(place / "shop.db")}
        )
        return
    installation = find_installations("mysql" if engine == "mariadb" else engine)[0]
    create_data(installation, place / "data")
    with start_server(installation, place / "data", place, {}) as server:
        host = str(server.socket).replace("/", "%2F")
        url = f"{installation.engine}://{server.user}@{host}:{server.port}/{server.database}"
        yield Database(engine, url, target_of(server))


def advised(on: Database, file: str, place: Path) -> tuple[list[str], str]:
    """Return the indexes that `dbdyno queries` recommends, and why it measured nothing."""
    (place / "q.sql").write_text(file)
    command = [sys.executable, "-m", "dbdyno", "queries", "q.sql", "--system", on.url, "--store", "r.db"]
    options = ["--target", "50%", "--budget", "1m", "--json", "o.json"]
    options += [] if on.engine == "sqlite" else ["--allow-writes"]
    done = subprocess.run([*command, *options], cwd=place, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stdout + done.stderr)
    (found,) = json.loads((place / "o.json").read_text())["indexes"]
    taken = [one for each in found["tried"] if each["name"] in found["chosen"] for one in each["sql"]]
    return [each.partition(" on ")[2] for each in taken], found["not_measured"] or ""


def judge(on: Database, pair: Pair, place: Path) -> tuple[bool, bool, str]:
    """Return whether the recommendation for a pair is right, whether it is harmful, and the figures."""
    found, why = advised(on, pair.file, place)
    times: dict[tuple[str, ...], float] = {}
    best = own = without = 0.0
    is_right = is_harmful = False
    noise = NOISE_MS[on.engine]
    for _ in range(3):
        # Noise only lengthens times, so the shortest one counts.
        for indexes in {(), tuple(found), *pair.best}:
            times[indexes] = min(on.milliseconds(pair.sql, indexes), times.get(indexes, 1e9))
        without, own = times[()], times[tuple(found)]
        best = min(times[each] for each in pair.best)
        is_right = own <= MARGIN * min(without, best) + noise
        is_harmful = own > MARGIN * without + noise
        if is_right:
            break
    fastest = min(pair.best, key=lambda each: times[each])
    figures = f"{without:9.3f} {best:9.3f} {own:9.3f} ms  {'; '.join(found) or f'none {why}'}"
    figures += "" if is_right else f"   best: {'; '.join(fastest) or 'none'}"
    return is_right, is_harmful, figures


def main() -> None:
    """Measure the pairs of the engines, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("engines", nargs="*", default=ENGINES, choices=[*ENGINES, []])
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    chosen = parser.parse_args()
    right = harmful = count = 0
    for engine in chosen.engines or ENGINES:
        schema, pairs = read_pairs(engine)
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            place = Path(folder)
            place.chmod(0o755)
            with database(engine, place) as on:
                on.run(schema)
                for pair in pairs:
                    if chosen.only and pair.name not in chosen.only:
                        continue
                    is_right, is_harmful, figures = judge(on, pair, place)
                    right, harmful, count = right + is_right, harmful + is_harmful, count + 1
                    verdict = "HARM " if is_harmful else "right" if is_right else "WRONG"
                    print(f"{verdict} {engine:<10} {pair.name:<34} {figures}", flush=True)
    print(f"{right} of {count} right, {harmful} harmful")


if __name__ == "__main__":
    main()
