"""Counts stored under a name: the document, callgrind's files, folded stacks, and the source."""

import gzip
import hashlib
import json
import re
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, StoreError, reason
from dbdyno.base.paths import default_path
from dbdyno.cpu.attribution import Attribution, attribute
from dbdyno.cpu.builds import SOURCE
from dbdyno.cpu.callgrind import parse_profile
from dbdyno.cpu.costs import EngineCosts, engine_costs
from dbdyno.cpu.counting import classifier_of
from dbdyno.cpu.document import BuildCount, CpuDocument, check_document
from dbdyno.cpu.source import SourceMap, source_map

_DOCUMENT = "count.json"
_TEXT = f"{SOURCE}.gz"
_STACKS = "stacks.txt.gz"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class SavedCount:
    """A stored count of one build. ``directory``: its directory."""

    directory: Path
    document: CpuDocument

    @property
    def build(self) -> dict[str, Any]:
        """The build, with its counters."""
        return self.document["builds"][0]

    def source(self) -> SourceMap:
        """Read the source of the count. Raises StoreError if it cannot be read or doesn't match."""
        text = self._bytes(_TEXT)
        if hashlib.sha256(text).hexdigest() != self.build["source_sha256"]:
            raise StoreError(f"{self.directory / _TEXT}: this is not the source of the count: count again")
        return source_map(text.decode("utf-8", errors="replace"))

    def attributions(self) -> list[Attribution]:
        """Parse callgrind's files, one per part. Raises StoreError and SystemFailed."""
        program = self.build["program"]
        side = classifier_of(program and program["name"])
        return [
            attribute(parse_profile(self._read(f"part-{index}.callgrind.gz"), str(self.directory)), side)
            for index in range(len(self.build["parts"]))
        ]

    def stacks(self) -> list[str]:
        """Return the folded stacks; empty for a count without them. Raises StoreError."""
        return self._read(_STACKS).splitlines() if (self.directory / _STACKS).is_file() else []

    def costs(self) -> tuple[SourceMap, EngineCosts]:
        """Return the source, and the costs of its lines and functions. Raises StoreError and SystemFailed."""
        source = self.source()
        return source, engine_costs(self.attributions(), source)

    def _read(self, name: str) -> str:
        return self._bytes(name).decode("utf-8", errors="replace")

    def _bytes(self, name: str) -> bytes:
        try:
            return gzip.decompress((self.directory / name).read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise StoreError(f"{self.directory / name}: the count cannot be read: {error}") from error


def counts_directory(named: Path | None) -> Path:
    """Return the directory of stored counts: ``named``, or by default next to the store of runs."""
    return default_path().parent / "counts" if named is None else named


def check_save(name: str, directory: Path) -> None:
    """Check that a count can be stored under a name. Raises InputError and StoreError."""
    if not _NAME.fullmatch(name):
        raise InputError("--save", f"`{name}` is not a valid name", "use letters, digits, `.`, `_` and `-`")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(prefix=".unfinished-", dir=directory).cleanup()
    except OSError as error:
        raise _save_error(directory, error) from error


def _save_error(directory: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{directory}: the count cannot be stored: {reason(error)}; choose another directory with --counts"
    )


def save(
    name: str, document: CpuDocument, counts: list[BuildCount], folded: list[list[str]], directory: Path
) -> list[str]:
    """Store a count under a name, replacing an earlier one; several builds get numbers. Returns the names.

    ``folded``: the stacks of each build (:func:`dbdyno.cpu.flame_graph.folded_stacks`). Raises StoreError.
    """
    names = []
    for index, (count, lines) in enumerate(zip(counts, folded, strict=True)):
        own = name if len(counts) == 1 else f"{name}.{index + 1}"
        _save(directory / own, {**document, "builds": [document["builds"][index]]}, count, lines)
        names.append(own)
    return names


def _save(directory: Path, document: CpuDocument, count: BuildCount, folded: list[str]) -> None:
    try:
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=directory.parent))
        try:
            for index, part in enumerate(count.parts):
                (unfinished / f"part-{index}.callgrind.gz").write_bytes(gzip.compress(part.raw.encode(), mtime=0))
            (unfinished / _STACKS).write_bytes(gzip.compress("\n".join(folded).encode(), mtime=0))
            (unfinished / _TEXT).write_bytes(gzip.compress(count.build.text.read_bytes(), 6, mtime=0))
            (unfinished / _DOCUMENT).write_text(json.dumps(document, indent=1), encoding="utf-8")
            shutil.rmtree(directory, ignore_errors=True)
            unfinished.rename(directory)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise _save_error(directory, error) from error


def load(name: str, directory: Path) -> SavedCount:
    """Return the count stored under a name. Raises InputError if there is none, StoreError if it cannot be read."""
    place = directory / name
    try:
        document = json.loads((place / _DOCUMENT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(f"`{each}`" for each in saved_names(directory)) or "none yet: `--save NAME` stores one"
        raise InputError(name, f"no count has this name in {directory}", f"known: {known}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{place}: the count cannot be read: {error}") from error
    return SavedCount(place, check_document(document, str(place), "count again with `--save`"))


def saved_names(directory: Path) -> list[str]:
    """Return the names of the counts stored in a directory."""
    return sorted(path.parent.name for path in directory.glob(f"*/{_DOCUMENT}") if not path.parent.name.startswith("."))
