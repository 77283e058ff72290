"""Transactions end on each path through their steps, on each engine that has the steps."""

import pytest

from dbdyno.base.errors import InputError
from experiment_files import compiled, steps

BEGIN, COMMIT, ROLLBACK = '{ begin = "deferred" }', "{ commit = true }", "{ rollback = true }"
ONE = '{ execute = "select 1" }'
SET = '{ set = "x", value = { uniform = [1, 2] } }'


def when(then: str, otherwise: str = "") -> str:
    end = f", else = [{otherwise}]" if otherwise else ""
    return f'{{ when = "x > 1", then = [{then}]{end} }}'


def refused(*each: str, url: str = "sqlite:") -> str:
    with pytest.raises(InputError) as caught:
        compiled(steps(", ".join(each)), url)
    return str(caught.value).removeprefix("small.toml: transactions[0].")


@pytest.mark.parametrize(
    "each",
    [
        (BEGIN, ONE, COMMIT),
        (SET, BEGIN, when(COMMIT, ROLLBACK)),
        (SET, BEGIN, when(f"{ONE}, {COMMIT}, {BEGIN}"), COMMIT),
        (SET, when(f"{BEGIN}, {ONE}, {COMMIT}"), ONE),
        (f"{{ repeat = 3, steps = [{BEGIN}, {ONE}, {COMMIT}] }}",),
        (BEGIN, f"{{ repeat = {{ uniform = [1, 3] }}, steps = [{ONE}, {COMMIT}, {BEGIN}] }}", COMMIT),
        (f"{{ chance = 1, then = [{BEGIN}] }}", ONE, COMMIT),
        (f"{{ chance = 0, then = [{BEGIN}] }}", ONE),
        ('{ execute = "BEGIN READ ONLY" }', ONE, COMMIT),
        (BEGIN, ONE, '{ execute = "commit" }'),
    ],
)
def test_paths_that_end_are_accepted(each: tuple[str, ...]) -> None:
    assert compiled(steps(", ".join(each)))


def test_the_message_has_the_path_on_which_a_transaction_is_left_open() -> None:
    told = "`t`: the transaction is begun, but not ended{}; add `{{ commit = true }}` to the path"
    assert refused(BEGIN, ONE) == "steps[0]: " + told.format("")
    past = ", on the path through `transactions[0].steps[2].{}`"
    assert refused(SET, BEGIN, when(COMMIT, ONE)) == "steps[1]: " + told.format(past.format("else"))
    assert refused(SET, BEGIN, when(COMMIT)) == "steps[1]: " + told.format(past.format("else"))
    assert refused(SET, BEGIN, when(ONE, ROLLBACK)) == "steps[1]: " + told.format(past.format("then"))
    assert "begun, but not ended" in refused(BEGIN, f"{{ chance = 0.5, then = [{COMMIT}] }}")
    each = f'{{ execute = "select 1", into = ["x"], each = [{COMMIT}] }}'
    assert "begun, but not ended" in refused(BEGIN, each)


def test_a_step_that_ends_a_closed_transaction_is_refused() -> None:
    assert refused(ONE, COMMIT) == (
        'steps[1]: `t`: on a path to this `commit`, no transaction is open; add `{ begin = "deferred" }` before it'
    )
    assert refused(SET, BEGIN, when(ROLLBACK), COMMIT) == (
        "steps[3]: `t`: on a path to this `commit`, `transactions[0].steps[2].then[0]` has already ended the "
        "transaction; move this step to a path on which the transaction is open"
    )
    assert "no transaction is open" in refused('{ execute = "rollback to a" }', COMMIT)
    assert "already ended" in refused(BEGIN, f"{{ repeat = 2, steps = [{COMMIT}] }}")


def test_a_transaction_in_a_transaction_is_refused() -> None:
    assert refused(BEGIN, BEGIN, COMMIT) == (
        "steps[1]: `t`: on a path to this `begin`, the transaction of `transactions[0].steps[0]` is still open; "
        "add `{ commit = true }` before it"
    )
    assert "still open" in refused(f"{{ repeat = 2, steps = [{BEGIN}] }}", COMMIT)


def test_steps_count_on_their_engines() -> None:
    elsewhere = '{ commit = true, engines = ["mysql"] }'
    assert compiled(steps(", ".join((BEGIN, ONE, elsewhere))), "mysql:")
    assert "begun, but not ended" in refused(BEGIN, ONE, elsewhere)


def test_a_begin_for_each_engine_is_not_omitted() -> None:
    begins = '{ begin = "deferred", engines = ["sqlite"] }, { begin = "serializable", engines = ["postgresql"] }'
    each = f"{begins}, {ONE}, {COMMIT}"
    assert [compiled(steps(each), url)[0].left_out for url in ("sqlite:", "postgresql:")] == [(), ()]
    own = '{ begin = "deferred", engines = ["sqlite"] }, { commit = true, engines = ["sqlite"] }'
    assert compiled(steps(f"{own}, {ONE}"), "mysql:")[0].left_out == ("begin", "commit")
