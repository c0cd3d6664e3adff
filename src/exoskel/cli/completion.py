"""`exoskel completion`: print a completion script for a shell, with all commands, options, choices and samples."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from shlex import quote
from typing import Annotated, Literal, get_args

from msgspec import Struct

from exoskel.cli.commands import COMMANDS
from exoskel.cli.parameters import Argument, signature_of
from exoskel.cli.terminal import COLOR_OPTION, ColorMode
from exoskel.samples import samples

Shell = Literal["bash", "zsh", "fish"]


class CompletedOption(Struct, frozen=True):
    """An option of a command: its names, the values to choose from, what it does, and whether it takes a value."""

    names: tuple[str, ...]
    choices: tuple[str, ...]
    help: str
    takes_value: bool


def completion(shell: Annotated[Shell, Argument(help="Shell to write the script for.")], /) -> int:
    """Print a script that completes commands, options, their choices, files and sample names.

    bash: `source` the output in ~/.bashrc. zsh: write it to a file _exoskel in a folder of $fpath. fish: write it to
    ~/.config/fish/completions/exoskel.fish.
    """
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]())
    return 0


def completed_options(command: str) -> list[CompletedOption]:
    """The options of a command, in the order of its help."""
    from exoskel.cli.command_runner import command_function

    found = [
        CompletedOption(one.names, one.choices, one.help, one.takes_value)
        for one in signature_of(command_function(command)).arguments
        if one.is_option
    ]
    return [*found, _COLOR, _HELP]


_COLOR = CompletedOption((COLOR_OPTION,), get_args(ColorMode), "Colours: auto, always or never.", takes_value=True)
_HELP = CompletedOption(("--help", "-h"), (), "Show the help.", takes_value=False)
_VERSION = CompletedOption(("--version", "-V"), (), "Show the version.", takes_value=False)
_COMMON = (_HELP, _VERSION, _COLOR)
"""The options without a command."""


def _uris() -> list[str]:
    return [one.uri for one in samples()]


def _words(command: str) -> list[str]:
    """Words that a command takes in place of files."""
    from exoskel.formats import registry

    if command == "schema":
        return [*(one.name for one in registry.WITH_VOCABULARY), "json"]
    if command == "explain":
        return sorted(code for one in registry.catalogues() for code in one.topics)
    return {"completion": list(get_args(Shell)), "samples": [one.name for one in samples()]}.get(command, [])


def _json_commands() -> str:
    """The words after `exoskel schema json`."""
    from exoskel.cli.reference import SHAPES

    return " ".join(SHAPES)


def _choices() -> str:
    """The branches of a `case` statement that bash and zsh understand: the choices of options by command and option."""
    options = {command: completed_options(command) for command in COMMANDS} | {"": list(_COMMON)}
    lines = [
        f"        {quote(f'{command} {name}')}) choices={quote(' '.join(one.choices))} ;;"
        for command, found in options.items()
        for one in found
        if one.choices
        for name in one.names
    ]
    return "\n".join([*lines, f"        'schema json') choices={quote(_json_commands())} ;;"])


def _bash() -> str:
    cases = []
    for command in COMMANDS:
        options = " ".join(name for one in completed_options(command) for name in one.names)
        cases.append(f"        {command}) options={quote(options)}; words={quote(' '.join(_words(command)))} ;;")
    common = " ".join(name for one in _COMMON for name in one.names)
    branches = "\n".join(cases)
    return f"""# Completion of exoskel in bash: source this file.
_exoskel() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" current="" previous="" subcommand="" options="" words="" choices="" name
    local samples={quote(" ".join(_uris()))}
    local -a parts
    read -ra parts <<< "$line"
    [[ "$line" == *[[:space:]] ]] && parts+=("")
    current="${{parts[-1]}}"
    (( ${{#parts[@]}} > 1 )) && previous="${{parts[-2]}}"
    (( ${{#parts[@]}} > 2 )) && subcommand="${{parts[1]}}"
    [[ "$subcommand" == -* ]] && subcommand=""
    case "$subcommand" in
{branches}
        *) options={quote(common)} ;;
    esac
    if [[ "$current" == --*=* ]]; then
        previous="${{current%%=*}}"
        current="${{current#*=}}"
    fi
    case "$subcommand $previous" in
{_choices()}
    esac
    if [[ -n "$choices" ]]; then
        COMPREPLY=($(compgen -W "$choices" -- "$current"))
    elif [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -z "$subcommand" ]]; then
        COMPREPLY=($(compgen -W {quote(" ".join(COMMANDS))} -- "$current"))
    elif [[ -n "$words" ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
        [[ -n "$current" ]] && COMPREPLY+=($(compgen -W "$samples" -- "$current"))
    fi
    if [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then  # bash completes only what follows the colon
        name="${{current%"${{current##*:}}"}}"
        COMPREPLY=("${{COMPREPLY[@]#"$name"}}")
    fi
}}
complete -F _exoskel exoskel
"""


def _zsh() -> str:
    cases = "\n".join(
        f"        {command}) options=({_described(completed_options(command))}); values=({_quoted(_words(command))}) ;;"
        for command in COMMANDS
    )
    commands = " ".join(quote(f"{command}:{entry.summary}") for command, entry in COMMANDS.items())
    return f"""#compdef exoskel
# Completion of exoskel in zsh: put this file, named _exoskel, into a folder of $fpath.
_exoskel() {{
    local subcommand="" choices="" previous="${{words[CURRENT-1]}}"
    local -a options values samples subcommands
    samples=({_quoted(_uris())})
    subcommands=({commands})
    (( CURRENT > 2 )) && [[ "${{words[2]}}" != -* ]] && subcommand="${{words[2]}}"
    case "$subcommand" in
{cases}
        *) options=({_described(_COMMON)}) ;;
    esac
    if [[ "$PREFIX" == --*=* ]]; then
        previous="${{PREFIX%%=*}}"
        compset -P '*='
    fi
    case "$subcommand $previous" in
{_choices()}
    esac
    if [[ -n "$choices" ]]; then
        compadd -- ${{(s: :)choices}}
    elif [[ "$PREFIX" == -* ]]; then
        _describe -o option options
    elif [[ -z "$subcommand" ]]; then
        _describe command subcommands
    elif (( $#values )); then
        compadd -- $values
    else
        compadd -- $samples
        _files
    fi
}}
if [[ "$funcstack[1]" == _exoskel ]]; then
    _exoskel "$@"
else
    compdef _exoskel exoskel  # the file is sourced
fi
"""


def _quoted(words: Iterable[str]) -> str:
    return " ".join(map(quote, words))


def _described(options: Iterable[CompletedOption]) -> str:
    """Options with descriptions, as words of a zsh array."""
    return " ".join(quote(f"{name}:{one.help}") for one in options for name in one.names)


_FISH_SUBCOMMAND = """function __exoskel_subcommand
    set -l given (commandline -opc)
    if test (count $argv) -eq 0
        test (count $given) -eq 1; or string match -q -- "-*" $given[2]
    else
        test (count $given) -gt 1; and contains -- $given[2] $argv
    end
end"""
"""Whether the command is one of the arguments; without arguments, whether there is no command yet."""


def _fish() -> str:
    lines = ["# Completion of exoskel in fish: put this file into ~/.config/fish/completions.", _FISH_SUBCOMMAND]
    lines += [_fish_option("__exoskel_subcommand", one) for one in _COMMON]
    for command, entry in COMMANDS.items():
        lines.append(f"complete -c exoskel -n __exoskel_subcommand -f -a {command} -d {quote(entry.summary)}")
        condition = f"__exoskel_subcommand {command}"
        lines += [_fish_option(condition, one) for one in completed_options(command)]
        if words := _words(command):
            lines.append(f"complete -c exoskel -n {quote(condition)} -f -a {quote(' '.join(words))}")
    files = " ".join(command for command in COMMANDS if not _words(command))
    lines.append(f"complete -c exoskel -n {quote(f'__exoskel_subcommand {files}')} -a {quote(' '.join(_uris()))}")
    after_json = "__exoskel_subcommand schema; and contains -- json (commandline -opc)"
    lines.append(f"complete -c exoskel -n {quote(after_json)} -f -a {quote(_json_commands())}")
    return "".join(f"{line}\n" for line in lines)


def _fish_option(condition: str, option: CompletedOption) -> str:
    flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    values = f" -x -a {quote(' '.join(option.choices))}" if option.choices else " -r" if option.takes_value else ""
    return f"complete -c exoskel -n {quote(condition)} {flags}{values} -d {quote(option.help)}"
