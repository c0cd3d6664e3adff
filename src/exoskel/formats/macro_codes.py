"""The diagnostics about xacro, which are the same in all formats whose files it generates."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning


def macro_topic(code: str, format: str, extension: str) -> Topic:
    """The messages about xacro of a format, whose files have an extension.  The first is about unexpanded macros."""
    by_hand = f"expand it first: xacro FILE{extension}.xacro > FILE{extension}"
    return Topic(
        code,
        "xacro",
        "xacro is a macro language that generates URDF, SDF and MJCF. The package xacro expands its files, if it is "
        "installed. It evaluates expressions of the file as Python and reads the files that they name, so confined "
        "files are not expanded. Diagnostics name the lines of the xacro files: of a macro, not of its call; paths are "
        "those of the expanded document. The file itself is not changed. "
        "A document that only declares the xacro namespace, as generated files do, is read normally.",
        error(code, f"this is xacro, not {format}: {{what}}", by_hand),
        error(
            f"{code}.missing",
            f"this is xacro, not {format}: {{what}}",
            "install the package that expands it: pip install 'exoskel[xacro]'",
        ),
        error(f"{code}.confined", "this is xacro, and confined files are not expanded: {what}", by_hand),
        error(f"{code}.failed", "xacro cannot expand the file: {reason}", "{hint}"),
        warning(f"{code}.warning", "xacro warns: {text}"),
        warning(f"{code}.argument", "the file has no argument '{name}'", "{suggestion}"),
        info(f"{code}.empty", "the file only defines macros; read the file that includes it"),
        info(f"{code}.expanded", "expanded by xacro; fixes and edits do not change the file"),
    )


def is_about_unexpanded_macros(key: str, catalogue: Catalogue) -> bool:
    """Whether a message is the first of such a topic."""
    return f"{key}.expanded" in catalogue.messages
