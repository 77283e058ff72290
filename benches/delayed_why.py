"""Run a `dbdyno` command in which the calls of all cells take longer: `delayed_why.py DELAYS why …`.

DELAYS: JSON, microseconds per kind of call, and the remaining `processors`.
"""

import json
import sys
from functools import partial
from unittest.mock import patch

from dbdyno.cli import program
from dbdyno.run.why_pilot import plan_why

if __name__ == "__main__":
    planted = json.loads(sys.argv.pop(1))
    with patch("dbdyno.cli.why.plan_why", partial(plan_why, planted=planted)):
        program()
