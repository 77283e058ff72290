"""The tier that limits a system of several, by what each of them used of its processors."""

from typing import Any

import pytest

from dbdyno.analysis.bottleneck.server import diagnose_server
from dbdyno.analysis.bottleneck.tiers import tier_of
from dbdyno.analysis.findings.services import tier_findings
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.cell import Cell as MeasuredCell
from dbdyno.model.result.convert import from_json
from synthetic_events import result_of


def trial(client: float = 20.0, cores: int = 8, machine: float | None = None, **tiers: float | None) -> Any:
    """A second of nine clients; CPU in percent of one processor."""
    known = sum(each or 0.0 for each in tiers.values())
    return result_of(
        elapsed_s=1.0,
        watched_s=1.0,
        completed=100,
        accounting={"ok": 100, "issued": 100},
        time={"client_s": 9.0, "cpu_s": 0.2, "segments": {"client": 0.2, "server": 8.8}},
        cpu={
            "process_percent": client,
            "hottest_thread_percent": client / 2,
            "machine_percent": client + known if machine is None else machine,
            "cores": cores,
        },
        server={"cpu": {"process_percent": known}},
        tiers=[{"name": name.replace("_", " "), "cpu_percent": used} for name, used in tiers.items()],
    )


PINNED = {"web 1": [0], "web 2": [0], "database": [1]}


@pytest.mark.parametrize(
    ("made", "processors", "resource", "words"),
    [
        (trial(web_1=97, database=31), PINNED, "web tier", "web tier 97 % of 1 CPU, database 31 % of 1"),
        (trial(web_1=31, database=97), PINNED, "database", "database 97 % of 1 CPU"),
        (trial(web_1=48, web_2=48, database=31), PINNED, "web tier", "web tier 96 % of 1 CPU"),
        (trial(proxy=99, web_1=48, web_2=30, database=31), {**PINNED, "proxy": [2]}, "proxy tier", "proxy tier 99 %"),
        # The same use of more processors leaves room.
        (trial(web_1=97, database=31), {}, "unclear", "web tier 97 % of 8 CPUs"),
        # All together keep the machine busy: who used the most.
        (trial(cores=2, web_1=110, database=60), {}, "web tier", "all CPUs were busy"),
        (trial(cores=2, web_1=60, database=110), {}, "database", "all CPUs were busy"),
        (trial(client=100, cores=2, web_1=40, database=50), {}, "client", "all CPUs were busy"),
        # What one of them used is not known.
        (trial(web_1=None, database=97), PINNED, "unclear", "CPU"),
    ],
)
def test_the_full_tier_is_named(made: Any, processors: dict[str, list[int]], resource: str, words: str) -> None:
    found = diagnose_server(made, 9, processors=processors)
    assert found is not None
    assert (found["resource"], words in found["evidence"]) == (resource, True), found


def test_one_client_waits_for_the_tier_that_computes() -> None:
    found = diagnose_server(trial(web_1=62, database=20), 1, processors={})
    assert found is not None
    assert found["resource"] == "web tier"
    assert "1 client waited for each answer: the web tier computed for 62 % of the time" in found["evidence"]


def test_a_full_tier_is_named_whatever_other_programs_do() -> None:
    found = diagnose_server(trial(machine=700.0, web_1=97, database=31), 9, processors=PINNED)
    assert found is not None and found["resource"] == "web tier"


@pytest.mark.parametrize(
    ("client", "web", "load", "resource"),
    [
        (97, 60, [3], "client"),
        # The fuller of two is what the other waits for.
        (97, 88, [3], "client"),
        (88, 97, [3], "web tier"),
        # The same use of more processors leaves room, and of all of them is not their own.
        (97, 60, [3, 4], "unclear"),
        # Those who share a processor fill it together: it is who used the most of it.
        (40, 55, [0], "web tier"),
        (55, 40, [0], "client"),
        (20, 55, [0], "unclear"),
        (97, 60, None, "unclear"),
    ],
)
def test_clients_that_fill_processors_of_their_own_are_the_bottleneck(
    client: float, web: float, load: list[int] | None, resource: str
) -> None:
    found = diagnose_server(trial(client=client, web_1=web, database=31), 9, processors=PINNED, load=load)
    assert found is not None and found["resource"] == resource, found
    both = f"client {client} % of 1 CPU", f"web tier {web} % of 1 CPU"
    if resource != "unclear":
        assert all(words in found["evidence"] for words in both)
    shared = "web tier and client saturated the 1 CPU that they share: "
    assert found["evidence"].startswith(shared) == (resource != "unclear" and load == [0])


def test_parts_of_a_tier_have_the_processors_of_all_of_them() -> None:
    apart = {"web 1": [0], "web 2": [1], "database": [2]}
    found = diagnose_server(trial(web_1=97, web_2=40, database=31), 9, processors=apart)
    assert found is not None and found["resource"] == "unclear"
    assert "web tier 137 % of 2 CPUs" in found["evidence"]


def test_other_programs_disturb_before_a_tier_is_blamed() -> None:
    found = diagnose_server(trial(machine=700.0, web_1=97, database=31), 9, processors={})
    assert found is not None and found["resource"] == "disturbed machine"


@pytest.mark.parametrize(
    ("part", "tier"), [("web 2", "web tier"), ("web", "web tier"), ("db", "database"), ("cache-1", "cache tier")]
)
def test_parts_are_of_tiers(part: str, tier: str) -> None:
    assert tier_of(part) == tier


def cell(name: str, resource: str, **rounds: Any) -> Any:
    made = {
        "id": name,
        "system": {"name": name},
        "cpu_percent": {"tiers": {"web 1": 97.0, "database": 31.0}},
        "bottleneck": {"resource": resource, "evidence": "web tier 97 % of 1 CPU", "advice": ""},
        "rounds": [{"failures": {}, "failed": {}, "error": None, **rounds}],
    }
    return from_json(MeasuredCell, made)


def test_systems_are_not_told_apart_while_the_web_tier_is_the_bottleneck() -> None:
    cells = [cell("a", "web tier"), cell("b", "web tier"), cell("c", "database")]
    (found,) = tier_findings(cells)
    assert found.cells == ["a", "b"]
    assert "The web tier was the bottleneck of 2 of 3 cells" in found.text
    assert "Differences between the databases behind it don't show" in found.text
    (found,) = tier_findings(cells[1:])
    assert "Differences" not in found.text
    assert list(tier_findings(cells[2:])) == []


def test_a_database_within_the_web_servers_is_not_said_to_be_unseen() -> None:
    within = [cell("a", "web tier"), cell("b", "web tier")]
    for each in within:
        del each.cpu_percent.tiers["database"]
    (found,) = tier_findings(within)
    assert "The database's share is unknown" in found.text
    assert "Differences" not in found.text and "doesn't show" not in found.text
    # Beside others, each is told of its own.
    first, second = tier_findings([within[0], cell("c", "web tier"), cell("d", "database")])
    assert (first.cells, second.cells) == (["a"], ["c"])
    assert "compare those" not in first.text and "compare those" in second.text


def threads(**parts: list[tuple[str, float]]) -> dict[str, Any]:
    """The busiest threads of parts, by name; each of a process of its own."""
    return {
        part.replace("_", " "): [
            {"name": name, "pid": 100 + number, "cpu_percent": used} for number, (name, used) in enumerate(known)
        ]
        for part, known in parts.items()
    }


def with_threads(made: Any, **parts: list[tuple[str, float]]) -> Any:
    known = threads(**parts)
    said = made.model_dump(mode="json")
    for tier in said["tiers"]:
        tier["threads"] = known.get(tier["name"], [])
    return TrialResult.model_validate(said)


@pytest.mark.parametrize(
    ("used", "known", "clients", "resource", "words"),
    [
        # One thread, or some beside which others do next to nothing.
        (
            {"web_1": 97},
            {"web_1": [("python3", 97)]},
            9,
            "web tier",
            "one thread, `python3` of process 100, which kept 97",
        ),
        ({"web_1": 99}, {"web_1": [("serve", 93), ("log", 6)]}, 9, "web tier", "one thread, `serve`"),
        (
            {"proxy": 190},
            {"proxy": [("nginx", 97), ("nginx", 93)]},
            9,
            "proxy tier",
            "2 threads, such as `nginx` of process 100",
        ),
        ({"database": 97}, {"database": [("postgres", 97)]}, 9, "database", "one thread, `postgres`"),
        # Another does a part, and could do more; or none is full.
        ({"web_1": 140}, {"web_1": [("a", 97), ("b", 43)]}, 9, "unclear", ""),
        ({"web_1": 97}, {"web_1": [("a", 50), ("b", 47)]}, 9, "unclear", ""),
        # Another web server has room.
        ({"web_1": 97, "web_2": 40}, {"web_1": [("a", 97)], "web_2": [("a", 40)]}, 9, "unclear", ""),
        ({"web_1": 97, "web_2": 92}, {"web_1": [("a", 97)], "web_2": [("a", 92)]}, 9, "web tier", "2 threads"),
        # As many clients as threads: each waits for its own answer, which other rules tell.
        ({"database": 190}, {"database": [("postgres", 97), ("postgres", 93)]}, 2, "database", "2 clients waited"),
        # Nothing was read of threads, as in runs before they were.
        ({"web_1": 97}, {}, 9, "unclear", ""),
    ],
)
def test_a_tier_of_full_threads_is_named_with_the_thread(
    used: dict[str, float], known: dict[str, Any], clients: int, resource: str, words: str
) -> None:
    found = diagnose_server(with_threads(trial(**used), **known), clients, processors={})
    assert found is not None
    assert (found["resource"], words in found["evidence"]) == (resource, True), found
    if resource.endswith("tier"):
        assert found["advice"] == f"more threads or processes of the {resource}, or another server for it"


def test_a_full_thread_is_told_whatever_other_programs_do() -> None:
    made = with_threads(trial(machine=700.0, web_1=97), web_1=[("a", 97)])
    found = diagnose_server(made, 9, processors={})
    assert found is not None and found["resource"] == "web tier"


def test_threads_that_take_turns_are_asked_about() -> None:
    made = with_threads(trial(web_1=97, database=31), web_1=[("a", 50), ("b", 47)])
    found = diagnose_server(made, 9, processors={})
    assert found is not None and "in 2 threads: if they take turns at a lock" in found["advice"]


@pytest.mark.parametrize(("used", "cores", "said"), [(97, 8, True), (60, 8, False), (190, 8, False)])
def test_a_tier_of_one_thread_is_asked_about(used: float, cores: int, said: bool) -> None:
    found = diagnose_server(trial(cores=cores, web=used, database=31), 9, processors={})
    assert found is not None and found["resource"] == "unclear"
    assert ("as much as one thread can use" in found["advice"]) == said
