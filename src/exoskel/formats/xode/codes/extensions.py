"""Diagnostics X901 to X905: dialects and extensions."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X901",
        "Dialect chosen",
        "The specification and PyODE interpret something in this file differently.",
        (
            message_with_severities(
                "X901",
                "I/I",
                "read in dialect {dialect}: {reason}",
                "set the dialect: dialect='spec' or dialect='pyode'",
            ),
        ),
    ),
    Topic(
        "X902",
        "Extension without a name",
        "The extension is preserved.",
        (message_with_severities("X902", "E/W", "<ext> has no ename"),),
    ),
    Topic(
        "X903",
        "Attributes of an extension",
        "`ename` is the only attribute of an extension.",
        (
            message_with_severities("X903", "E/W", "attribute '{name}' is not allowed on <ext>"),
            message_with_severities("X903.conflict", "E/W", "ename is '{ename}', but name is '{name}'; ename is used"),
        ),
    ),
    Topic(
        "X904",
        "Duplicate extension name",
        "Unique names keep the extensions of several applications apart.",
        (message_with_severities("X904", "W/-", "two extensions in one element are named '{name}'"),),
    ),
    Topic(
        "X905",
        "PyBrain's comment",
        "PyBrain stores simulation settings in a comment after the root element. The comment is read as data "
        "and never evaluated.",
        (message_with_severities("X905", "-/W", "cannot parse line {number} of the PyBrain comment: {text}"),),
    ),
)
