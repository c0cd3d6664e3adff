"""What judges cannot do by limits of their own: the one table of exceptions.

A file that a judge does not take, or takes for something else, is a fault unless it is listed here, and so is a row
that nothing needs any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tests.foreign.verdicts import QUANTITIES, Verdict

Trait = str
"""Of a document, as `writing.write` tells them."""


class Limit(Struct, frozen=True):
    """A limit of a judge, and why it is not our fault.

    It holds where the judge says `words`, or where the document has the `trait`: then a judge that may not compare
    anything is not even asked.  `spares` are the comparisons that are left out: all, where the file is not loaded.
    """

    judge: str
    format: str
    why: str
    words: str = ""
    trait: Trait = ""
    spares: tuple[str, ...] = QUANTITIES

    @property
    def is_whole(self) -> bool:
        return set(self.spares) == set(QUANTITIES)


LIMITS = (
    Limit(
        "drake",
        "mjcf",
        "Drake puts the frame of a body with several joints at the last of them, and has the others turn it about the "
        "frame of what holds it",
        trait="several joints in a body",
        spares=("pose", "mass_matrix"),
    ),
    Limit("drake", "sdf", "Drake takes no loops", words="form one or more loops"),
    Limit("drake", "sdf", "Drake takes one joint between two links", words="already has joint"),
    Limit("drake", "sdf", "Drake has no revolute2 joints", words="Joint type (revolute2) not supported"),
    Limit("drake", "sdf", "Drake reads one world", words="exactly one <model> or exactly one <world>"),
    Limit("drake", "sdf", "libsdformat refuses moments that no solid has", words="has invalid inertia"),
    Limit(
        "drake",
        "urdf",
        "Drake puts others in the place of moments that no solid has",
        words="did not pass the test CouldBePhysicallyValid()",
        spares=("inertia", "mass_matrix"),
    ),
    Limit("dart", "sdf", "DART reads SDFormat up to 1.6, which has no screws as we write them", words="DART reads 1.6"),
    Limit("dart", "sdf", "DART reads the first world only", trait="several worlds"),
    Limit(
        "dart", "sdf", "DART hangs on a link that two joints hold to the same one", trait="two joints between two links"
    ),
    Limit(
        "newton",
        "usd",
        "Newton has no articulation of a model whose joints all hold to the world, and its kinematics does not move it",
        trait="no joint between two bodies",
        spares=("pose",),
    ),
    Limit(
        "newton",
        "usd",
        "Newton puts others in the place of moments that no solid has",
        trait="moments of no solid",
        spares=("inertia",),
    ),
    Limit("mujoco", "urdf", "MuJoCo refuses what moves without mass", words="must be larger than mjMINVAL"),
    Limit("mujoco", "urdf", "MuJoCo refuses moments that no solid has", words="inertia must have positive eigenvalues"),
    Limit(
        "mujoco",
        "mjcf",
        "a moment of nothing becomes 1e-12 kg·m² for MuJoCo, which has none: the difference of our kinematics does not "
        "reach as far",
        trait="a moment of nothing",
        spares=("mass_matrix",),
    ),
)


class Remark(Struct, frozen=True):
    """What a judge says of a file that it takes, and that does not concern what is compared."""

    judge: str
    format: str
    words: str


REMARKS = (
    Remark("drake", "mjcf", "is currently unsupported and will be ignored"),
    Remark("drake", "mjcf", "torsional and rolling friction"),
    Remark("drake", "mjcf", "collision filter groups are not yet implemented"),
    Remark("drake", "mjcf", "did not specify a 'file' attribute"),
    Remark("drake", "mjcf", "specified unknown mesh"),
    Remark("drake", "sdf", "Ignoring unsupported SDFormat element"),
    Remark("drake", "sdf", "Unsupported value for SDFormat element gravity"),
    Remark("drake", "sdf", "Actuation (via non-zero effort limits) for"),
    Remark("drake", "sdf", "SDF Element[thread_pitch] is deprecated"),
    Remark("drake", "sdf", "Joint damping must be equal for both axes"),
    Remark("drake", "urdf", "specified as type floating which is not supported"),  # which leaves it floating
    Remark("drake", "urdf", "does not currently support non-zero joint friction"),
    Remark("dart", "sdf", "but that is already claimed by Joint"),  # it leaves out what closes a loop
    Remark("dart", "urdf", "A negative or zero mass [0] is set to BodyNode"),
    Remark("dart", "urdf", "The world link has more than one child links"),
    Remark("newton", "usd", "another joint already connects these bodies"),
    Remark("mujoco", "urdf", "Geom with duplicate name"),
    Remark("mujoco", "urdf", "has equal lower and upper limits, limit ignored"),
)


def foreseen(judge: str, format: str, traits: Iterable[Trait]) -> Limit | None:
    """The limit that a document is known to meet."""
    known = set(traits)
    return next((limit for limit in _of(judge, format) if limit.trait in known), None)


def met(judge: str, format: str, verdict: Verdict) -> Limit | None:
    """The limit that a judge tells of."""
    told = f"{verdict.failed} {verdict.said}"
    return next((limit for limit in _of(judge, format) if limit.words and limit.words in told), None)


def unexpected(judge: str, format: str, said: str) -> list[str]:
    """What a judge says beyond remarks that are known, line by line."""
    known = [r.words for r in REMARKS if (r.judge, r.format) == (judge, format)]
    known += [limit.words for limit in _of(judge, format) if limit.words]
    return [line for line in said.splitlines() if line.strip() and not any(words in line for words in known)]


def _of(judge: str, format: str) -> list[Limit]:
    return [limit for limit in LIMITS if (limit.judge, limit.format) == (judge, format)]
