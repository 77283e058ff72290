"""The order of the keys that a trial inserts, read from its plan."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.plan.generators import SequenceBlocked, Serial, TimeBlocked, Uuid, UuidVersion
from dbdyno.model.plan.steps import Execute
from dbdyno.model.plan.tasks import TrialTask

#: Kinds whose new keys are inserted after all existing ones.
AT_THE_EDGE = frozenset({"v7", "v7_monotonic", "ulid", "serial"})

#: Kinds whose new keys are inserted at random positions.
ANYWHERE = frozenset({"v4"})


@dataclass(frozen=True, slots=True)
class NewKeys:
    """The kind of the inserted keys as named in plans; empty if the trial inserts none.

    For kinds with a repeating prefix: ``block`` is the number of keys or seconds that share a prefix, ``prefixes`` the
    number of prefixes.
    """

    kind: str
    block: int = 0
    prefixes: int = 0

    @classmethod
    def of(cls, task: TrialTask | None) -> NewKeys:
        """Return the kind from the first parameter of a trial's task that is a UUID or a serial number."""
        transactions = () if task is None else task.transactions
        steps = (step for transaction in transactions for step in transaction.steps)
        for param in (param for step in steps if isinstance(step, Execute) for param in step.params):
            if isinstance(param, Serial):
                return cls("serial")
            if isinstance(param, Uuid):
                return cls._of_version(param.version)
        return cls("")

    @classmethod
    def _of_version(cls, version: UuidVersion) -> NewKeys:
        match version:
            case TimeBlocked(time_blocked=blocks):
                return cls._of_blocks("time_blocked", blocks.interval_length, blocks.interval_count)
            case SequenceBlocked(sequence_blocked=blocks):
                return cls._of_blocks("sequence_blocked", blocks.block_size, blocks.block_count)
        return cls(version)

    @classmethod
    def _of_blocks(cls, kind: str, size: int, blocks: int) -> NewKeys:
        if blocks == 1:
            # Without a prefix, the whole key is random.
            return cls("v4")
        # The prefix consists of whole bytes. Its range is divided so that it repeats as requested.
        prefixes = 256 ** -(-(blocks - 1).bit_length() // 8)
        return cls(kind, max(1, size * blocks // prefixes), prefixes)
