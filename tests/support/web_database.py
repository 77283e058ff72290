"""The tables of the web application, small, on each kind of database, loaded as an experiment's are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.document import parse
from dbdyno.experiment.experiment import make_experiment
from dbdyno.run.provisioners import Provisioners

USERS, CODES = 1000, 1200

TABLES = f"""
name = "web"
title = "Users and postal codes"
rounds = 1

[tables.users]
rows = {USERS}

[tables.users.columns]
id = {{ type = "integer", primary_key = true, fill = {{ serial = 1 }} }}
user_name.type = "varchar(16)"
user_name.fill = {{ format = {{ template = "user{{}}", parts = [{{ serial = 1 }}] }} }}
password.type = "varchar(16)"
password.fill = {{ format = {{ template = "Secret{{}}", parts = [{{ serial = 1 }}] }} }}
logins = {{ type = "integer", not_null = true, fill = 0 }}
last_login = {{ type = "bigint", not_null = true, fill = 0 }}

[[tables.users.indexes]]
columns = ["user_name"]

[tables.login_log]
rows = 0

[tables.login_log.columns]
id = {{ type = "integer", primary_key = true, autoincrement = true }}
user_name = {{ type = "varchar(16)", not_null = true }}
ip_address = {{ type = "varchar(45)", not_null = true }}
logged_at = {{ type = "bigint", not_null = true }}

[tables.postal_codes]
rows = {CODES}

[tables.postal_codes.columns]
code = {{ type = "varchar(10)", fill = {{ format = {{ template = "{{}}", parts = [{{ serial = 100000 }}] }} }} }}
place = {{ type = "varchar(40)", not_null = true, fill = {{ words = 2 }} }}

[[tables.postal_codes.indexes]]
columns = ["code"]

[load]
clients = 1
stop = {{ transactions = 1 }}

[[transactions]]
name = "count"
steps = [{{ execute = "select count(*) from users" }}]
"""


@contextmanager
def web_database(url: str, directory: Path) -> Iterator[dict[str, Any]]:
    """Have a database with the tables ready; give it as a plan names it."""
    experiment = make_experiment(parse(TABLES, "web.toml", directory))
    compiled = compile_cell(experiment, make_cells(experiment, systems=[parse_url(url)]).cells[0])
    with Provisioners() as provisioners, provisioners.of(compiled).ready(compiled, 0) as ready:
        yield ready.target
