"""The known limits of external readers.

A file that a reader rejects or reads differently is a fault unless its limit is listed here.  An unused limit is a
fault too.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tests.external.comparison import QUANTITIES, Comparison

Trait = str
"""A property of a document, as reported by `documents.write`."""


class Limit(Struct, frozen=True):
    """A limit of a reader, with its explanation.

    It applies if the reader prints `message` or if the document has the `trait`.  `skips` are the quantities that are
    not compared.  If a trait skips all of them, the reader is not run.
    """

    reader: str
    format: str
    why: str
    message: str = ""
    trait: Trait = ""
    skips: tuple[str, ...] = QUANTITIES

    @property
    def is_whole(self) -> bool:
        return set(self.skips) == set(QUANTITIES)


LIMITS = (
    Limit(
        "drake",
        "mjcf",
        "Drake places the frame of a body with several joints at the last joint, and rotates it about the frame of the parent for the others",
        trait="several joints in a body",
        skips=("pose", "mass_matrix"),
    ),
    Limit(
        "pinocchio",
        "mjcf",
        "Pinocchio stores tensors of the third power of the number of coordinates, which need many gigabytes",
        trait="more than 500 joints",
    ),
    Limit("drake", "sdf", "Drake does not support loops", message="form one or more loops"),
    Limit("drake", "sdf", "Drake supports only one joint between two links", message="already has joint"),
    Limit("drake", "sdf", "Drake does not support revolute2 joints", message="Joint type (revolute2) not supported"),
    Limit("drake", "sdf", "Drake reads only one world", message="exactly one <model> or exactly one <world>"),
    Limit("drake", "sdf", "libsdformat rejects unphysical moments of inertia", message="has invalid inertia"),
    Limit(
        "drake",
        "urdf",
        "Drake replaces unphysical moments of inertia",
        message="did not pass the test CouldBePhysicallyValid()",
        skips=("inertia", "mass_matrix"),
    ),
    Limit("dart", "sdf", "DART reads SDFormat up to 1.6, which has no screw_thread_pitch", message="DART reads 1.6"),
    Limit("dart", "sdf", "DART reads only the first world", trait="several worlds"),
    Limit("dart", "sdf", "DART hangs if two joints connect the same two links", trait="two joints between two links"),
    Limit(
        "newton",
        "usd",
        "Newton creates no articulation if all joints of a model connect to the world, so its kinematics does not move the model",
        trait="no joint between two bodies",
        skips=("pose",),
    ),
    Limit(
        "newton",
        "usd",
        "Newton replaces unphysical moments of inertia",
        trait="unphysical moments",
        skips=("inertia",),
    ),
    Limit("mujoco", "urdf", "MuJoCo rejects moving bodies without mass", message="must be larger than mjMINVAL"),
    Limit(
        "mujoco",
        "urdf",
        "MuJoCo rejects unphysical moments of inertia",
        message="inertia must have positive eigenvalues",
    ),
    Limit(
        "mujoco",
        "mjcf",
        "a moment of zero is written as 1e-12 kg·m², because MuJoCo rejects zero: the numerical mass matrix of the scene is less accurate",
        trait="a moment of zero",
        skips=("mass_matrix",),
    ),
)


class KnownMessage(Struct, frozen=True):
    """A message of a reader about a file that it accepts, which does not concern the compared quantities."""

    reader: str
    format: str
    message: str


KNOWN_MESSAGES = (
    KnownMessage("drake", "mjcf", "is currently unsupported and will be ignored"),
    KnownMessage("drake", "mjcf", "torsional and rolling friction"),
    KnownMessage("drake", "mjcf", "collision filter groups are not yet implemented"),
    KnownMessage("drake", "mjcf", "did not specify a 'file' attribute"),
    KnownMessage("drake", "mjcf", "specified unknown mesh"),
    KnownMessage("drake", "mjcf", "camera element ignored"),
    KnownMessage("drake", "mjcf", "The texture element is not supported"),
    KnownMessage("drake", "sdf", "Ignoring unsupported SDFormat element"),
    KnownMessage("drake", "sdf", "Unsupported value for SDFormat element gravity"),
    KnownMessage("drake", "sdf", "Actuation (via non-zero effort limits) for"),
    KnownMessage("drake", "sdf", "SDF Element[thread_pitch] is deprecated"),
    KnownMessage("drake", "sdf", "Joint damping must be equal for both axes"),
    KnownMessage("drake", "urdf", "specified as type floating which is not supported"),  # the link still floats
    KnownMessage("drake", "urdf", "does not currently support non-zero joint friction"),
    KnownMessage("dart", "sdf", "but that is already claimed by Joint"),  # it ignores joints that close a loop
    KnownMessage("dart", "urdf", "A negative or zero mass [0] is set to BodyNode"),
    KnownMessage("dart", "urdf", "The world link has more than one child links"),
    KnownMessage("newton", "usd", "another joint already connects these bodies"),
    KnownMessage("mujoco", "urdf", "Geom with duplicate name"),
    KnownMessage("mujoco", "urdf", "has equal lower and upper limits, limit ignored"),
)


def limits_of_traits(reader: str, format: str, traits: Iterable[Trait]) -> list[Limit]:
    """The limits that apply to a document by its traits."""
    known = set(traits)
    return [limit for limit in _of(reader, format) if limit.trait in known]


def limit_of_message(reader: str, format: str, comparison: Comparison) -> Limit | None:
    """The limit that a reader reports."""
    printed = f"{comparison.failed} {comparison.said}"
    return next((limit for limit in _of(reader, format) if limit.message and limit.message in printed), None)


def unexpected_messages(reader: str, format: str, said: str) -> list[str]:
    """The lines that a reader prints beyond known messages."""
    known = [r.message for r in KNOWN_MESSAGES if (r.reader, r.format) == (reader, format)]
    known += [limit.message for limit in _of(reader, format) if limit.message]
    return [line for line in said.splitlines() if line.strip() and not any(message in line for message in known)]


def _of(reader: str, format: str) -> list[Limit]:
    return [limit for limit in LIMITS if (limit.reader, limit.format) == (reader, format)]
