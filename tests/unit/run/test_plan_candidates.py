"""The changes that an upgrade tries: settings that differ first, each once, and none that selects the build."""

from dbdyno.engines.url import parse_url
from dbdyno.run.plan_tries import candidates


def words(old: str, new: str, was: dict[str, str], now: dict[str, str]) -> list[str]:
    return [each.words for each in candidates(parse_url(old), parse_url(new), was, now)]


def test_a_setting_of_the_new_system_is_left_out_once() -> None:
    was, now = {"automatic_index": "1", "cache_size": "-2000"}, {"automatic_index": "0", "cache_size": "-2000"}
    assert words("sqlite:a.db", "sqlite:a.db?automatic_index=off", was, now) == [
        "without automatic_index=off",
        "`analyze`",
    ]


def test_settings_that_differ_as_read_back_come_before_statistics_and_switches() -> None:
    was, now = {"cache_size": "-2000", "page_count": "7"}, {"cache_size": "-500", "page_count": "9"}
    old, new = "sqlite:a.db?source=./old", "sqlite:a.db?source=./new"
    assert words(old, new, was, now | {"automatic_index": "1"}) == [
        "?cache_size=-2000",
        "`analyze`",
        "?automatic_index=off",
    ]


def test_the_flags_of_mysql_that_differ_come_first() -> None:
    was, now = {"optimizer_switch": "a=on,b=on,c=off"}, {"optimizer_switch": "a=on,b=off,c=off,d=on"}
    found = words("mysql://old/shop", "mysql://new/shop", was, now)
    assert found == [
        "?optimizer_switch=a=on,b=on,c=off",
        *(f"?optimizer_switch={flag}" for flag in ("b=on", "a=off", "c=on", "d=off")),
    ]


def test_switches_of_postgresql_that_are_set_already_are_not_tried() -> None:
    found = words("postgresql://old/shop", "postgresql://new/shop", {"jit": "on"}, {"jit": "off"})
    assert found[0] == "?jit=on" and "?jit=off" not in found
    assert "?enable_nestloop=off" in found and "?plan_cache_mode=force_custom_plan" in found
