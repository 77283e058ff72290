"""Systems set to the same durability."""

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.durability import with_durability
from dbdyno.engines.url import parse_url


@pytest.mark.parametrize(
    ("url", "wanted", "settings"),
    [
        ("sqlite:", "power-safe", {"synchronous": "extra"}),
        ("sqlite:?synchronous=full", "power-safe", {"synchronous": "full"}),
        ("sqlite:?journal_mode=wal#b", "process-safe", {"journal_mode": "wal", "synchronous": "off"}),
        ("postgresql:?fsync=on", "power-safe", {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}),
        (
            "mariadb:?engine=innodb",
            "process-safe",
            {"engine": "innodb", "innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
        ),
        (
            "web:?database=postgresql&servers=2",
            "process-safe",
            {"database": "postgresql", "servers": "2", "db.fsync": "off", "db.synchronous_commit": "on"},
        ),
        ("web:", "power-safe", {"db.synchronous": "extra"}),
        ("postgresql://me:word@h/d", "process-safe", {"fsync": "off", "synchronous_commit": "on"}),
    ],
)
def test_settings_are_added(url: str, wanted: str, settings: dict[str, str]) -> None:
    made, before = with_durability(parse_url(url), wanted), parse_url(url)
    assert dict(made.settings) == settings
    assert (made.engine, made.host, made.password, made.label) == (
        before.engine,
        before.host,
        before.password,
        before.label,
    )


@pytest.mark.parametrize(
    ("url", "wanted", "words"),
    [
        ("sqlite:", "safe", "--same-durability: unknown class `safe`; known: power-safe, process-safe"),
        ("sqlite:?synchronous=normal", "power-safe", "`synchronous` is set to `normal`"),
        ("postgresql:?fsync=off", "power-safe", "`fsync` is set to `off`, but power-safe requires `on`"),
        ("mysql:?engine=myisam", "power-safe", "tables of myisam cannot be power-safe"),
        ("web:?database=mysql&db.engine=myisam", "power-safe", "db.engine=myisam: mysql: tables of myisam cannot"),
        ("web:?database=null", "power-safe", "doesn't support the database `null`"),
        ("null:", "power-safe", "can't set its durability"),
        ("exec:true", "power-safe", "can't set its durability"),
    ],
)
def test_what_cannot_be_is_refused(url: str, wanted: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        with_durability(parse_url(url), wanted)
    assert words in str(raised.value)
