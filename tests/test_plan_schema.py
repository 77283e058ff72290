"""The schema in the repository is the one the worker's types give."""

import json
import subprocess
from pathlib import Path

from dbdyno.worker import worker_path

SCHEMA = Path(__file__).parent.parent / "docs" / "plan.schema.json"


def test_the_schema_is_that_of_the_worker() -> None:
    printed = subprocess.run([worker_path(), "schema"], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == json.loads(SCHEMA.read_text()), "run `make schema`"


def test_a_wrong_plan_is_refused() -> None:
    done = subprocess.run(
        [worker_path()], input='{"schema": "dbdyno.plan/9"}', capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    event = json.loads(done.stdout)
    assert (event["event"], event["kind"]) == ("error", "plan")
