"""X901 to X905: what there is to say about dialects and extensions."""

from __future__ import annotations

from exoskel.diagnostics import Topic, columns

TOPICS = (
    Topic(
        "X901",
        "Dialect chosen",
        "The file holds something that the specification and PyODE understand differently.",
        (
            columns(
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
        (columns("X902", "E/W", "<ext> has no ename"),),
    ),
    Topic(
        "X903",
        "Attributes of an extension",
        "`ename` is the only one.",
        (
            columns("X903", "E/W", "<ext> has the attribute '{name}', which it may not have"),
            columns("X903.conflict", "E/W", "ename is '{ename}', name is '{name}'; ename is used"),
        ),
    ),
    Topic(
        "X904",
        "Extension name twice",
        "Extensions of several applications get along best with names of their own.",
        (columns("X904", "W/-", "two extensions called '{name}' in one element"),),
    ),
    Topic(
        "X905",
        "PyBrain's comment",
        "PyBrain keeps what a simulation needs in a comment behind the root. It is read as data, never evaluated.",
        (columns("X905", "-/W", "line {number} of PyBrain's comment cannot be understood: {text}"),),
    ),
)
