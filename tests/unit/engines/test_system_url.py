"""URLs of systems, and the settings of SQLite."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.base.errors import InputError
from dbdyno.engines import names_program
from dbdyno.engines.sqlite.settings import SqliteSettings, read_settings
from dbdyno.engines.url import label_duplicates, parse_url
from dbdyno.model.plan.system import SystemSpec


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:", SystemSpec("sqlite", name="sqlite:")),
        ("SQLite3:", SystemSpec("sqlite", name="sqlite:")),
        ("sqlite", SystemSpec("sqlite", name="sqlite:")),
        (
            "postgresql:///db?host=/run/postgresql&port=5433&sslmode=disable",
            SystemSpec(
                "postgresql",
                host="/run/postgresql",
                port=5433,
                database="db",
                settings={"sslmode": "disable"},
                name="postgresql://%2Frun%2Fpostgresql:5433/db?sslmode=disable",
            ),
        ),
        ("my-own=sqlite", SystemSpec("sqlite", name="sqlite:#my-own", label="my-own")),
        (
            "fast=sqlite:?synchronous=off",
            SystemSpec("sqlite", settings={"synchronous": "off"}, name="sqlite:?synchronous=off#fast", label="fast"),
        ),
        ("old=exec:./old --n=5", SystemSpec("exec", name="exec:./old --n=5 #old", command="./old --n=5", label="old")),
        ("exec:./old #old", SystemSpec("exec", name="exec:./old #old", command="./old", label="old")),
        ("exec:./a=b", SystemSpec("exec", name="exec:./a=b", command="./a=b")),
        ("postgresql", SystemSpec("postgresql", name="postgresql:")),
        ("mariadb", SystemSpec("mysql", name="mysql:")),
        ("sqlite:/a/b.db", SystemSpec("sqlite", database="/a/b.db", name="sqlite:/a/b.db")),
        ("sqlite:///a/b.db", SystemSpec("sqlite", database="/a/b.db", name="sqlite:/a/b.db")),
        ("sqlite:b.db", SystemSpec("sqlite", database="b.db", name="sqlite:b.db")),
        (
            "sqlite:?source=/s&cflags=-Os -DSQLITE_THREADSAFE=2",
            SystemSpec(
                "sqlite",
                settings={"source": "/s", "cflags": "-Os -DSQLITE_THREADSAFE=2"},
                name="sqlite:?source=/s&cflags=-Os -DSQLITE_THREADSAFE=2",
            ),
        ),
        (
            "sqlite:?cflags=a%26b%25+c",
            SystemSpec("sqlite", settings={"cflags": "a&b%+c"}, name="sqlite:?cflags=a%26b%25+c"),
        ),
        (
            "postgres://me:secret@[::1]:5433/db?fsync=off",
            SystemSpec(
                "postgresql",
                "[::1]",
                5433,
                "me",
                "secret",
                "db",
                {"fsync": "off"},
                "postgresql://me@[::1]:5433/db?fsync=off",
            ),
        ),
        ("mysql:?engine=myisam", SystemSpec("mysql", settings={"engine": "myisam"}, name="mysql:?engine=myisam")),
        ("mysql:?sql_mode=", SystemSpec("mysql", settings={"sql_mode": ""}, name="mysql:?sql_mode=")),
        ("postgresql://host/db", SystemSpec("postgresql", host="host", database="db", name="postgresql://host/db")),
        ("mysql://h:65535", SystemSpec("mysql", "h", 65535, name="mysql://h:65535/")),
        ("null:", SystemSpec("null", name="null:")),
    ],
)
def test_urls(url: str, expected: SystemSpec) -> None:
    assert parse_url(url) == expected
    assert "secret" not in repr(parse_url(url))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "/tmp/my.db",
            "/tmp/my.db: this is not the URL of a system; write one such as `sqlite:`, `sqlite:/path/to/file.db` "
            "or `postgresql:?fsync=off`",
        ),
        ("exec", "exec: the command is missing; write `exec:./my-program --its-options`"),
        ("postgre", "postgre: unknown engine `postgre`; did you mean `postgres:`?"),
        ("sqlit:", "sqlit:: unknown engine `sqlit`; did you mean `sqlite:`?"),
        ("sqlite://host/x", "sqlite://host/x: `sqlite` has no host; write `sqlite:/path/to/file.db`, or `sqlite:`"),
        ("sqlite:?a", "sqlite:?a: `a` is not a setting; write `name=value`"),
        ("sqlite:?a=", "sqlite:?a=: `a=` is not a setting; write `name=value`"),
        ("mysql:?a", "mysql:?a: `a` is not a setting; write `name=value`"),
        ("sqlite:?a=1&a=2", "sqlite:?a=1&a=2: `a` is set twice; remove one"),
        ("mysql:db", "mysql:db: a host begins with `//`; write `mysql://host/database`, or `mysql:`"),
        (
            "mysql://me:secret@h:x/d",
            "mysql://me@h:x/d: the host cannot be read; write `mysql://user:password@host:port/database`",
        ),
        ("postgresql://h:99999/d", "postgresql://h:99999/d: invalid port 99999; give one from 1 to 65535"),
        ("postgresql://h:65536", "postgresql://h:65536: invalid port 65536; give one from 1 to 65535"),
        ("mysql://me:secret@h:0/d", "mysql://me@h:0/d: invalid port 0; give one from 1 to 65535"),
        (f"mysql://h:{'9' * 5000}", f"mysql://h:{'9' * 5000}: invalid port {'9' * 20}; give one from 1 to 65535"),
    ],
)
def test_transcript_of_urls(url: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_url(url)
    assert str(caught.value) == expected


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(min_size=1, max_size=9), max_size=4))
def test_the_name_of_a_system_is_a_url_of_it(settings: dict[str, str]) -> None:
    settings = {name: value.strip() for name, value in settings.items() if value.strip()}
    escapes = str.maketrans({"%": "%25", "&": "%26", "#": "%23"})
    query = "&".join(f"{name}={value.translate(escapes)}" for name, value in settings.items())
    spec = parse_url("sqlite:?" + query)
    assert spec.settings == settings
    assert parse_url(spec.name) == spec


def test_a_system_named_twice_is_told_apart() -> None:
    specs = [
        parse_url(url) for url in ("sqlite:", "sqlite:?cache_size=9", "sqlite:", "sqlite:#a", "sqlite:", "sqlite:#a")
    ]
    apart = label_duplicates(specs)
    names = ["sqlite:", "sqlite:?cache_size=9", "sqlite:#2", "sqlite:#a", "sqlite:#3", "sqlite:#a.2"]
    assert [spec.name for spec in apart] == names
    assert [parse_url(name) for name in names] == apart


@given(st.text(max_size=30))
def test_any_text_is_a_url_or_a_error(text: str) -> None:
    with suppress(InputError):
        assert parse_url(text).name


def test_settings_of_sqlite() -> None:
    assert read_settings(
        {
            "journal_mode": "WAL",
            "cache": "shared",
            "page_size": 8192,
            "encoding": "utf-16le",
            "foreign_keys": True,
            "synchronous": "default",
            "busy_timeout": "5000",
            "library_threading": 2,
            "mmap_size": 0,
            "auto_vacuum": "full",
        },
        "x",
    ) == SqliteSettings(
        cache="shared",
        library_threading=2,
        busy_timeout_ms=5000,
        load_pragmas=(("page_size", "8192"), ("encoding", "'UTF-16le'"), ("auto_vacuum", "full")),
        trial_pragmas=(("journal_mode", "wal"), ("foreign_keys", "1"), ("mmap_size", "0")),
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"jurnal_mode": "wal"}, "x: jurnal_mode: unknown SQLite setting `jurnal_mode`; did you mean `journal_mode`?"),
        ({"cache": "sharde"}, "x: cache: `sharde` is not one of private, shared; give one of private, shared"),
        ({"cache_size": "1; drop"}, "x: cache_size: `1; drop` is not an integer; give an integer"),
        ({"foreign_keys": "maybe"}, "x: foreign_keys: `maybe` is not on or off; give on or off"),
        (
            {"library": "/l.so", "cflags": "-O2"},
            "x: library: a library is given, so none is built; leave out `source`, `cflags` and `library_threading`",
        ),
    ],
)
def test_transcript_of_settings(settings: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(settings, "x")
    assert str(caught.value) == expected


@given(st.sampled_from(["journal_mode", "cache_size", "synchronous", "encoding", "mmap_size", "threads"]), st.text())
def test_no_value_of_a_pragma_can_hold_sql(name: str, value: str) -> None:
    try:
        settings = read_settings({name: value}, "x")
    except InputError:
        return
    for _, written in (*settings.load_pragmas, *settings.trial_pragmas):
        assert written.strip("'-").replace("-", "").isalnum()


def test_single_threaded() -> None:
    assert (
        read_settings({"cflags": "-O2 -DSQLITE_THREADSAFE=0"}, "x").single_threading_setting
        == "cflags=-DSQLITE_THREADSAFE=0"
    )
    assert (
        read_settings({"cflags": "-DSQLITE_THREADSAFE=0", "library_threading": 1}, "x").single_threading_setting is None
    )
    assert read_settings({"config_threading": "multi"}, "x").single_threading_setting is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me@localhost:5433/shop?host=/run/postgresql", "the URL has a host and also the setting `host`"),
        ("postgresql://me@localhost/shop?port=5433", "the URL has a host and also the setting `port`"),
        ("mysql://me@localhost/shop?password=s3cret", "the URL has a host and also the setting `password`"),
        ("postgresql:///shop?host=localhost&dbname=other", "the database is given twice"),
        ("postgresql:///shop?host=localhost&port=", "`port` is empty"),
        ("postgresql:///?user=me", "`user` is given without a host"),
        ("postgresql://me@/shop", "the host is missing"),
        ("postgresql://:5433/", "the host is missing"),
        ("postgresql:?work_mem=1MB&WORK_MEM=2MB", "`WORK_MEM` is set twice"),
        ("mysql:?sort_buffer_size=1M&sort-buffer-size=2M", "`sort-buffer-size` is set twice"),
    ],
)
def test_no_part_of_a_url_is_dropped(url: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        parse_url(url)
    assert words in str(error.value) and "s3cret" not in str(error.value)


def test_a_password_needs_no_user() -> None:
    spec = parse_url("postgresql:///shop?host=/run/postgresql&password=p%40ss")
    assert (spec.host, spec.user, spec.password, spec.database) == ("/run/postgresql", None, "p@ss", "shop")


@pytest.mark.parametrize("url", ["exec:./a {n}", "mine=exec:./a --x=1", " exec:./a"])
def test_a_program_is_one_by_whatever_name(url: str) -> None:
    assert names_program(url)


@pytest.mark.parametrize("url", ["sqlite:", "exec=sqlite:", "mine=sqlite:x.db", "nothing"])
def test_what_is_no_program(url: str) -> None:
    assert not names_program(url)
