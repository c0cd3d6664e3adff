"""The commands of `exoskel` with their summaries and examples, and the overview that `exoskel --help` prints."""

from __future__ import annotations

from typing import NamedTuple

from exoskel.version import XODE_COMPLIANCE, __version__

DESCRIPTION = (
    "Check, view, simulate, edit and convert physics scenes: SKEL (DART), XODE (ODE), MJCF, URDF, SDF and more."
)
EPILOGUE = (
    "`dart://sample/skel/walker.skel` is a bundled sample; `exoskel samples` lists all of them.",
    "Exit codes: 0 success; 1 the file has errors (with --strict, also warnings); 2 the command could not run.",
)
VERSION = f"exoskel {__version__}\n{XODE_COMPLIANCE}"


class Command(NamedTuple):
    """A command: its summary, the examples at the end of its help, and the module of its function.

    The module has the name of the command, unless it is stated.
    """

    summary: str
    examples: tuple[str, ...]
    module: str = ""


COMMANDS = {
    "check": Command(
        "List all problems in one or more files, with line, excerpt and hint.",
        (
            "exoskel check dart://sample/skel/walker.skel",
            "exoskel check dart://sample/xode/pyode_dialect.xode --dialect pyode",
            "exoskel samples --copy scenes",
            "exoskel check scenes/skel/*.skel --strict",
            "exoskel check --json - < scenes/skel/walker.skel",
            "exoskel check --sarif scenes/skel/*.skel > problems.sarif",
            "exoskel check scenes --statistics",
            "exoskel check scenes --select SK --ignore SK089 --output-format github",
            "exoskel check --fix --diff scenes/skel/walker.skel",
            "exoskel check --fix scenes/skel/*.skel",
        ),
    ),
    "info": Command(
        "Show the contents of a file: worlds, models, bodies, joints, masses, degrees of freedom.",
        (
            "exoskel info dart://sample/skel/walker.skel",
            "exoskel info dart://sample/skel/walker.skel --json | jq .totals",
        ),
    ),
    "fmt": Command(
        "Format files: indentation, element order, quotes. Comments and meaning are preserved.",
        (
            "exoskel samples --copy scenes",
            "exoskel fmt scenes/skel/walker.skel",
            "exoskel fmt --check scenes/skel/*.skel",
            "exoskel fmt --diff dart://sample/xode/ragdoll.xode",
            "exoskel fmt --numbers scenes/skel/walker.skel",
            "exoskel fmt - < scenes/skel/walker.skel > formatted.skel",
        ),
    ),
    "get": Command(
        "Print values of a file: masses, damping, gravity.",
        (
            "exoskel get dart://sample/skel/pendulum.skel body:bob.mass",
            "exoskel get dart://sample/skel/walker.skel gravity.z 'joint:*knee.damping'",
            "exoskel get dart://sample/skel/walker.skel 'body:*.mass' --json",
        ),
        module="editing",
    ),
    "set": Command(
        "Set values of a file; nothing else changes in its text.",
        (
            "exoskel samples --copy scenes",
            "exoskel set scenes/skel/pendulum.skel body:bob.mass=4.2",
            "exoskel set scenes/skel/walker.skel 'joint:*knee.damping=0.5' gravity.z=-1.62 --diff",
            "exoskel set scenes/skel/walker.skel time_step=0.002 --out fast.skel",
        ),
        module="editing",
    ),
    "rename": Command(
        "Rename models, bodies, joints and shapes of a file, with all references to them.",
        (
            "exoskel samples --copy scenes",
            "exoskel rename scenes/skel/pendulum.skel body:bob=weight --diff",
            "exoskel rename scenes/skel/pendulum.skel joint:hinge=pivot",
        ),
        module="editing",
    ),
    "convert": Command(
        "Convert a file to another format; report what happens to every node and verify the result.",
        (
            "exoskel convert dart://sample/skel/walker.skel walker.sdf",
            "exoskel convert dart://sample/skel/walker.skel walker.xode --lower",
            "exoskel convert dart://sample/xode/ragdoll.xode ragdoll.skel --strict",
            "exoskel convert dart://sample/xode/four_bar.xode pyode.xode --for pyode",
            "exoskel convert dart://sample/skel/walker.skel walker.xml --json | jq .fates",
            "exoskel samples --copy scenes",
            "exoskel convert - - --from skel --to sdf < scenes/skel/walker.skel > walker.sdf",
            "exoskel convert scenes/skel converted/ --to sdf --report report.md",
        ),
    ),
    "diff": Command(
        "Show how two files differ in meaning; they may be in different formats.",
        (
            "exoskel convert dart://sample/skel/walker.skel walker.xode",
            "exoskel diff dart://sample/skel/walker.skel walker.xode",
            "exoskel diff dart://sample/skel/walker.skel walker.xode --tolerance 1e-6 --json",
        ),
    ),
    "run": Command(
        "Simulate a scene with MuJoCo, DART or ODE; print a summary, save the motion, a plot or a video.",
        (
            "exoskel run dart://sample/skel/walker.skel",
            "exoskel run dart://sample/skel/walker.skel --time 10 --out motion.npz",
            "exoskel run dart://sample/skel/walker.skel --plot motion.png",
            "exoskel run dart://sample/skel/walker.skel --video motion.mp4",
            "exoskel run dart://sample/xode/weightless.xode --gravity earth-z",
            "exoskel run dart://sample/skel/walker.skel --integrator rk4 --limits off",
            "exoskel run dart://sample/skel/walker.skel --engine dart",
            "exoskel run dart://sample/skel/walker.skel --json | jq .energy_last",
        ),
    ),
    "compare": Command(
        "Simulate a scene with several engines and report how far the results differ.",
        (
            "exoskel compare dart://sample/skel/pendulum.skel",
            "exoskel compare dart://sample/skel/pendulum.skel --time 2 --json",
            "exoskel compare dart://sample/skel/pendulum.skel --engines mujoco,warp",
        ),
        module="run",
    ),
    "view": Command(
        "View a scene in the browser: play, pose and inspect it. The page updates when you save the file.",
        (
            "exoskel view dart://sample/skel/walker.skel",
            "exoskel view dart://sample/skel/walker.skel --motion motion.npz",
            "exoskel view dart://sample/skel/walker.skel --compare dart",
            "exoskel view dart://sample/skel/walker.skel --export walker.html",
            "exoskel view dart://sample/xode/ragdoll.xode --no-browser --port 9000",
        ),
    ),
    "rollout": Command(
        "Simulate many copies of a scene in parallel, with varied parameters.",
        (
            "exoskel rollout dart://sample/skel/cart_pole.skel --worlds 256 --time 2",
            "exoskel rollout dart://sample/skel/cart_pole.skel --out motions.npz",
            "exoskel rollout dart://sample/skel/cart_pole.skel --vary body:pole.mass=0.5..2",
            "exoskel rollout dart://sample/skel/cart_pole.skel --worlds 8192 --backend gpu",
            "exoskel samples --copy scenes",
            "exoskel rollout scenes/skel/*.skel --worlds 100 --backend ray --out runs/",
        ),
    ),
    "render": Command(
        "Render a scene or its motion to an image or a video; no display needed.",
        (
            "exoskel render dart://sample/skel/walker.skel --out walker.png",
            "exoskel render dart://sample/skel/walker.skel --out walker.mp4 --time 3",
            "exoskel render dart://sample/skel/walker.skel --out front.png --camera front",
            "exoskel render dart://sample/skel/walker.skel --out large.png --size 3840x2160",
        ),
        module="view",
    ),
    "engines": Command(
        "List the physics engines with their versions and limitations.",
        ("exoskel engines", "exoskel engines --json"),
        module="installation",
    ),
    "doctor": Command(
        "Check what is installed: packages, engines, rendering, GPU, browser.",
        ("exoskel doctor", "exoskel doctor --json"),
        module="installation",
    ),
    "describe": Command(
        "Describe an element: children, attributes, units, defaults, and how DART or PyODE reads it.",
        (
            "exoskel describe",
            "exoskel describe joint",
            "exoskel describe body/gravity",
            "exoskel describe inertia --json",
        ),
        module="reference",
    ),
    "explain": Command(
        "Explain a diagnostic code, and how DART or PyODE handles the same input.",
        ("exoskel explain SK024", "exoskel explain"),
        module="reference",
    ),
    "lsp": Command(
        "Start the language server for editors: diagnostics, fixes, hover, completion, rename.",
        ("exoskel lsp",),
    ),
    "schema": Command(
        "Print the XML Schema of a format, or the JSON Schema of the output of a command.",
        (
            "exoskel schema skel > skel.xsd",
            "exoskel schema xode --out xode.xsd",
            "exoskel schema json check",
            "exoskel samples --copy scenes",
            "xmllint --noout --schema skel.xsd scenes/skel/walker.skel",
        ),
        module="reference",
    ),
    "completion": Command(
        "Print a script that completes commands, options and sample names in a shell.",
        (
            "exoskel completion bash > exoskel.bash && source exoskel.bash",
            "exoskel completion zsh > _exoskel",
            "exoskel completion fish > exoskel.fish",
        ),
    ),
    "samples": Command(
        "List the bundled sample scenes, or copy them to a directory.",
        ("exoskel samples", "exoskel samples --copy scenes", "exoskel info dart://sample/skel/newtons_cradle.skel"),
        module="installation",
    ),
}


def overview(width: int) -> str:
    """The text of `exoskel --help`, wrapped to a width.  It needs no parser."""
    entries = {name: command.summary for name, command in COMMANDS.items()}
    options = {
        "-h, --help": "Show this text; `exoskel COMMAND --help` describes a command.",
        "-V, --version": "Show the version.",
        "--color MODE": "Colours: auto (on terminals), always or never. NO_COLOR and FORCE_COLOR are respected.",
    }
    parts = [
        paragraph(DESCRIPTION, width),
        "Usage: exoskel COMMAND [ARGUMENTS]",
        f"Commands:\n{definitions(entries, width)}",
        f"Options:\n{definitions(options, width)}",
        *(paragraph(text, width) for text in EPILOGUE),
    ]
    return "\n\n".join(parts)


# --- layout of help texts ---------------------------------------------------------------------------------


_MAX_WIDTH = 100
_MIN_DESCRIPTION = 36
"""Descriptions that would have less space beside their terms begin on a line of their own."""
_NARROW_INDENT = 10


def text_width() -> int:
    """The width of help texts: that of the terminal, unless it is very wide."""
    import shutil

    return min(shutil.get_terminal_size().columns, _MAX_WIDTH)


def paragraph(text: str, width: int) -> str:
    """A wrapped paragraph."""
    from textwrap import wrap

    return "\n".join(wrap(text, width, break_on_hyphens=False, break_long_words=False))


def definitions(entries: dict[str, str], width: int) -> str:
    """A list of terms, each with its description in a second column, or below it on a narrow terminal."""
    from textwrap import indent

    column = max(map(len, entries)) + 4
    lines = []
    for term, text in entries.items():
        if width - column < _MIN_DESCRIPTION:
            lines += [f"  {term}", indent(paragraph(text, width - _NARROW_INDENT), " " * _NARROW_INDENT)]
        else:
            lines.append(f"  {term}".ljust(column) + indent(paragraph(text, width - column), " " * column).lstrip())
    return "\n".join(lines)
