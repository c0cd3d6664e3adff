"""Runs a command: its module is imported when it is used, its arguments are parsed, and its help is printed."""

from __future__ import annotations

import errno
import gc
import inspect
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, cast, get_args

from exoskel.cli import terminal
from exoskel.cli.commands import COMMANDS, VERSION, definitions, overview, paragraph, text_width
from exoskel.cli.parameters import CommandArgument, UsageError, signature_of
from exoskel.cli.standard_streams import INTERRUPTED, discard_output
from exoskel.cli.terminal import COLOR_OPTION, STDIN, StyledText
from exoskel.diagnostics import ExoskelError, did_you_mean, printable
from exoskel.source.atomic_write import new_files_made_from, remove_abandoned_folders
from exoskel.source.file_lookup import NO_WORKING_FOLDER, lower_first, working_folder_exists

COULD_NOT_RUN = 2
_STREAM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
DEBUG_VARIABLE = "EXOSKEL_DEBUG"
_HELP_FLAGS = frozenset({"--help", "-h"})
_VERSION_FLAGS = frozenset({"--version", "-V"})


def run_command(given: list[str]) -> int:
    """Run the command that the arguments name and return its exit code.

    Every exception becomes a message on standard error; no traceback reaches the user.
    """
    remove_abandoned_folders()
    try:
        with new_files_made_from(()):
            code = dispatch_command(_take_color(given))
        sys.stdout.flush()
        return code
    except ExoskelError as error:
        terminal.print_message(str(error))
    except BrokenPipeError:
        # The reader of the pipe has ended.  That is not an error, but Python would report one at exit.
        discard_output()
        return 0
    except KeyboardInterrupt:
        return _report_interrupt()
    except OSError as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if error.filename is None:
            discard_output()
        terminal.print_message(_explain_system_error(error))
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if _is_caused_by_interrupt(error):
            return _report_interrupt()
        kind = type(error).__name__
        terminal.print_message(
            f"internal error (a bug in Exoskel): {kind}: {printable(str(error))}\n"
            f"Please report it. Set {DEBUG_VARIABLE}=1 to see the traceback."
        )
    return COULD_NOT_RUN


def dispatch_command(tokens: list[str]) -> int:
    """Run the command that the first argument names; raises UsageError."""
    if tokens and tokens[0] == "help":  # as many programs have it
        tokens = [*tokens[1:2], "--help"]
    first = tokens[0] if tokens else "--help"
    if first in _HELP_FLAGS | _VERSION_FLAGS:
        terminal.print_text(overview(text_width()) if first in _HELP_FLAGS else VERSION)
        return 0
    if first not in COMMANDS:
        hint = did_you_mean(first, COMMANDS)
        raise usage_error(
            f"unknown {'option' if first.startswith('-') else 'command'} {first!r}" + (f"; {hint}" if hint else "")
        )
    function = command_function(first)
    _start_garbage_collection()
    if _asks_for_help(tokens[1:]):
        terminal.print_text(command_help(first, function, text_width()), end="")
        return 0
    call = parse_arguments(first, function, tokens[1:])
    return function(*call.positional, **call.options)


def _start_garbage_collection() -> None:
    """Start garbage collection, if it is off, without the modules that have been loaded: they stay."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def command_function(command: str) -> Callable[..., int]:
    """The function of a command; its module is loaded when it is used."""
    module = COMMANDS[command].module or command
    function: Callable[..., int] = getattr(import_module(f"exoskel.cli.{module}"), command)
    return function


def _asks_for_help(tokens: list[str]) -> bool:
    end = tokens.index(END_OF_OPTIONS) if END_OF_OPTIONS in tokens else len(tokens)
    return not _HELP_FLAGS.isdisjoint(tokens[:end])


def _report_interrupt() -> int:
    """Report that Ctrl-C ended the command; returns its exit code."""
    discard_output()
    terminal.print_message("interrupted")
    return INTERRUPTED


def _take_color(tokens: list[str]) -> list[str]:
    """Apply `--color MODE`, which all commands have; returns the other arguments."""
    others: list[str] = []
    modes: list[str] = []
    waiting = False
    for number, token in enumerate(tokens):
        if token == END_OF_OPTIONS:
            others += tokens[number:]
            break
        name, equals, value = token.partition("=")
        if waiting:
            modes.append(token)
            waiting = False
        elif name == terminal.COLOR_OPTION:
            waiting = not equals
            modes += [value] if equals else []
        else:
            others.append(token)
    if waiting or any(mode not in get_args(terminal.ColorMode) for mode in modes):
        given = f", not {modes[-1]!r}" if modes and not waiting else ""
        raise ExoskelError(f"{terminal.COLOR_OPTION} must be auto, always or never{given}")
    terminal.set_color_mode(cast("terminal.ColorMode", modes[-1] if modes else "auto"))
    return others


def _explain_system_error(error: OSError) -> str:
    """A message for an error of the system that no command has handled."""
    reason = lower_first(error.strerror or str(error))
    if error.filename is not None:
        return f"cannot access {os.fsdecode(error.filename)!r}: {reason}"
    if not working_folder_exists():
        return NO_WORKING_FOLDER
    return f"cannot write to standard output: {reason}" if error.errno in _STREAM_ERRORS else f"system error: {reason}"


def _is_caused_by_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error: a library interrupted while it loads raises ImportError."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


END_OF_OPTIONS = "--"


class Call(NamedTuple):
    """The values to call the function of a command with."""

    positional: list[Any]
    options: dict[str, Any]


def parse_arguments(command: str, function: Callable[..., int], tokens: Sequence[str]) -> Call:
    """Read the arguments of a command; raises UsageError, and ExoskelError for values out of range."""
    signature = signature_of(function)
    given = _TokenReader(command, signature.arguments)
    given.read(tokens)
    options: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for argument in signature.arguments:
        texts = given.values.get(argument.key, [])
        if argument.is_option and (texts or argument.is_required):
            (options if argument.group is None else shared)[argument.key] = _value(command, argument, texts)
    if signature.group is not None:
        options[signature.group_key] = signature.group(**shared)
    positional = [
        _value(command, argument, texts)
        for argument, texts in zip(given.positional, given.distribute(), strict=True)
        if texts or argument.is_required
    ]
    return Call(positional, options)


class _TokenReader:
    """Sorts the tokens of a command line by the arguments that they belong to."""

    def __init__(self, command: str, arguments: Sequence[CommandArgument]) -> None:
        self.command = command
        self.positional = [argument for argument in arguments if not argument.is_option]
        self.values: dict[str, list[str]] = {}
        """The texts of each option that is given; a flag has one."""
        self._options = {name: argument for argument in arguments if argument.is_option for name in argument.names}
        self._words: list[str] = []
        self._waiting: deque[str] = deque()

    def read(self, tokens: Sequence[str]) -> None:
        """Read all tokens; raises UsageError for options that the command does not have."""
        self._waiting = deque(tokens)
        while self._waiting:
            token = self._waiting.popleft()
            if token == END_OF_OPTIONS:
                self._words += self._waiting
                return
            if token.startswith("--"):
                name, equals, value = token.partition("=")
                self._add(name, self._find(name), value if equals else None)
            elif token.startswith("-") and token != "-":
                self._read_letters(token)
            else:
                self._words.append(token)

    def _read_letters(self, token: str) -> None:
        """Read options of one letter: `-q`, `-qa`, `-j 4`, `-j4`, `-j=4`."""
        rest = token[1:]
        while rest:
            name, rest = f"-{rest[0]}", rest[1:]
            argument = self._find(name)
            if argument.takes_value:
                self._add(name, argument, rest.removeprefix("=") if rest else None)
                return
            self._add(name, argument, rest[1:] if rest.startswith("=") else None)

    def _find(self, name: str) -> CommandArgument:
        argument = self._options.get(name)
        if argument is None:
            hint = did_you_mean(name, self._options) if name.startswith("--") else ""
            raise usage_error(
                f"unknown option {name} of `exoskel {self.command}`" + (f"; {hint}" if hint else ""), self.command
            )
        return argument

    def _add(self, name: str, argument: CommandArgument, value: str | None) -> None:
        """Add the value of an option, or those that follow it."""
        if argument.key in self.values and not argument.repeats:
            raise usage_error(f"{name} is given twice", self.command)
        if not argument.takes_value and value is not None:
            raise usage_error(f"{name} takes no value", self.command)
        texts = [value] if value is not None else self._following(name, argument) if argument.takes_value else [""]
        self.values.setdefault(argument.key, []).extend(texts)

    def _following(self, name: str, argument: CommandArgument) -> list[str]:
        """Take the values of an option from the tokens after it."""
        texts: list[str] = []
        for _ in range(argument.declared.count(self._waiting)):
            if self._waiting and not self._is_option(self._waiting[0]):
                texts.append(self._waiting.popleft())
        if not texts:
            raise usage_error(f"{name} needs a value", self.command)
        return texts

    def _is_option(self, token: str) -> bool:
        return token == END_OF_OPTIONS or token.partition("=")[0] in self._options

    def distribute(self) -> list[list[str]]:
        """The words of each positional argument: one, or all that are left if it repeats."""
        words = deque(self._words)
        found: list[list[str]] = []
        for argument in self.positional:
            number = len(words) if argument.repeats else min(1, len(words))
            found.append([words.popleft() for _ in range(number)])
        if words:
            raise usage_error(f"unexpected argument {words[0]!r} for `exoskel {self.command}`", self.command)
        return found


def usage_error(reason: str, command: str = "") -> UsageError:
    """What is wrong with the arguments, and where the help is."""
    return UsageError(f"{reason}\nTry `exoskel {command + ' ' if command else ''}--help`.")


def _value(command: str, argument: CommandArgument, texts: Sequence[str]) -> Any:
    """The value of an argument that is given with some texts."""
    if not texts:
        kind = "option" if argument.is_option else "argument"
        raise usage_error(f"`exoskel {command}` needs the {kind} {argument.name}", command)
    if not argument.takes_value:
        return True
    try:
        values = tuple(argument.convert(STDIN if text == "-" else text) for text in texts)
    except ValueError as error:
        raise usage_error(f"{argument.name} {error}", command) from None
    value = values if argument.repeats else values[0]
    if argument.declared.validator is not None:
        try:
            argument.declared.validator(value)
        except ValueError as error:
            shown = " ".join(text or repr(text) for text in texts)
            raise ExoskelError(f"{argument.name} {error}, not {shown}") from None
    return value


_SHORT = 2
"""The length of an option of one letter, with its hyphen."""


def command_help(command: str, function: Callable[..., int], width: int) -> StyledText:
    """The text of `exoskel COMMAND --help`, wrapped to a width."""
    arguments = signature_of(function).arguments
    text = StyledText()
    text.append(f"{paragraph(COMMANDS[command].summary, width)}\n\n")
    text.append("Usage:", "bold")
    text.append(f" exoskel {command} {_usage(arguments)}\n")
    for heading, entries in _groups(arguments).items():
        text.append(f"\n{heading}:\n", "bold")
        text.append(f"{definitions(entries, width)}\n")
    for part in (inspect.getdoc(function) or "").split("\n\n")[1:]:
        text.append(f"\n{paragraph(part, width)}\n")
    text.append("\nExamples:\n", "bold")
    text.append("".join(f"  {example}\n" for example in COMMANDS[command].examples))
    return text


def _groups(arguments: list[CommandArgument]) -> dict[str, dict[str, str]]:
    """The arguments and options with their descriptions, by heading."""
    groups: dict[str, dict[str, str]] = {"Arguments": {}, "Options": {}}
    for argument in arguments:
        groups.setdefault(argument.heading, {})[_term(argument)] = _description(argument)
    groups["Options"] |= {
        f"    {COLOR_OPTION} CHOICE": "Colours. [choices: auto, always, never] [default: auto]",
        "-h, --help": "Show this text.",
    }
    return {heading: entries for heading, entries in groups.items() if entries}


def _usage(arguments: list[CommandArgument]) -> str:
    """The arguments and required options in a line."""
    required = [f"{one.name} {one.metavar}" for one in arguments if one.is_option and one.is_required]
    positional = [_placeholder(one) for one in arguments if not one.is_option]
    return " ".join(["[OPTIONS]", *required, *positional])


def _placeholder(argument: CommandArgument) -> str:
    name = argument.name + ("..." if argument.repeats else "")
    return name if argument.is_required else f"[{name}]"


def _term(argument: CommandArgument) -> str:
    """`-j, --jobs INTEGER`, with the long names of all options in one column."""
    if not argument.is_option:
        return _placeholder(argument)
    short = [name for name in argument.names if len(name) == _SHORT]
    long = [name for name in argument.names if len(name) > _SHORT]
    names = ", ".join(short + long)
    return f"{'' if short else '    '}{names} {argument.metavar}".rstrip()


def _description(argument: CommandArgument) -> str:
    notes = [f"choices: {', '.join(argument.choices)}"] if argument.choices else []
    notes += [f"default: {argument.shown_default}"] if argument.shown_default else []
    notes += ["required"] if argument.is_option and argument.is_required else []
    return argument.help + "".join(f" [{note}]" for note in notes)
