"""Whose password is missing when a run goes on."""

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.passwords import password_of
from dbdyno.engines.url import parse_url
from dbdyno.run.passwords import check_stored, named_with_password, with_passwords

STORED = [parse_url("postgresql://me@h/d?work_mem=1MB"), parse_url("sqlite:")]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD"):
        monkeypatch.delenv(name, raising=False)


def test_a_password_goes_to_the_system_it_is_of_and_the_stored_settings_stay() -> None:
    given = [parse_url("postgresql://me:s3cr3t@h/d")]
    found = with_passwords(STORED, [STORED[0].name], given)
    assert [(each.name, each.password) for each in found] == [(STORED[0].name, "s3cr3t"), ("sqlite:", None)]


def test_what_had_no_password_needs_none() -> None:
    assert list(with_passwords(STORED, [], [])) == STORED


def test_a_password_can_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"is not stored; .*or set PGPASSWORD"):
        with_passwords(STORED, [STORED[0].name], [])
    monkeypatch.setenv("PGPASSWORD", "s3cr3t")
    assert password_of(with_passwords(STORED, [STORED[0].name], [])[0]) == "s3cr3t"


@pytest.mark.parametrize("url", ["postgresql://you:s3cr3t@h/d", "mysql://me:s3cr3t@h/d", "postgresql://me:s3cr3t@h/e"])
def test_another_system_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match="not of this system; its systems: postgresql://me@h/d") as error:
        with_passwords(STORED, [], [parse_url(url)])
    assert "s3cr3t" not in str(error.value)


def test_a_password_in_the_experiment_is_told_of() -> None:
    check_stored(STORED)
    with pytest.raises(InputError, match=r"names postgresql.* with a password, which is not stored"):
        check_stored([parse_url("postgresql://***@h/d")])


def test_those_with_a_password_are_named_once() -> None:
    systems = [parse_url("mysql://me:s3cr3t@h/d"), parse_url("mysql://me:s3cr3t@h/d"), parse_url("mysql://me@h/d")]
    assert named_with_password(systems) == ["mysql://me@h/d"]
