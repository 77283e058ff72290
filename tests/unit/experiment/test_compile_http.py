"""What an HTTP service gets of an experiment: requests, and nothing that it cannot do."""

from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.http.settings import HttpSettings, is_in_effect, read_settings
from dbdyno.engines.url import parse_url
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.compile.describe import describe
from dbdyno.experiment.design import make_cells
from experiment_files import HEAD, LOAD, TABLE, compiled, experiment, plan_schema, small, steps, task_json

URL = "http://127.0.0.1:8080/"
TARGET = {"engine": "http", "host": "h", "port": 1}


def requests(text: str, **more: Any) -> list[dict[str, Any]]:
    # A table within a line is on one line.
    (cell,) = compiled(steps(" ".join(text.split()), **more), URL)
    plan = cell.plan(TARGET, 1).json
    assert [error.message for error in plan_schema().iter_errors(plan)] == []
    return [each["request"] for each in task_json(cell)["statements"]]


def test_a_request_is_cut_at_its_places() -> None:
    text = """{ set = "v", value = 1 }, { request = "PUT /a/{id}/{{x}}?k={v}", params = { id = 5 },
        query = { q = "{id}-{v}", n = 7, t = true }, headers = { cookie = "s={v}" }, expect = [200, 204],
        into = { a = { header = "x" }, b = { cookie = "c" }, c = { json = "/d/0" }, d = { regex = "e(f)" },
                 e = { status = true }, f = { body = true }, g = { json = "" } } }"""
    (made,) = requests(text)
    assert made == {
        "method": "PUT",
        "path": ["/a/", 0, "/{x}?k=", 1],
        "query": [
            {"name": "q", "value": [0, "-", 1]},
            {"name": "n", "value": ["7"]},
            {"name": "t", "value": ["true"]},
        ],
        "headers": [{"name": "cookie", "value": ["s=", 1]}],
        "expect": [200, 204],
        "take": [
            {"from": "header", "name": "x"},
            {"from": "cookie", "name": "c"},
            {"from": "json", "pointer": "/d/0"},
            {"from": "regex", "pattern": "e(f)"},
            {"from": "status"},
            {"from": "body"},
            {"from": "json", "pointer": ""},
        ],
    }


def test_parameters_are_given_once_each() -> None:
    text = """{ set = "v", value = 1 }, { request = "GET /{id}/{v}/{id}", params = { id = { key = "user.id" } } }"""
    (cell,) = compiled(steps(text, table=TABLE), URL)
    step = task_json(cell)["transactions"][0]["steps"][1]
    assert [each["kind"] for each in step["params"]] == ["reference", "variable"]
    # The tables are the service's own: they are named, and not made.
    assert (cell.before, cell.tables, cell.after) == ([], [], [])


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ('body = "a{v}b"', {"kind": "text", "text": ["a", 0, "b"]}),
        ('form = { "a b" = "{v}", c = 1 }', {"kind": "form", "fields": [
            {"name": "a b", "value": [0]}, {"name": "c", "value": ["1"]}]}),
        ('json = { a = "{v}", b = ["x{v}\\"", 1.5, true], c = {} }', {"kind": "json", "pieces": [
            '{"a":', 0, ',"b":["x', {"within": 0}, '\\"",1.5,true],"c":{}}']}),
        ('json = "{v}"', {"kind": "json", "pieces": [0]}),
        ('json = []', {"kind": "json", "pieces": ["[]"]}),
    ],
)  # fmt: skip
def test_a_body_is_a_text_a_form_or_json(given: str, body: dict[str, Any]) -> None:
    (made,) = requests(f'{{ set = "v", value = 1 }}, {{ request = "POST /", {given} }}')
    assert made["body"] == body


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ('request = "get /"', "`get` is not a method; use capital letters, such as `GET` or `POST`"),
        ('request = "/"', "is not a request; give method and path"),
        ('request = "GET users"', 'the path "users" does not begin with `/`'),
        ('request = "GET http://host/users"', "the system's URL names the service"),
        ('request = "GET /a b"', 'contains the character " "'),
        ('request = "GET /a#b"', "contains `#`"),
        ('request = "GET /{id"', "has a single brace; double it"),
        ('request = "GET /{}"', "has a placeholder without a name"),
        ('request = "GET /{id}"', "no value for `{id}`; give it in `params`"),
        ('request = "GET /", params = { id = 1 }', "no placeholder for `id`; write `{id}` where the value belongs"),
        ('request = "GET /", body = "a", json = 1', "several bodies: `body` and `json`; keep one"),
        ('request = "GET /", expect = 99', "99 is out of range; give a number at least 200"),
        ('request = "GET /", into = { a = { json = "b.c" } }', "is not a JSON pointer; begin with `/`, such as `/b/c`"),
        ('request = "GET /", into = { a = { json = "/b", header = "c" } }', "a variable needs exactly one source"),
        ('request = "GET /", querry = {}', "unknown key; did you mean `query`?"),
        ('execute = { http = "GET /" }', 'is not a request; write a step such as `{ request = "GET /users/{id}" }`'),
    ],
)
def test_a_wrong_request_is_told_in_one_line(step: str, says: str) -> None:
    with pytest.raises(InputError) as told:
        steps(f"{{ {step} }}")
    assert says in str(told.value)
    assert str(told.value).startswith("small.toml: transactions[0].steps[0]")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("step", "url", "says"),
    [
        ('execute = "select 1"', URL, "`select 1` cannot be sent to a service: it is SQL"),
        ('begin = "deferred" }, { commit = true', URL, "the step `begin` of `t` is not possible on http"),
        (
            'request = "GET /"',
            "sqlite:",
            "the step `GET /` of `t` is not possible on sqlite, which doesn't accept requests",
        ),
    ],
)
def test_what_an_engine_cannot_do_is_told(step: str, url: str, says: str) -> None:
    with pytest.raises(InputError) as told:
        compiled(steps(f"{{ {step} }}"), url)
    assert says in str(told.value)


def test_one_experiment_can_be_for_databases_and_services() -> None:
    text = """{ execute = "select * from user where id = ?", params = [1], engines = ["sqlite"] },
        { request = "GET /user/1", engines = ["http"] }, { commit = true, optional = true, engines = ["http"] }"""
    made = steps(text)
    assert [len(task_json(compiled(made, url)[0])["statements"]) for url in ("sqlite:", URL)] == [1, 1]


def test_a_setup_is_no_request() -> None:
    made = experiment(
        HEAD, 'setup = ["analyze"]\n', TABLE, LOAD, '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /" }]'
    )
    with pytest.raises(InputError, match="`analyze` cannot be sent to a service"):
        compiled(made, URL)


def test_what_is_sent_is_described() -> None:
    text = """{ request = "POST /a/{id}", params = { id = 1 }, query = { q = 1 }, headers = { x = "y" },
        json = { a = "{id}" }, into = { n = { status = true } } }"""
    (cell,) = compiled(steps(" ".join(text.split())), URL)
    (described,) = describe(cell).transactions
    assert described.lines == ('POST /a/{id}?q=1; x: y; json {"a": "{id}"}   -- 1   -> n',)


@pytest.mark.parametrize(
    ("url", "name", "parts"),
    [
        (URL, URL, ("http", "127.0.0.1", 8080, None, "")),
        ("https://web.example", "https://web.example/", ("http", "web.example", None, None, "https")),
        ("HTTPS://me:word@web.example/api/v1?version=2", "https://web.example/api/v1?version=2",
         ("http", "web.example", None, "api/v1", "https")),
        ("http://[::1]:80/?keepalive=off#mine", "http://[::1]:80/?keepalive=off#mine",
         ("http", "[::1]", 80, None, "")),
    ],
)  # fmt: skip
def test_urls_keep_their_scheme_and_lose_their_user(url: str, name: str, parts: tuple[Any, ...]) -> None:
    spec = parse_url(url)
    assert spec.name == name
    assert (spec.engine, spec.host, spec.port, spec.database, spec.scheme) == parts
    assert spec.user is None
    assert spec.password == ("me:word" if "me:word" in url else None)


def test_options_are_read() -> None:
    made = read_settings({"keepalive": False, "version": 1.1, "timeout": "0.5", "verify": "off"}, "u")
    assert made == HttpSettings(
        keepalive=False, verify=False, timeout_s=0.5,
        given={"keepalive": "off", "version": "1.1", "timeout": "0.5", "verify": "off"},
    )  # fmt: skip
    assert read_settings({"version": 2}, "u").version == "2"
    assert is_in_effect("keepalive", "off", "off")
    assert not is_in_effect("version", "2", "1.1")
    assert is_in_effect("timeout", "0.50", "0.5")
    assert is_in_effect("verify", "off", None) is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"keepalife": "on"}, "u: keepalife: unknown option `keepalife`; did you mean `keepalive`?"),
        ({"version": "3"}, "u: version: unsupported HTTP version `3`; write `1.1` or `2`"),
        ({"version": "2", "keepalive": "off"}, "u: keepalive: HTTP/2 always keeps connections open"),
        ({"timeout": "soon"}, "u: timeout: `soon` is not a number of seconds"),
        ({"ca": "/no/such/file"}, "u: ca: no such file: /no/such/file"),
        ({"verify": "maybe"}, "u: verify: `maybe` is neither on nor off"),
    ],
)
def test_a_wrong_option_is_told(settings: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as told:
        read_settings(settings, "u")
    assert says in str(told.value)


def test_the_factor_decides_whether_connections_are_kept() -> None:
    transactions = (
        '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /" }]\n[system.http]\nkeepalive = "${kept}"\n'
    )
    made = small('\n[factors]\nkept = ["on", "off"]\n', transactions=transactions)
    cells = make_cells(made, systems=[parse_url(URL)]).cells
    settings = [compile_cell(made, cell).settings for cell in cells]
    assert [each.keepalive for each in settings if isinstance(each, HttpSettings)] == [True, False]
