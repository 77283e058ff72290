"""In what order the keys come that a trial inserts, by its plan."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.result.reading import JsonObject, count, objects, part

#: Kinds of which each new key goes behind all others.
AT_THE_EDGE = frozenset({"v7", "v7_monotonic", "ulid", "serial"})

#: Kinds whose new keys go anywhere.
ANYWHERE = frozenset({"v4"})


@dataclass(frozen=True, slots=True)
class NewKeys:
    """A kind of key, as plans call it; empty: what is inserted has none.

    Of kinds with a prefix that begins again: ``block``, how many keys, or seconds, share a prefix, and ``prefixes``,
    how many there are.
    """

    kind: str
    block: int = 0
    prefixes: int = 0

    @classmethod
    def of(cls, task: JsonObject) -> NewKeys:
        """Read a trial's task: the first value of a statement that is an identifier or a serial number."""
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
        of = part(version, kind)
        size = count(of, "block_size") or count(of, "interval_length") or 1
        blocks = count(of, "block_count") or count(of, "interval_count") or 1
        if blocks == 1:
            # Without bits for a prefix, all of it is random.
            return cls("v4")
        # The prefix has whole bytes, and is divided so that it begins again where it was asked to.
        prefixes = 256 ** -(-(blocks - 1).bit_length() // 8)
        return cls(kind, max(1, size * blocks // prefixes), prefixes)
