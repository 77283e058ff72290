"""Errors for arguments that a command would silently ignore."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from typer.core import TyperCommand

from dbdyno.base.errors import InputError
from dbdyno.cli.help import show_plainly

_typed: ContextVar[Mapping[str, str]] = ContextVar("typed", default=MappingProxyType({}))

# Parameters whose value may be empty: compilers and programs without options, and statements, which `try` reads itself.
_MAY_BE_EMPTY = ("cflags", "arguments", "statements")
# Output files: of two with the same name, the second would replace the first.
_OUTPUTS = (
    "json",
    "json_file",
    "csv",
    "markdown",
    "report",
    "parquet",
    "openmetrics",
    "junit",
    "html",
    "chart",
    "flame",
)
# A system given twice is compared with itself.
_MAY_REPEAT = ("system",)


class StrictCommand(TyperCommand):
    """A command that refuses options given twice and empty values."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments."""
        return show_plainly(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and remember which parameters were typed. Raises InputError."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            _typed.set(_check(values, order))
        return super().parse_args(ctx, args)


def _check(values: Mapping[str, Any], order: Sequence[Any]) -> dict[str, str]:
    """Return how each parameter was typed, by its name. Raises InputError."""
    typed: dict[str, str] = {}
    for parameter in order:
        name, value = str(parameter.name), values.get(str(parameter.name))
        items = list(value) if isinstance(value, list | tuple) else [value]
        is_option = parameter.param_type_name == "option"
        label = max(parameter.opts, key=len) if is_option else name.upper()
        several = getattr(parameter, "multiple", False)
        if is_option and name in typed and not several and not parameter.is_flag:
            raise InputError(label, "it is given twice", "give it once")
        if several and name not in _MAY_REPEAT and len(set(items)) < len(items):
            repeated = next(item for item in items if items.count(item) > 1)
            raise InputError(f"{label} {repeated}", "it is given twice", "give it once")
        if name not in _MAY_BE_EMPTY and any(isinstance(item, str) and not item.strip() for item in items):
            raise InputError(label, "the value is empty", "give a value" + (" or leave it out" if is_option else ""))
        if items != [None]:
            typed[name] = label
    outputs: dict[str, str] = {}
    for name in _OUTPUTS:
        if name in typed:
            path = os.path.normpath(values[name])
            if path in outputs:
                raise InputError(
                    typed[name], f"`{outputs[path]}` writes to {path}, too", "give each file a name of its own"
                )
            outputs[path] = typed[name]
    return typed


def refuse_typed(names: Collection[str], condition: str, hint: str = "leave it out") -> None:
    """Raise InputError for a parameter that was typed although it has no effect.

    ``names``: the parameters, by their Python names; ``condition``: when that is, such as "without `--check`".
    """
    for name, label in _typed.get().items():
        if name in names:
            raise InputError(label, f"it has no effect {condition}", hint)


def refuse_typed_besides(names: Collection[str], condition: str, hint: str = "leave it out") -> None:
    """Raise InputError for a parameter that was typed and is not among ``names``, as :func:`refuse_typed`."""
    refuse_typed(_typed.get().keys() - set(names), condition, hint)
