"""Predictions against measurements: larger sizes of a run, a run with other sizes, figures that others published.

Also the simulator of B-trees against the formulas, its speed, and a smaller tree against a full one. What is measured
is written to `docs/prediction`. Each engine takes 10 to 25 minutes.
"""

import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from figures import DBDYNO, Figure, NotMeasuredError, run

from dbdyno.analysis.measured.keys import NewKeys
from dbdyno.analysis.predict.predict import Question, predict
from dbdyno.analysis.predict.series import KeySeries
from dbdyno.analysis.predict.stored import read_calibration
from dbdyno.analysis.predict.trees import TreeSetting, answers
from dbdyno.engines.btree import BtreeRules
from dbdyno.model.events.answers import Btree, BtreeFigures
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.model.result.reading import JsonObject
from dbdyno.report.charts.prediction import prediction_chart
from dbdyno.report.export import write_json
from dbdyno.runtime.worker import ask
from dbdyno.store import open_store

WRITTEN = Path(__file__).parent.parent / "docs" / "prediction"
PUBLISHED = Path(__file__).parent.parent / "python" / "dbdyno" / "published" / "e8_key_order.csv"


@dataclass(frozen=True)
class Proof:
    """A run of `key-order` on one system: its sizes, the largest to calibrate with, and the sizes of another run."""

    name: str
    system: str
    rows: Sequence[int]
    up_to: int
    others: Sequence[int]
    further: Sequence[str] = ()


# Up to 30 times the memory; the smallest sizes calibrate, about a third of them.
PROOFS = {
    "postgresql": Proof(
        "postgresql",
        "postgresql:",
        (100_000, 300_000, 600_000, 1_000_000, 2_000_000, 5_000_000, 12_000_000, 24_000_000),
        600_000,
        (450_000, 1_500_000),
    ),
    "mariadb": Proof(
        # Beyond that, filling the table makes the server take more memory for itself than the limit leaves.
        "mariadb",
        "mysql:",
        (100_000, 200_000, 400_000, 1_000_000, 2_500_000),
        200_000,
        (300_000, 1_500_000),
    ),
    "mariadb_direct": Proof(
        # The kernel caches nothing of it, so that the buffer pool is all the memory there is.
        "mariadb_direct",
        "mysql:?innodb_flush_method=O_DIRECT&innodb_buffer_pool_size=8M",
        (30_000, 100_000, 250_000, 800_000, 2_400_000),
        100_000,
        (50_000, 500_000, 1_500_000),
        ("--set", "memory_limit_mb=512"),
    ),
    "sqlite": Proof(
        "sqlite",
        "sqlite:",
        (100_000, 300_000, 700_000, 1_500_000, 4_000_000, 12_000_000, 30_000_000),
        700_000,
        (500_000, 2_500_000),
    ),
}


class Bench:
    """Where runs are kept."""

    def __init__(self, directory: Path) -> None:
        self.store = directory / "store.db"

    def measure(self, system: str, rows: Sequence[int], seed: int, further: Sequence[str] = ()) -> str:
        """Run `key-order` with random keys, and give the run's id."""
        sizes = ",".join(map(str, rows))
        options = ["--system", system, "--set", f"rows={sizes}", "--set", "key=uuid_v4", "--seed", str(seed), *further]
        done = subprocess.run(
            [DBDYNO, "run", "key-order", *options, "--store", str(self.store)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"run (\S+) is stored", done.stdout)
        if done.returncode or found is None:
            raise NotMeasuredError(f"{system}: {done.stderr[-300:] or done.stdout[-300:]}")
        return found[1]

    def predict(self, run_id: str, question: Question) -> Any:
        store = open_store(str(self.store), make=False)
        try:
            return predict(read_calibration(store, run_id), question)
        finally:
            store.close()


def _proved(bench: Bench, proof: Proof) -> Iterator[Figure]:
    calibration = bench.measure(proof.system, proof.rows, 11, proof.further)
    prediction = bench.predict(calibration, Question(up_to=proof.up_to))
    write(proof.name, prediction)
    off = [
        abs(point["throughput"] / point["measured"]["throughput"] - 1.0)
        for point in prediction["series"][0]["points"]
        if point["measured"] and not point["measured"]["calibrating"]
    ]
    yield Figure(f"{proof.name}: off by, median", median(off), f"n={len(off)}", 0.15, at_most=True)
    yield Figure(f"{proof.name}: off by, worst", max(off), f"n={len(off)}", 0.35, at_most=True)
    held_out = bench.measure(proof.system, proof.others, 4711, proof.further)
    measured = bench.predict(held_out, Question())["series"][0]["points"]
    sizes = [point["rows"] for point in measured if point["measured"]]
    again = bench.predict(calibration, Question(rows=sizes, up_to=proof.up_to))["series"][0]["points"]
    bands = {point["rows"]: point["band"] for point in again}
    inside = [
        bands[point["rows"]][0] <= point["measured"]["throughput"] <= bands[point["rows"]][1]
        for point in measured
        if point["measured"]
    ]
    name = f"{proof.name}: other run within the band"
    yield Figure(name, sum(inside) / len(inside), f"n={len(inside)}", 1.0, at_most=False)


def write(name: str, prediction: Any) -> None:
    """Write a prediction and its chart to `docs/prediction`."""
    WRITTEN.mkdir(exist_ok=True)
    write_json(prediction, WRITTEN / f"{name}.json")
    chart = prediction_chart(prediction)
    assert chart is not None
    svg = chart.svg.replace("<svg ", '<svg style="background: white" ', 1)
    (WRITTEN / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")


def postgresql(bench: Bench) -> Iterator[Figure]:
    """Sizes up to 30 times the memory, of which the smallest calibrate; PostgreSQL."""
    yield from _proved(bench, PROOFS["postgresql"])


def mariadb(bench: Bench) -> Iterator[Figure]:
    """The same on MariaDB."""
    yield from _proved(bench, PROOFS["mariadb"])


def mariadb_direct(bench: Bench) -> Iterator[Figure]:
    """The same where the kernel caches nothing of it."""
    yield from _proved(bench, PROOFS["mariadb_direct"])


def sqlite(bench: Bench) -> Iterator[Figure]:
    """The same on SQLite."""
    yield from _proved(bench, PROOFS["sqlite"])


# The published runs: 60 s each, 8 clients. Memory is known; shared_buffers is not, and taken as a quarter of it.
_SECONDS, _CLIENTS, _MEMORY = 60.0, 8, 32e9
_RULES = BtreeRules(
    page_bytes=8192,
    leaf_bytes=8152,
    split={"rule": "middle", "rightmost": 0.9},
    cache_pages=int(_MEMORY / 4 / 8192),
    policy={"kind": "clock"},
    # Each run is taken to begin behind a checkpoint: the pages that it changes first are those of 60 s.
    checkpoint_seconds=_SECONDS,
    page_images=True,
)
_KINDS = {"uuid_v4": "v4", "uuid_time": "v7", "sequence": "serial"}


def published(_bench: Bench) -> Iterator[Figure]:
    """PostgreSQL 10.4 on a spinning disk, 2018: its figures at 0 and 1 million rows predict those at 10, 50 and 100."""
    rows = [line for line in PUBLISHED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    measured = {(int(row["rows"]), row["key"]): float(row["mean_tps"]) for row in csv.DictReader(rows)}
    off = []
    told: dict[str, list[JsonObject]] = {}
    for key, kind in _KINDS.items():
        entry = 24 if key == "sequence" else 52
        series = KeySeries(key, {}, "PostgreSQL", NewKeys(kind), _RULES, 1, _MEMORY, True, entry, 0.7, 0.01, True, ())
        first, second = _image(series, 0, measured[0, key]), _image(series, 1_000_000, measured[1_000_000, key])
        seconds = [_CLIENTS / measured[0, key], _CLIENTS / measured[1_000_000, key]]
        # Time of an insert = what it takes itself + what a page takes that it is the first to change.
        page = max(0.0, (seconds[1] - seconds[0]) / (second - first)) if abs(second - first) > 0.01 else 0.0
        own = seconds[0] - page * first
        for size in (10_000_000, 50_000_000, 100_000_000):
            rate = measured[1_000_000, key]
            for _ in range(20):
                rate = (rate + _CLIENTS / (own + page * _image(series, size, rate))) / 2.0
            off.append(abs(rate / measured[size, key] - 1.0))
            told.setdefault(key, []).append({"rows": size, "predicted": rate, "published": measured[size, key]})
            name = f"published {key}, {size // 1_000_000} M: {measured[size, key]:.0f} a second"
            yield Figure(name, rate, f"{rate / measured[size, key] - 1.0:+.0%}", 0.0, at_most=False)
    WRITTEN.mkdir(exist_ok=True)
    (WRITTEN / "published.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    yield Figure("published: off by, median", median(off), f"n={len(off)}, worst {max(off):.2f}", 1.0, at_most=True)


def _image(series: KeySeries, rows: int, rate: float) -> float:
    """Pages that an insert is the first to change in 60 s."""
    middle = rows + rate * _SECONDS / 2
    (answer,) = answers(series, [TreeSetting(middle, _RULES.cache_pages, 0.0, rate)])
    assert answer.figures is not None
    return answer.figures.first_changes


def _asked(setting: JsonObject, by: str) -> BtreeFigures:
    task = {"kind": "btree", "questions": [{"setting": setting, "by": by}]}
    report = ask({"schema": PLAN, "seed": 1, "task": task}, Btree).answers[0].report
    assert report is not None
    return report.sizes[0]


def _setting(rows: int, pages: int, policy: JsonObject, split: JsonObject, scale: JsonObject) -> JsonObject:
    return {
        "tree": {
            "page_bytes": 8192,
            "leaf_bytes": 8152,
            "entry_bytes": 52,
            "fanout": 150,
            "split": split,
        },
        "keys": {"order": "random"},
        "start": {"way": "empty"},
        "cache": {"pages": pages, "policy": policy, "system_pages": pages},
        "checkpoints": {"every": {"in": "inserts", "inserts": rows // 20}, "flush": "sharp"},
        "log": {"record_bytes": 160, "image_bytes": 5700},
        "commit_every": 0,
        "sizes": [rows * 9 // 10],
        "window": rows // 10,
        "seed": 1,
        "scale": scale,
    }


_MIDDLE = {"rule": "middle", "rightmost": 0.9}
_COMPARED = ("fill", "reads", "dirty_evictions", "checkpoint_writes", "first_changes", "splits")


def simulator(_bench: Bench) -> Iterator[Figure]:
    """The simulator of B-trees: its speed, and how far it is from the formulas and from a smaller tree."""
    rows = 1_000_000_000
    # The cache holds an eighth of the leaves at the end.
    setting = _setting(rows, rows // 108 // 8, {"kind": "clock"}, _MIDDLE, {"by": "full"})
    setting["cache"]["system_pages"] = 0
    started = time.perf_counter()
    full = _asked(setting, "simulation")
    yield Figure("simulator: seconds for 1e9 rows", time.perf_counter() - started, "", 60.0, at_most=True)
    figures = [("formula", _asked(setting, "formula"))]
    smaller = setting | {"scale": {"by": "factor", "factor": 200}}
    figures.append(("1/200", _asked(smaller, "simulation")))
    for name, other in figures:
        # As the test of the two against each other allows: a hundredth of a page is no difference.
        apart = {
            each: max(0.0, abs(getattr(other, each) - getattr(full, each)) - 0.01) / getattr(full, each)
            for each in _COMPARED
            if getattr(full, each) > 0.001
        }
        worst = max(apart, key=lambda each: apart[each])
        yield Figure(f"simulator at 1e9 rows against {name}", apart[worst], worst, 0.10, at_most=True)


if __name__ == "__main__":
    sys.exit(run(Bench, [simulator, published, sqlite, postgresql, mariadb, mariadb_direct], __doc__))
