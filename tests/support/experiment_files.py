"""Experiments for tests: small ones from text, and all that the repository has."""

import copy
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from dbdyno.base.resources import builtin_names, package_path, template_names, template_path
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import compile_cell, refusal
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.result.schema import json_schema
from dbdyno.runtime.worker import worker_path

ROOT = Path(__file__).parents[2]

# Those of services take no SQL.
SERVICES = ("http-service",)
WEB_LOGIN = "web-login"
BUILTIN = [str(package_path("experiments", name + ".toml")) for name in builtin_names() if name != WEB_LOGIN]
FIXTURES = sorted(map(str, (ROOT / "tests/support/experiments").glob("*.toml")))
TEMPLATE = str(package_path("experiment", "template.toml"))
TEMPLATES = [str(template_path(name)) for name in template_names() if name not in SERVICES]
ALL = [*BUILTIN, *FIXTURES, TEMPLATE, *TEMPLATES]


def shortened(text: str) -> tuple[str, int]:
    """An experiment's text with windows that suit a test, and how many there were."""
    return re.subn(r"(?m)^(warmup|stop) = \{ seconds = [\d.]+ \}", r"\1 = { seconds = 0.1 }", text)


HEAD = 'name = "small"\ntitle = "A small one"\n'
TABLE = """
[tables.user]
rows = 10
[tables.user.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
name = { type = "varchar(20)", fill = { text = 20 } }
"""
LOAD = "\n[load]\nstop = { seconds = 1 }\n"
READ = """
[[transactions]]
name = "read"
steps = [{ execute = "select * from user where id = ?", params = [{ key = "user.id" }] }]
"""


def experiment(*parts: str) -> Experiment:
    """Make an experiment of the file that the parts are together."""
    return make_experiment(parse("".join(parts), "small.toml", ROOT))


def small(factors: str = "", *, table: str = TABLE, load: str = LOAD, transactions: str = READ) -> Experiment:
    """Make a small experiment, of which any part can be another."""
    return experiment(HEAD, factors, table, load, transactions)


def steps(text: str, *, table: str = TABLE, factors: str = "") -> Experiment:
    """Make a small experiment whose one transaction has these steps."""
    return small(factors, table=table, transactions=f'\n[[transactions]]\nname = "t"\nsteps = [{text}]\n')


def compiled(made: Experiment, url: str = "sqlite:") -> list[CompiledCell]:
    """Compile all cells of an experiment for one system."""
    cells = make_cells(made, systems=[parse_url(url)], refuse=refusal)
    return [compile_cell(made, cell) for cell in cells.cells]


def task_json(cell: CompiledCell) -> dict[str, Any]:
    """Return the task of a cell's trials as JSON."""
    task: dict[str, Any] = as_json(cell.task)
    return task


@cache
def worker_schema(kind: str) -> dict[str, Any]:
    """Return the schema of plans or events that the worker prints; not to be changed."""
    printed = subprocess.run([worker_path(), "schema", kind], capture_output=True, text=True, check=True).stdout
    schema: dict[str, Any] = json.loads(printed)
    return schema


@cache
def event_schema() -> jsonschema_rs.Draft202012Validator:
    """Give the validator of events, which takes nothing that is not in their types."""
    schema = copy.deepcopy(worker_schema("event"))
    for each in [*schema["oneOf"], *schema["$defs"].values(), *schema["$defs"]["Summary"]["anyOf"]]:
        # What is put together of several parts is closed where it is put together.
        if "properties" in each and "oneOf" not in each:
            each["unevaluatedProperties"] = False
    for name in ("Interval", "TrialResult"):
        del schema["$defs"][name]["unevaluatedProperties"]
    return jsonschema_rs.Draft202012Validator(schema)


@cache
def result_schema() -> jsonschema_rs.Draft202012Validator:
    """Give the validator of result documents, which takes no field that is not in their types."""
    return jsonschema_rs.Draft202012Validator(json_schema(closed=True))


@cache
def plan_schema() -> jsonschema_rs.Draft202012Validator:
    """Give the validator of plans."""
    return jsonschema_rs.Draft202012Validator(worker_schema("plan"))
