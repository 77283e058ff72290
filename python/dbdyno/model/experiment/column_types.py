"""Column types: a name and, for some types, a length or a precision."""

import re
from typing import Annotated, Any, NamedTuple

from pydantic import PlainValidator

from dbdyno.model.experiment.validation import nearest, show, wrong

# The numbers of arguments that a type may have, by name.
NAMES: dict[str, tuple[int, ...]] = {
    "integer": (0,),
    "bigint": (0,),
    "smallint": (0,),
    "real": (0,),
    "double": (0,),
    "decimal": (0, 1, 2),
    "char": (1,),
    "varchar": (1,),
    "text": (0,),
    "blob": (0,),
    "binary": (1,),
    "boolean": (0,),
    "date": (0,),
    "timestamp": (0,),
    "uuid": (0,),
    "json": (0,),
    "jsonb": (0,),
    "vector": (1,),
}

_ALIASES = {"int": "integer", "int8": "bigint", "int4": "integer", "numeric": "decimal", "bytes": "blob"}
_FORM = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*")


class ColumnType(NamedTuple):
    """A column type: its canonical name and its arguments."""

    name: str
    arguments: tuple[int, ...] = ()

    @property
    def is_integer(self) -> bool:
        """Whether its values are integers."""
        return self.name in ("integer", "bigint", "smallint")


def read_column_type(value: Any) -> ColumnType:
    """Read a column type such as ``varchar(1000)``. Raises a validation error if it is invalid."""
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise wrong(f"{show(value)} is not a type", 'such as `"integer"` or `"varchar(1000)"`')
    word = match[1].lower()
    name = _ALIASES.get(word, word)
    if name not in NAMES:
        raise wrong(f"{show(value)} is not a type", nearest(word, (*NAMES, *_ALIASES)))
    arguments = tuple(int(text) for text in match.groups()[1:] if text is not None)
    if len(arguments) not in NAMES[name]:
        wanted = " or ".join(map(str, NAMES[name]))
        plural = "" if wanted == "1" else "s"
        problem = f"`{name}` takes {wanted} number{plural} in parentheses, not {len(arguments)}"
        raise wrong(problem, 'such as `"varchar(1000)"`')
    return ColumnType(name, arguments)


TypeText = Annotated[ColumnType, PlainValidator(read_column_type)]
