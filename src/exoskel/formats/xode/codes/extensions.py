"""X901 to X905: what there is to say about dialects and extensions."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X901",
        "Dialect chosen",
        "The file holds something that the specification and PyODE understand differently.",
        (
            message_with_severities(
                "X901",
                "I/I",
                "read in dialect {dialect}: {reason}",
                "name the dialect to settle it: dialect='spec' or 'pyode'",
            ),
        ),
    ),
    Topic(
        "X902",
        "Extension without a name",
        "It is kept.",
        (message_with_severities("X902", "E/W", "<ext> has no ename"),),
    ),
    Topic(
        "X903",
        "Attributes of an extension",
        "`ename` is the only one.",
        (
            message_with_severities("X903", "E/W", "<ext> has the attribute '{name}', which it may not have"),
            message_with_severities("X903.conflict", "E/W", "ename is '{ename}', name is '{name}'; ename is used"),
        ),
    ),
    Topic(
        "X904",
        "Extension name twice",
        "Extensions of several applications get along best with names of their own.",
        (message_with_severities("X904", "W/-", "two extensions called '{name}' in one element"),),
    ),
    Topic(
        "X905",
        "PyBrain's comment",
        "PyBrain keeps what a simulation needs in a comment behind the root. It is read as data, never evaluated.",
        (message_with_severities("X905", "-/W", "line {number} of PyBrain's comment cannot be understood: {text}"),),
    ),
)
