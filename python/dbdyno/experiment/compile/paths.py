"""Check on every path through a transaction's steps that what begins also ends."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dbdyno.model.experiment.strict import models_in
from dbdyno.model.experiment.transactions import (
    AnyStep,
    Begin,
    Chance,
    Commit,
    Execute,
    Repeat,
    Rollback,
    When,
)
from dbdyno.model.experiment.validation import Invalid, Location, key_path

# SQL that begins or ends transactions. Some of it, such as `commit and chain`, can't be written as steps.
_CONTROL = re.compile(r"\s*(?:begin|start|commit|end|abort|set|xa|rollback(?!.*\bto\b))\b", re.IGNORECASE | re.DOTALL)


class _State(NamedTuple):
    """A transaction at some point of a path.

    ``at``: the step that began or ended it; None before the first one. ``branch``: the last branch of the path in which
    the transaction is open.
    """

    is_open: bool = False
    at: Location | None = None
    branch: Location | None = None


_States = frozenset[_State]


class _Walk:
    """Follows all paths. ``errors``: by location, so that each step has at most one."""

    def __init__(self, applies: Callable[[AnyStep], bool]) -> None:
        self._applies = applies
        self.errors: dict[Location, Invalid] = {}

    def steps(self, steps: Sequence[AnyStep], where: Location, states: _States) -> _States:
        """Return the states after the steps."""
        for index, step in enumerate(steps):
            if self._applies(step):
                states = self._step(step, (*where, index), states)
        return states

    def _step(  # noqa: PLR0911 - one per kind
        self, step: AnyStep, where: Location, states: _States
    ) -> _States:
        match step:
            case Begin():
                return self._begin(where, states)
            case Commit() | Rollback():
                return self._end(type(step).__name__.lower(), where, states)
            case When():
                then, otherwise = _branch(states, (*where, "then")), _branch(states, (*where, "else"))
                after = self.steps(step.then, (*where, "then"), then)
                return after | self.steps(step.otherwise, (*where, "else"), otherwise)
            case Chance(chance=0):
                return states
            case Chance():
                after = self.steps(step.then, (*where, "then"), _branch(states, (*where, "then")))
                return after if step.chance == 1 else after | _branch(states, where)
            case Repeat():
                return self._loop(step.steps, (*where, "steps"), states, least=1 if isinstance(step.repeat, int) else 0)
            case Execute() if step.each:
                return self._loop(step.each, (*where, "each"), states, least=0)
        return states

    def _loop(self, steps: Sequence[AnyStep], where: Location, states: _States, least: int) -> _States:
        """``least``: the minimum number of iterations, 0 or 1."""
        after: _States = states if least == 0 else frozenset()
        begin = states
        while new := self.steps(steps, where, begin) - after:
            after |= new
            begin = new
        return after

    def _begin(self, where: Location, states: _States) -> _States:
        for begun in _places(states, is_open=True):
            problem = f"on a path to this `begin`, the transaction of `{key_path(begun)}` is still open"
            self._add(where, problem, "add `{ commit = true }` before it")
        return frozenset({_State(is_open=True, at=where)})

    def _end(self, verb: str, where: Location, states: _States) -> _States:
        for ended in _places(states, is_open=False):
            problem = f"on a path to this `{verb}`, `{key_path(ended)}` has already ended the transaction"
            self._add(where, problem, "move this step to a path on which the transaction is open")
        if _State() in {state._replace(branch=None) for state in states}:
            problem = f"on a path to this `{verb}`, no transaction is open"
            self._add(where, problem, 'add `{ begin = "deferred" }` before it')
        return frozenset({_State(at=where)})

    def _add(self, where: Location, problem: str, hint: str) -> None:
        self.errors.setdefault(where, Invalid(where, problem, hint))


def _branch(states: _States, branch: Location) -> _States:
    return frozenset(state._replace(branch=branch) if state.is_open else state for state in states)


def _places(states: _States, *, is_open: bool) -> list[Location]:
    places = {state.at for state in states if state.is_open == is_open and state.at is not None}
    return sorted(places, key=key_path)


def _controls_in_sql(steps: Sequence[AnyStep]) -> bool:
    return any(
        _CONTROL.match(text) for step in models_in(steps) if isinstance(step, Execute) for _, text in step.execute.texts
    )


def path_errors(steps: Sequence[AnyStep], where: Location, applies: Callable[[AnyStep], bool]) -> Iterator[Invalid]:
    """Yield an error for each step that can't begin or end the transaction on some path, and for an unended path.

    A condition, and a probability between 0 and 1, may have either outcome. ``where``: the place of the steps in the
    file. ``applies``: whether the engine has a step. Transactions with SQL that begins or ends them aren't checked.
    """
    if _controls_in_sql(steps):
        return
    walk = _Walk(applies)
    states = walk.steps(steps, where, frozenset({_State()}))
    yield from walk.errors.values()
    left_open = sorted((state for state in states if state.is_open), key=lambda state: key_path(state.at or ()))
    for state in left_open[:1]:
        path = "" if state.branch is None else f", on the path through `{key_path(state.branch)}`"
        problem = f"the transaction is begun, but not ended{path}"
        yield Invalid(state.at or where, problem, "add `{ commit = true }` to the path")
