"""The order of the keys that a trial inserts, read from its plan."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.result.reading import JsonObject, count, objects, part

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
    def of(cls, task: JsonObject) -> NewKeys:
        """Read the kind from a trial's task: from the first parameter that is a UUID or a serial number."""
        for transaction in objects(task.get("transactions")):
            for step in objects(transaction.get("steps")):
                for param in objects(step.get("params")):
                    if param.get("kind") == "serial":
                        return cls("serial")
                    if param.get("kind") == "uuid":
                        return cls._of_version(param)
        return cls("")

    @classmethod
    def _of_version(cls, param: JsonObject) -> NewKeys:
        version = param.get("version")
        if not isinstance(version, dict):
            return cls(str(version))
        kind = next(iter(version), "")
        options = part(version, kind)
        size = count(options, "block_size") or count(options, "interval_length") or 1
        blocks = count(options, "block_count") or count(options, "interval_count") or 1
        if blocks == 1:
            # Without a prefix, the whole key is random.
            return cls("v4")
        # The prefix consists of whole bytes. Its range is divided so that it repeats as requested.
        prefixes = 256 ** -(-(blocks - 1).bit_length() // 8)
        return cls(kind, max(1, size * blocks // prefixes), prefixes)
