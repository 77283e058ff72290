"""What was typed has an effect or is an error: options, levels and settings, by kind of input."""

import shlex

import pytest

from conftest import Cli

FILES = {
    "q.sql": "select 1;\n",
    "Q.SQL": "select 1;\n",
    "p.sql": "-- name: one\nselect :id;\n",
    "pg.sql": "\\set n random(1, 9)\nselect :n;\n",
    "e.toml": """
name = "e"
title = "e"
[factors]
clients = [1]
cache = [100, 200]
[load]
clients = "${clients}"
stop = { transactions = 3 }
[system.sqlite]
cache_size = "${cache}"
[[transactions]]
name = "t"
steps = [{ execute = "select 1" }]
""",
    "s.toml": """
name = "s"
title = "s"
[factors]
system = ["sqlite:"]
[load]
stop = { transactions = 3 }
[[transactions]]
name = "t"
steps = [{ execute = "select 1" }]
""",
    "h.toml": """
name = "h"
title = "h"
[load]
stop = { transactions = 3 }
[[transactions]]
name = "t"
steps = [{ request = "GET /" }]
""",
    "x.toml": """
name = "x"
title = "x"
[factors]
rows = [1, 2]
[load]
stop = { transactions = 1 }
""",
}

# A command, and what the one line about it says.
TABLE = (
    # Levels, by kind of input.
    ("run e.toml --set clinets=4", "`e` has no factor `clinets`; did you mean `clients`?"),
    ("run pg.sql --pgbench --set clinets=4", "has no factor `clinets`; did you mean `clients`?"),
    ("describe pg.sql --pgbench --set clinets=4", "has no factor `clinets`"),
    ("run q.sql --set clients=4", "no statement has a parameter :clients"),
    ("run Q.SQL --set clients=4", "no statement has a parameter :clients"),
    ("run p.sql --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("describe p.sql --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("queries p.sql --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("why p.sql --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("noise p.sql --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("gate p.sql --against null: --set id=1 --set clients=4", "no statement has a parameter :clients"),
    ("try 'select 1' --set clients=4", "no statement has a parameter :clients"),
    ("why e.toml --set clinets=4", "has no factor `clinets`"),
    ("gate e.toml --against null: --set clinets=4", "has no factor `clinets`"),
    ("noise e.toml --set clinets=4", "has no factor `clinets`"),
    ("predict key-order --set clinets=4", "has no factor `clinets`"),
    ("run e.toml --set cache=100 --system null:", "--set cache=…: `cache` changes nothing on null"),
    ("describe e.toml --set cache=100 --system postgresql:", "`cache` changes nothing on postgresql"),
    ("why e.toml --set cache=100 --system mysql:", "`cache` changes nothing on mysql"),
    ("run --system exec:true --set n=2", "`n` changes nothing on exec; write `{n}` in the command"),
    ("run --system 'exec:true {n}' --set m=2", "has no factor `m`"),
    ("run x.toml --system exec:true --set rows=2", "`rows` changes nothing on exec"),
    ("run s.toml --set system=null: --system sqlite:", "`--system` names the systems"),
    # Given twice, or empty.
    ("run e.toml --set clients=1 --set clients=2", "`clients` is set twice"),
    ("run e.toml --set clients=1 --set clients=1", "--set clients=1: it is given twice"),
    ("run e.toml --set clients=2,2", "duplicate level"),
    ("run p.sql --set id=1 --set :id=2", "`id` is set twice"),
    ("queries p.sql --set id=1 --set id=2", "`id` is set twice"),
    ("try 'select :a' --set a=1 --set a=2", "`a` is set twice"),
    ("try 'select :a' --set a=", "gives no values"),
    ("run q.sql --mix --set client=4", "no statement has a parameter :client; did you mean `clients`?"),
    ("queries q.sql --set statement=q1", "no statement has a parameter :statement"),
    ("run q.sql --set statement=nope", "has no level `nope`"),
    ("run e.toml --set clients=", "a level is empty"),
    ("run e.toml --seed 1 --seed 2", "--seed: it is given twice"),
    ("try 'select 1' --budget 1s --budget 2s", "--budget: it is given twice"),
    ("why e.toml --cell a --cell b", "--cell: it is given twice"),
    ("run pg.sql --pgbench -D a=1 --define a=2", "`a` is defined twice"),
    ("run pg.sql --pgbench --scale 2 --scale 3", "--scale: it is given twice"),
    ("tour --only pk-lookup --only pk-lookup", "--only pk-lookup: it is given twice"),
    ("run e.toml --json a.json --csv ./a.json", "--csv: `--json` writes to a.json, too"),
    ("run e.toml --store ''", "--store: the value is empty"),
    ("run e.toml --dir ' '", "--dir: the value is empty"),
    ("run e.toml --system ''", "--system: the value is empty"),
    ("run ''", "EXPERIMENT: the value is empty"),
    ("compare '' last", "A: the value is empty"),
    ("run e.toml --system a=sqlite: --system a=null:", "`a` also names sqlite:#a"),
    ("run s.toml --set system=a=sqlite:,a=null:", "`a` also names sqlite:#a"),
    # Options of another kind of input.
    ("run e.toml --scale 2", "add `--pgbench`"),
    ("run q.sql --define a=1", "add `--pgbench`"),
    ("describe e.toml --define a=1", "add `--pgbench`"),
    ("run pg.sql --pgbench --define a=1", "--define a=1: no script uses `:a`"),
    ("run pg.sql --pgbench --scale 2 --system sqlite:own.db", "no script uses `:scale`"),
    ("run e.toml q.sql", "several experiments are named"),
    ("queries e.toml", "its name ends in neither `.sql` nor `.trace`"),
    ("run e.toml --rounds 3 --target 2%", "it has no effect with `--rounds 3`"),
    ("run e.toml --rounds 2 --budget 1m", "it has no effect with `--rounds 2`"),
    ("run e.toml --try-recommendations", "`e` has no recommendations"),
    ("run q.sql --try-recommendations", "has no recommendations"),
    ("run e.toml --design screening", "none of the 2 cells can be left out"),
    ("run e.toml --set cache=100 --interleave 20ms", "there is only one cell"),
    ("run e.toml --processors web=0", "no system here has a tier `web`"),
    ("run e.toml --system null: --same-durability power-safe", "dbdyno can't set its durability"),
    ("run e.toml --system null: --dir .", "dbdyno does not create databases for these systems"),
    ("run q.sql --system postgresql://db.example/app --dir .", "dbdyno does not create databases for these systems"),
    ("run h.toml --system http://127.0.0.1:1/ --dir .", "dbdyno does not create databases for these systems"),
    ("why e.toml --system null: --dir .", "dbdyno does not create databases for these systems"),
    ("run --system exec:true --dir .", "dbdyno does not create databases for these systems"),
    ("run --system exec:true --allow-writes", "dbdyno does not restrict writes on these systems"),
    ("why e.toml --system null: --allow-writes", "dbdyno does not restrict writes on these systems"),
    ("check null: --allow-writes", "--allow-writes: it has no effect on a system that does not run already"),
    ("run e.toml --system exec:true", "a program runs none of the statements of `e`"),
    ("run q.sql --system exec:true", "a program runs none of the statements"),
    ("try 'select 1' --system exec:true", "a program runs none of the statements"),
    ("describe pg.sql --pgbench --system exec:true", "a program runs none of the statements"),
    ("run --system exec:true --instructions", "does not run inside the worker"),
    ("run q.sql --translate", "--translate: these systems need no translation"),
    ("try 'select 1' --translate --system sqlite:", "--translate: these systems need no translation"),
    ("run pg.sql --pgbench --translate --system mysql:", "`pgbench-pg` says which SQL it is in"),
    ("describe pk-lookup --translate --system mysql:", "`pk-lookup` says which SQL it is in"),
    ("run --system exec:true --translate", "does not contain statements"),
    # Commands that measure only with one of their options.
    ("run --resume last --rounds 3", "--rounds: it has no effect with `--resume`"),
    ("run --resume last --design full", "--design: it has no effect with `--resume`"),
    ("run e.toml --resume last", "EXPERIMENT: it has no effect with `--resume`"),
    ("run --resume last --allow-writes", "--allow-writes: it has no effect with `--resume`"),
    ("describe e.toml --dir .", "--dir: it has no effect without `--check`"),
    ("describe e.toml --allow-writes", "--allow-writes: it has no effect without `--check`"),
    ("describe e.toml --check --allow-writes --system null:", "dbdyno does not restrict writes"),
    ("describe e.toml --toml --check", "--check: it has no effect with `--toml`"),
    ("describe e.toml --toml --set clients=2", "--set: it has no effect with `--toml`"),
    ("describe pg.sql --pgbench --toml --set clients=2", "--set clients=2: it has no effect with `--toml`"),
    ("describe e.toml --toml --system null:", "--system: it has no effect with `--toml`"),
    *(
        (f"gate --baseline last {option}", "it has no effect without `--against`")
        for option in (
            "--set clients=2",
            "--system sqlite:",
            "--seed 1",
            "--build make",
            "--rounds 3",
            "--budget 1m",
            "--interleave 20ms",
            "--dir .",
            "--allow-writes",
        )
    ),
    ("gate a --baseline b --count --metric p99", "--metric: it has no effect with `--count`"),
    ("gate a --baseline b --counts . --store s.db", "--store: it has no effect with `--count`"),
    ("gate e.toml --against null: --across-machines", "--across-machines: it has no effect with `--against`"),
    ("gate e.toml --against null: --count", "--count: it has no effect with `--against`"),
    ("gate e.toml --against null: --build make", "so `--build` has no effect"),
    ("noise e.toml --runs 3 --margin 2%", "--margin: it has no effect with `--runs`"),
    ("predict --from last --seed 3", "are of a new calibration"),
    ("cpu q.sql --set a=1", "--set: it has no effect with a file of SQL"),
    ("cpu Q.SQL --seed 3", "--seed: it has no effect with a file of SQL"),
    ("cpu --program x.c --once", "--once: it has no effect with `--program`"),
    ("cpu e.toml --counts .", "--counts: it has no effect without `--save` and `--baseline`"),
    ("cpu --self --once", "--once: it has no effect with `--self`"),
    ("cpu annotate a --report a.html --top 3", "--top: it has no effect with `--report`"),
    ("cpu annotate a --function f --order file", "--order: it has no effect with `--function`"),
    ("baseline --remove", "--remove: it has no effect without a name"),
    ("baseline a last --remove", "RUN: it has no effect with `--remove`"),
    # Settings of a URL.
    *(
        (f"describe {file} --system '{url}'", words)
        for file, url, words in (
            ("e.toml", "null:?a=1", "the null engine has no settings"),
            ("e.toml", "sqlite:?journal_mode=wal&journal_mode=delete", "`journal_mode` is set twice"),
            ("e.toml", "sqlite:?journal_mode=", "`journal_mode=` is not a setting"),
            ("e.toml", "sqlite:?nosuch=1", "unknown SQLite setting `nosuch`"),
            ("e.toml", "duckdb:?threads=1&THREADS=2", "`THREADS` is set twice"),
            ("e.toml", "mysql:?sort_buffer_size=1M&sort-buffer-size=2M", "`sort-buffer-size` is set twice"),
            ("e.toml", "mysql:?engine=myisam", "engine: no effect: the experiment doesn't create tables"),
            ("e.toml", "mysql://h/db?ssl-mode=required&sslmode=disable", "this option is given twice, by two names"),
            ("e.toml", "postgresql:?index_directory=/x", "index_directory: no effect"),
            ("e.toml", "postgresql:?program=", "program: the value is empty"),
            ("e.toml", "postgresql://h/db?program=/x", "only servers that dbdyno starts have this setting"),
            (
                "e.toml",
                "postgresql:///db?host=/run/x&sslmode=require",
                "connections to a Unix socket are not encrypted",
            ),
            ("e.toml", "postgresql:///db?host=/run/x&sslrootcert=/x", "connections to a Unix socket are not encrypted"),
            ("e.toml", "postgresql:///db?host=h&dbname=other", "the database is given twice"),
            ("e.toml", "postgresql://h/db?password=x", "also the setting `password`"),
            ("e.toml", "postgresql://me@/db", "the host is missing"),
            ("h.toml", "http://h/?verify=off", "verify: no effect"),
            ("h.toml", "http://h/?ca=/x", "ca: no effect"),
            ("h.toml", "https://h/?verify=off&ca=/x", "ca: no effect"),
            ("h.toml", "http://h/?nosuch=1", "unknown option `nosuch`"),
            (
                "h.toml",
                "web:?servers=1&processors.proxy=1",
                "processors.proxy: no effect: the system doesn't have this tier",
            ),
            ("h.toml", "web://h/", "dbdyno starts these web servers"),
        )
    ),
)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    directory = tmp_path_factory.mktemp("dropped")
    for name, text in FILES.items():
        (directory / name).write_text(text)
    return Cli(directory)


@pytest.mark.parametrize(("command", "words"), TABLE, ids=[command for command, _ in TABLE])
def test_what_has_no_effect_is_an_error(there: Cli, command: str, words: str) -> None:
    errors = there(*shlex.split(command), code=2)
    assert words in errors
    assert errors.startswith("dbdyno: ") and errors.count("\n") == 1


# What is like it, and has an effect.
DESCRIBED = (
    "e.toml --set cache=100 --system null: --system sqlite:",
    "e.toml --set ' clients = 4 '",
    "pg.sql --pgbench --set clients=4",
    "p.sql --set id=1..3 --set statement=one",
    "p.sql --set id=1..3 --toml",
    "pg.sql --pgbench --define n=2",
    "Q.SQL",
    "s.toml --set system=null:",
    "x.toml --system 'exec:true {rows}' --set rows=5",
    "e.toml --system sqlite: --system sqlite:",
    "e.toml --system a=sqlite: --system b=sqlite:",
    "e.toml --system sqlite: --system sqlite:#2 --system null: --system null:#2",
    "e.toml --system 'postgresql:///db?host=/run/x&sslmode=disable'",
    "h.toml --system 'https://h/?verify=off'",
    "h.toml --system 'web:?servers=2&processors.proxy=1'",
)


@pytest.mark.parametrize("arguments", DESCRIBED)
def test_what_has_an_effect_is_taken(there: Cli, arguments: str) -> None:
    assert there("describe", *shlex.split(arguments))


def test_clients_that_were_chosen_are_measured(there: Cli) -> None:
    assert "4 clients" in there("describe", "pg.sql", "--pgbench", "--set", "clients=4")
    assert "cell clients=4" in there("describe", "pg.sql", "--pgbench", "--set", "clients=4")
