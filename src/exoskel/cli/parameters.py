"""The parameters of a command, declared by the signature of its function: positional arguments and options.

    def check(files: Annotated[tuple[str, ...], Argument("Files to check.")], /, *, jobs: int | None = None) -> int

Positional parameters are arguments, keyword parameters are options.  Those without a default are required.
An `OptionGroup` is the last parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from exoskel.diagnostics import ExoskelError


class UsageError(ExoskelError):
    """Arguments that a command does not take."""


RangeCheck = Callable[[Any], None]


def _one(_: Sequence[str]) -> int:
    return 1


class Argument(Struct, frozen=True):
    """What a signature says about a parameter beside its type.

    `names` replaces the name that follows from the signature, and `metavar` what its help shows for its value.
    `validator` raises ValueError for values that are out
    of range, with the end of a message: "must be positive".  `count` is the number of values that an option takes
    from those that follow it.
    """

    help: str
    names: tuple[str, ...] = ()
    metavar: str = ""
    validator: RangeCheck | None = None
    count: Callable[[Sequence[str]], int] = _one


class OptionGroup(Struct, frozen=True, kw_only=True):
    """Options that several commands share; each field is one.  A command takes them with a parameter of this type."""

    heading: ClassVar[str] = "Options"


_METAVARS: dict[type, str] = {str: "TEXT", Path: "PATH", int: "INTEGER", float: "NUMBER"}
_NUMBERS = {int: "a whole number", float: "a number"}


class CommandArgument(Struct, frozen=True):
    """A positional argument or an option of a command."""

    key: str
    """The name in the signature."""
    names: tuple[str, ...]
    value_type: type
    choices: tuple[str, ...]
    repeats: bool
    default: Any
    declared: Argument
    group: type[OptionGroup] | None
    is_option: bool

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.names[0]

    @property
    def help(self) -> str:
        return self.declared.help

    @property
    def heading(self) -> str:
        """The heading in the help of its command."""
        if self.group is not None:
            return self.group.heading
        return OptionGroup.heading if self.is_option else "Arguments"

    @property
    def is_required(self) -> bool:
        return self.default is NODEFAULT

    @property
    def takes_value(self) -> bool:
        return self.value_type is not bool

    @property
    def metavar(self) -> str:
        """What stands for the value of an option in its help."""
        if not self.takes_value or self.declared.metavar:
            return self.declared.metavar
        return ("CHOICE" if self.choices else _METAVARS[self.value_type]) + ("..." if self.repeats else "")

    @property
    def shown_default(self) -> str:
        """The default in the help; empty for those that say nothing: none, off, no values."""
        if self.is_required or self.default is None or self.default in (False, (), ""):
            return ""
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    def convert(self, text: str) -> Any:
        """The value of a text; raises ValueError."""
        if self.choices and text not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}, not {text!r}")
        try:
            return self.value_type(text)
        except ValueError:
            raise ValueError(f"must be {_NUMBERS[self.value_type]}, not {text!r}") from None


class CommandSignature(Struct, frozen=True):
    """The arguments and options of a command, in the order of its signature, and the parameter that takes a group."""

    arguments: list[CommandArgument]
    group_key: str = ""
    group: type[OptionGroup] | None = None


def signature_of(function: Callable[..., int]) -> CommandSignature:
    """Read the signature of the function of a command."""
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    options = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    found = [_argument(key, hints[key], defaults.get(key, NODEFAULT), is_option=False) for key in positional]
    for key in options:
        group = _group(hints[key])
        if group is not None:
            return CommandSignature([*found, *_options_of(group)], key, group)  # the last parameter
        found.append(_argument(key, hints[key], defaults.get(key, NODEFAULT), is_option=True))
    return CommandSignature(found)


def _group(hint: Any) -> type[OptionGroup] | None:
    """The group of options that a parameter takes, if it does."""
    found = _without_none(hint)
    return found if isinstance(found, type) and issubclass(found, OptionGroup) else None


def _options_of(group: type[OptionGroup]) -> Iterator[CommandArgument]:
    hints = get_type_hints(group, include_extras=True)
    for field in structs.fields(group):
        yield _argument(field.name, hints[field.name], field.default, is_option=True, group=group)


def _argument(
    key: str, hint: Any, default: Any, *, is_option: bool, group: type[OptionGroup] | None = None
) -> CommandArgument:
    declared = Argument("")
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
        declared = next((mark for mark in reversed(marks) if isinstance(mark, Argument)), declared)
    hint = _without_none(hint)
    repeats = get_origin(hint) is tuple
    if repeats:
        hint = get_args(hint)[0]
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    spelling = key.rstrip("_").replace("_", "-")
    return CommandArgument(
        key=key, names=declared.names or ((f"--{spelling}",) if is_option else (key.upper(),)),
        value_type=str if choices else hint, choices=choices, repeats=repeats, default=default, declared=declared,
        group=group, is_option=is_option,
    )  # fmt: skip


def _without_none(hint: Any) -> Any:
    """The type of a value that may be missing."""
    types = get_args(hint)
    return next(one for one in types if one is not NoneType) if NoneType in types else hint


# --- ranges -----------------------------------------------------------------------------------------------


def positive(value: float) -> None:
    """Refuse numbers that are not finite and positive."""
    if not (isfinite(value) and value > 0.0):
        raise ValueError("must be positive" if isinstance(value, int) else "must be finite and positive")


def not_negative(value: float) -> None:
    """Refuse numbers that are not finite, and those below zero."""
    if not (isfinite(value) and value >= 0.0):
        raise ValueError("must be 0 or more" if isinstance(value, int) else "must be finite and not negative")


def between(least: float, most: float) -> RangeCheck:
    """Refuse numbers outside a range."""

    def check(value: float) -> None:
        if not least <= value <= most:
            raise ValueError(f"must be {least:g} to {most:g}")

    return check
