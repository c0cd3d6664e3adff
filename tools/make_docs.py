"""Writes the documentation pages that are generated from tables in the code: `make docs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exoskel.cli.command_runner import command_function, command_help
from exoskel.cli.commands import COMMANDS, overview
from exoskel.cli.reference import SHAPES, json_type
from exoskel.engines import codes
from exoskel.fates import Fate
from exoskel.formats import registry
from exoskel.formats.gltf import write as gltf
from exoskel.formats.gltf.write import GltfMapping
from exoskel.formats.interface import Format
from exoskel.formats.usd import mapping as usd
from exoskel.formats.usd.codes import CATALOGUE as USD_CATALOGUE
from exoskel.formats.usd.mapping import PrimMapping
from exoskel.samples import samples
from exoskel.scene import codes as scene_codes
from exoskel.scene import merge
from exoskel.source.schema import build_schema
from exoskel.source.vocabulary import Element, Vocabulary

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))  # the table of hostile files is in the tests, other pages are in tools

from tools.external_readers_page import external_readers  # noqa: E402
from tools.python_reference import python_reference  # noqa: E402

DOCS = PROJECT / "docs"
REFERENCE = DOCS / "reference"
HOSTILE_IN_DART = PROJECT / "tests" / "golden" / "hostile_dart.json"
PUBLIC = PROJECT / "tests" / "golden" / "public.json"
GENERATED = "This page is generated from tables in the code (`make docs`); do not edit it."


def pages() -> dict[str, str]:
    """All generated pages, by file name."""
    generated = {
        "diagnostics.md": diagnostics(),
        "samples.md": sample_list(),
        "formats.md": format_pairs(),
        "external-readers.md": external_readers(),
        "public.md": public_models(),
        "hostile-files.md": hostile_files(),
        "python.md": python_reference(),
        "json.md": json_outputs(),
        "cli.md": command_line(),
    }
    for one in registry.WITH_VOCABULARY:
        generated[f"{one.name}.md"] = vocabulary_markdown(one.vocabulary())
        generated[f"{one.name}.xsd"] = build_schema(one.vocabulary()).decode()
    return generated


def command_line() -> str:
    """The help of all commands."""
    parts = ["# Commands", GENERATED, f"```text\n{overview(_HELP_WIDTH)}\n```"]
    for command in COMMANDS:
        text = command_help(command, command_function(command), _HELP_WIDTH).plain.strip()
        parts += [f"## exoskel {command}", f"```text\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


_HELP_WIDTH = 100


def json_outputs() -> str:
    """The output of each command with `--json`."""
    parts = [
        "# JSON of the command line",
        GENERATED,
        "The output of each command with `--json`. Every key is always present; `*` stands for any keys. "
        "`exoskel schema json COMMAND` prints the same as a JSON Schema.",
    ]
    for command, shapes in SHAPES.items():
        parts.append(f"## {command}")
        for arguments, shape in shapes.items():
            parts += [f"With `{arguments}`:"] if arguments else ["By default:"] if len(shapes) > 1 else []
            parts.append(f"```json\n{json.dumps(_shape_names(shape), indent=2)}\n```")
    return "\n\n".join(parts) + "\n"


def _shape_names(shape: Any) -> Any:
    """A shape with the names of its types."""
    if isinstance(shape, dict):
        return {name: _shape_names(inner) for name, inner in shape.items()}
    if isinstance(shape, list):
        return [_shape_names(shape[0])]
    names = json_type(shape)
    return names if isinstance(names, str) else " or ".join(names)


def hostile_files() -> str:
    """The files that tests/hostile generates, with the expected diagnostics and what DART does."""
    from tests.hostile.corpus import HOSTILE

    dart: dict[str, str] = json.loads(HOSTILE_IN_DART.read_text(encoding="utf-8"))
    parts = [
        "# Hostile files",
        GENERATED,
        f'{len(HOSTILE)} files that `tests/hostile` generates. A code is that of the diagnostic; "nothing to report"'
        ' means that the file loads correctly. "Confined" means with the option `confine`.',
    ]
    for name in sorted({row.format for row in HOSTILE.values()}, key=lambda one: (one != "skel", one)):
        rows = {key: row for key, row in HOSTILE.items() if row.format == name}
        head = ["| file | exoskel |", "|---|---|"]
        if name == "skel":
            head = ["| file | exoskel | DART 6.20 |", "|---|---|---|"]
        lines = []
        for key, row in rows.items():
            answer = ", ".join(f"`{code}`" for code in row.expect)
            if not answer:
                answer = "nothing to report" if row.loads else "error: cannot be opened"
            elif not row.loads:
                answer += "; nothing loaded"
            lines.append(f"| {key} | {answer} |" + (f" {dart[key]} |" if name == "skel" else ""))
        parts += [f"## {name}", "\n".join([*head, *lines])]
    return "\n\n".join(parts) + "\n"


def diagnostics() -> str:
    parts = ["# Diagnostics", GENERATED, "`exoskel explain CODE` prints the same for one code."]
    for catalogue in [*registry.catalogues(), merge.CATALOGUE, scene_codes.CATALOGUE, codes.CATALOGUE]:
        for topic in catalogue.topics.values():
            rows = [
                "| severity | message | hint | " + (catalogue.original_reader or "note") + " |",
                "|---|---|---|---|",
            ]
            for message in topic.messages:
                cells = [str(message.severity or "strict only"), message.text, message.hint, message.reader_note]
                rows.append("| " + " | ".join(cell.replace("|", "\\|").replace("<", "\\<") for cell in cells) + " |")
            parts += [f"## {topic.code}: {topic.title}", topic.text, "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def format_pairs() -> str:
    """The formats, and which of them can be converted to which."""
    kinds = ["| format | extensions | description | read | written | unsupported data |", "|---|---|---|---|---|---|"]
    for one in registry.FORMATS:
        unsupported = "embedded in the file" if one.embeds_data else "dropped and reported"
        extensions = " ".join(f"`{extension}`" for extension in one.extensions)
        read = "yes" if one.is_readable else "no: FM101"
        kinds.append(f"| {one.label} | {extensions} | {one.title} | {read} | yes | {unsupported} |")
    head = "| from | " + " | ".join(f"to {one.label}" for one in registry.FORMATS) + " |"
    rows = [head, "|---" * (len(registry.FORMATS) + 1) + "|"]
    for one in registry.FORMATS:
        cells = [_pair(one, other) for other in registry.FORMATS]
        rows.append(f"| {one.label} | " + " | ".join(cells) + " |")
    parts = ["# Formats", GENERATED, "\n".join(kinds), "## Pairs", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _pair(one: Format, other: Format) -> str:
    if not one.is_readable:
        return "rejected: FM101"
    if one is other:
        return "normalised"
    return "one file per model" if other.holds_one_model and not one.holds_one_model else "supported"


def sample_list() -> str:
    rows = ["| URI | description |", "|---|---|"]
    rows += [f"| `{sample.uri}` | {sample.title} |" for sample in samples()]
    return "\n\n".join(["# Samples", GENERATED, "\n".join(rows)]) + "\n"


def public_models() -> str:
    """How models that come with packages fare, from the record."""
    record = json.loads(PUBLIC.read_text(encoding="utf-8"))
    rows = [
        "| package | models | certified in every format | of these incomplete | rejected | through USD and MJCF |",
        "|---|---|---|---|---|---|",
    ]
    for package, version in record["versions"].items():
        own = [row for name, row in record["models"].items() if name.startswith(f"{package}/")]
        refused, incomplete = (sum(key in row for row in own) for key in ("refused", "error"))
        back = sum(row.get("round_trips", False) for row in own)
        rows.append(f"| {package} {version} | {len(own)} | {len(own) - refused} | {incomplete} | {refused} | {back} |")
    losses: list[str] = []
    for name, row in record["models"].items():
        if "refused" in row:
            continue
        if not losses:
            labels = [registry.by_name(format).label for format in row["losses"]]
            losses = [f"| model | {' | '.join(labels)} |", "|---|" + "---|" * len(labels)]
        counts = ["none" if count is None else str(count) for count in row["losses"].values()]
        losses.append(f"| {name} | {' | '.join(counts)} |")
    parts = [
        "# Public models",
        "This page is generated from the record of `make test-external` (`make docs`); do not edit it.",
        "Every MJCF, URDF, SDFormat and USD model in these packages is read, written in each format and certified: "
        "the written file is read back and its physics is compared with the model.",
        "*Through USD and MJCF*: the model is converted to USD and the result to MJCF, and in the other order. Both "
        "conversions are certified. The mass, centre of mass and moments of inertia of all that moves agree with those "
        "of the model to 1e-5, and the number of coordinates is the same.",
        f"Tested on {record['date']}.",
        "\n".join(rows),
        "## Rejected",
        "MuJoCo rejects these too: something in them is missing or wrong.",
        _problems(record["models"], "refused"),
        "## Incomplete",
        "These refer to files that do not exist. They are converted without them, and the error is reported; MuJoCo "
        "rejects them.",
        _problems(record["models"], "error"),
        "## Model by model",
        "The number of losses: values that the format does not support. Each is reported with its line when "
        "converting. *none*: the file contains no body and cannot be written as URDF.",
        "\n".join(losses),
    ]
    return "\n\n".join(parts) + "\n"


def _problems(models: dict[str, Any], key: str) -> str:
    """A table of the models with a problem of one kind."""
    rows = [f"| {name} | {row[key].replace('<', '&lt;')} |" for name, row in models.items() if key in row]
    return "\n".join(["| model | why |", "|---|---|", *rows])


# --- vocabularies ------------------------------------------------------------------------------


def vocabulary_markdown(vocabulary: Vocabulary) -> str:
    """The whole vocabulary as a Markdown page."""
    parts = [
        f"# {vocabulary.title}: every element",
        "This page is generated from the vocabulary of the reader (`make docs`); do not edit it.",
        "How often a child may occur: `1` exactly once, `?` at most once, `+` at least once, `*` any number of times.",
        "## Kinds of value",
        _markdown_table(["kind", "text"], [[f"`{k.name}`", k.meaning] for k in vocabulary.kinds().values()]),
    ]
    for path, element in vocabulary.rows():
        if not element.is_leaf:
            parts.append(_section(path, element))
    return "\n\n".join(parts) + "\n"


def _section(path: str, element: Element) -> str:
    parts = [f"## `{path}`", element.meaning]
    if element.reader_note:
        parts.append(f"*{element.reader_note}*")
    if element.attributes:
        rows = [
            [f"`@{a.name}`", a.kind.name, a.default, _prose(a.meaning, a.reader_note)]
            for a in element.attributes.values()
        ]
        parts.append(_markdown_table(["attribute", "kind", "default", "meaning"], rows))
    if element.children:
        rows = [_child_row(child) for child in element.children.values()]
        parts.append(_markdown_table(["child", "", "kind", "unit", "default", "meaning"], rows))
    return "\n\n".join(parts)


def _child_row(child: Element) -> list[str]:
    meaning = _prose(child.meaning, child.reader_note)
    if child.occurrence_code:
        meaning += f" [{child.occurrence_code.partition('.')[0]}]"
    kind = child.kind.name if child.kind else "element"
    return [f"`{child.name}`", f"`{child.card}`", kind, child.unit, child.default, meaning]


def _prose(meaning: str, reader_note: str) -> str:
    return f"{meaning} {reader_note}".strip()


def _markdown_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# --- USD ---------------------------------------------------------------------------------------


USD_PARTS: tuple[tuple[str, PrimMapping], ...] = (
    (
        "gravity of the world",
        PrimMapping("PhysicsScene", "exact: direction and magnitude; `upAxis` is Y or Z, opposite to gravity"),
    ),
    (
        "time step",
        PrimMapping(
            "newton:timeStepsPerSecond, mjc:option:timestep", "exact for MuJoCo, an integer for Newton", ("US212",)
        ),
    ),
    ("numbers beyond 3.4e38", PrimMapping("", "clipped where USD has single precision", ("US213",))),
    (
        "friction and restitution of a shape",
        PrimMapping("PhysicsMaterialAPI, material:binding:physics", "exact in single precision; 1 and 0 if not stated"),
    ),
    ("model", PrimMapping("Xform, kind component", "exact; its pose is part of the poses of its bodies")),
    (
        "model that moves and has joints",
        PrimMapping(
            "PhysicsArticulationRootAPI",
            "exact: one for each tree if one of them floats; joints that close loops are excluded",
        ),
    ),
    ("static model", PrimMapping("no PhysicsRigidBodyAPI", "exact: its colliders do not move", ("US210",))),
    (
        "initial pose of a body",
        PrimMapping("Xform, kind subcomponent", "exact, in double precision and in world coordinates"),
    ),
    ("mass, centre of mass", PrimMapping("PhysicsMassAPI", "exact in single precision", ("US211",))),
    (
        "moments of inertia",
        PrimMapping(
            "physics:diagonalInertia, physics:principalAxes, newton:inertia",
            "all six moments in single precision; exact for Newton",
            ("US211",),
        ),
    ),
    (
        "velocity of a body",
        PrimMapping(
            "physics:velocity, physics:angularVelocity",
            "exact: velocity of the centre of mass, in body coordinates, as Newton reads it",
        ),
    ),
    (
        "body without gravity",
        PrimMapping("physxRigidBody:disableGravity, mjc:body:gravcomp", "exact for PhysX and MuJoCo"),
    ),
    ("sleeping body", PrimMapping("physics:startsAsleep", "exact")),
    ("markers", PrimMapping("Sphere with NewtonSiteAPI", "exact, without axes and look")),
    ("colours", PrimMapping("UsdPreviewSurface, primvars:displayColor", "exact")),
    ("roughness and metalness", PrimMapping("UsdPreviewSurface", "exact")),
    (
        "texture",
        PrimMapping(
            "UsdUVTexture",
            "the image is a file, in USDZ one in the archive; with texture coordinates only on meshes",
            ("US215", "US314"),
        ),
    ),
    (
        "visual shapes; collision shapes",
        PrimMapping("default purpose; PhysicsCollisionAPI, with purpose guide if the body has visual shapes", "exact"),
    ),
    ("shapes that do not collide", PrimMapping("physics:collisionEnabled", "exact")),
    (
        "models without self-collision, groups exempt from collision",
        PrimMapping("PhysicsCollisionGroup", "exact"),
    ),
    (
        "collision of bodies connected by a joint, in a model with self-collision",
        PrimMapping(
            "physics:collisionEnabled, PhysicsFilteredPairsAPI",
            "exact: as a property of the joint, or as a filtered pair if no USD joint connects them",
        ),
    ),
    (
        "frames of a joint",
        PrimMapping(
            "physics:localPos0, localRot0, localPos1, localRot1",
            "exact in single precision; the two frames coincide at position zero",
        ),
    ),
    (
        "initial positions and velocities of joints",
        PrimMapping("PhysxJointStateAPI", "exact, in degrees; for ball joints only through the poses of the bodies"),
    ),
    (
        "position limits",
        PrimMapping(
            "physics:lowerLimit, PhysicsLimitAPI",
            "exact, in degrees and m; of ball joints physics:coneAngle0Limit, coneAngle1Limit if they are a cone",
            ("US217", "US303", "US304"),
        ),
    ),
    (
        "springs and dampers",
        PrimMapping(
            "PhysicsDriveAPI of type force", "exact; the damping of ball joints as newton:damping", ("US205", "US303")
        ),
    ),
    (
        "dry friction",
        PrimMapping("newton:friction, mjc:frictionloss", "exact if all axes have the same value", ("US205",)),
    ),
    (
        "velocity limits",
        PrimMapping("newton:velocityLimit", "exact if all axes and both directions have the same value", ("US205",)),
    ),
    ("force limits", PrimMapping("mjc:actuatorfrcrange", "exact for joints with one axis", ("US305",))),
    (
        "servos, ODE motors, joints with prescribed motion",
        PrimMapping("PhysicsDriveAPI", "approximated: a stiff damper", ("US203",)),
    ),
    (
        "soft joint stops of ODE",
        PrimMapping("newton:limitStiffness, newton:limitDamping", "exact if all axes have the same value", ("US205",)),
    ),
    (
        "cameras",
        PrimMapping("Camera", "exact; the resolution is approximated by the aspect ratio", ("US216", "US315")),
    ),
    (
        "lights",
        PrimMapping("SphereLight, DistantLight", "exact if they decay with the square of the distance", ("US216",)),
    ),
    (
        "actuators of joints and tendons",
        PrimMapping(
            "MjcActuator",
            "exact at joints with one axis; initial controls only for Exoskel. For Isaac Sim, springs, dampers and "
            "force limits of joints",
            ("US218", "US219", "US316"),
        ),
    ),
    (
        "tendons",
        PrimMapping("MjcTendon", "exact, except for fixed tendons of joints with several axes", ("US219", "US316")),
    ),
    (
        "springs and dampers of joints with one axis that a servo drives",
        PrimMapping("newton:damping, mjc:damping, mjc:stiffness, mjc:springref", "exact for Newton and MuJoCo"),
    ),
    ("mimic joint", PrimMapping("NewtonMimicAPI", "exact for joints with one axis", ("US204", "US309"))),
    ("joint that closes a loop", PrimMapping("physics:excludeFromArticulation", "exact", ("US313",))),
    (
        "soft skins",
        PrimMapping(
            "Mesh", "approximated: a rigid mesh at rest, without mass; dropped without a surface", ("US214", "US301")
        ),
    ),
    (
        "acceleration limits, bounce and fudge factor of stops, ERP and CFM, forces of the first step, collision "
        "detector",
        PrimMapping("", "dropped", ("US305", "US306", "US307", "US311")),
    ),
)
"""How the parts of a scene other than joints and shapes are written to USD."""

USD_BEGIN = "<!-- begin generated tables (`make docs`): do not edit -->"
USD_END = "<!-- end generated tables -->"


def usd_tables() -> str:
    """The mapping and all diagnostics of the USD writer."""
    parts = [
        "### Joints",
        _usd_table("joint", usd.JOINTS.items()),
        "### Shapes",
        _usd_table("shape", usd.SHAPES.items()),
        "### Everything else",
        _usd_table("scene", USD_PARTS),
        "### Diagnostics",
        _usd_diagnostics(),
    ]
    return "\n\n".join(parts)


def _usd_table(head: str, rows: Iterable[tuple[str, PrimMapping]]) -> str:
    lines = [f"| {head} | USD | how | diagnostics |", "|---|---|---|---|"]
    for name, row in rows:
        prims = ", ".join(
            f"`{part}`" if ":" in part or part.isalpha() else part for part in row.prim.split(", ") if part
        )
        lines.append(f"| {name} | {prims} | {row.how} | {', '.join(row.codes)} |")
    return "\n".join(lines)


def _usd_diagnostics() -> str:
    lines = ["| code | meaning | messages |", "|---|---|---|"]
    for topic in USD_CATALOGUE.topics.values():
        messages = "<br>".join(message.text for message in topic.messages)
        lines.append(f"| {topic.code} | {topic.title}. {topic.text}".rstrip() + f" | {messages} |")
    return "\n".join(lines)


def with_usd_tables(page: str) -> str:
    """The page with the text between the two markers regenerated."""
    head, _, rest = page.partition(USD_BEGIN)
    _, _, tail = rest.partition(USD_END)
    return f"{head}{USD_BEGIN}\n\n{usd_tables()}\n\n{USD_END}{tail}"


# --- glTF --------------------------------------------------------------------------------------


GLTF_PARTS: tuple[tuple[str, GltfMapping], ...] = (
    (
        "world",
        GltfMapping("scene with a root node", Fate.EXACT, "the root rotates the world so that y is up, as in glTF"),
    ),
    ("gravity, time step", GltfMapping("extras of the scene", Fate.KEPT)),
    ("model", GltfMapping("node below the root", Fate.EXACT, "its pose is part of the poses of its bodies")),
    ("static model", GltfMapping("extras", Fate.KEPT)),
    ("initial pose of a body", GltfMapping("node below its model, with translation and rotation", Fate.EXACT)),
    ("mass, centre of mass, moments", GltfMapping("extras of the body's node", Fate.KEPT, "", ("GL307",))),
    ("body without gravity", GltfMapping("extras of the body's node", Fate.KEPT)),
    ("markers", GltfMapping("nodes without a mesh, below the body's node", Fate.EXACT, "without axes and look")),
    (
        "pose of a shape",
        GltfMapping("node below the body's node, with the mesh, and the size as scale", Fate.EXACT),
    ),
    (
        "visual and collision shapes",
        GltfMapping(
            "", Fate.DROPPED, "the collision shapes, if the body has visual shapes, unless requested", ("GL304",)
        ),
    ),
    (
        "colour",
        GltfMapping(
            "material with baseColorFactor, alphaMode BLEND if it is not opaque; roughnessFactor, metallicFactor",
            Fate.EXACT,
            "converted to linear light, as in glTF; default: the colour of the mesh file, else DART's 0.5 0.5 1",
            ("GL205",),
        ),
    ),
    (
        "texture of a shape",
        GltfMapping(
            "baseColorTexture with an image in the file; KHR_texture_transform if it is repeated",
            Fate.EXACT,
            "images other than PNG and JPEG are converted to PNG; primitives have texture coordinates as in the viewer",
            ("GL308",),
        ),
    ),
    (
        "cameras and lights",
        GltfMapping(
            "cameras and KHR_lights_punctual of nodes",
            Fate.EXACT,
            "what glTF does not have is lost",
            ("GL207", "GL309"),
        ),
    ),
    (
        "name, kind and parent of a joint",
        GltfMapping("extras of the child's node", Fate.KEPT, "of the model's node if the joint closes a loop"),
    ),
    (
        "axes, limits, springs, dampers, motors, actuators and mimics of joints",
        GltfMapping("", Fate.DROPPED, "glTF has no joints", ("GL301",)),
    ),
    ("initial velocities", GltfMapping("", Fate.DROPPED, "glTF has no velocities", ("GL302",))),
    ("groups exempt from collision", GltfMapping("", Fate.DROPPED, "glTF has no collision filters", ("GL303",))),
    ("soft skin", GltfMapping("mesh", Fate.APPROXIMATED, "rigid, in its rest shape", ("GL204",))),
    ("ERP, CFM, forces of the first step", GltfMapping("", Fate.DROPPED, "not supported by glTF", ("GL306",))),
    (
        "motion",
        GltfMapping(
            "animation with LINEAR samplers of translation and rotation",
            Fate.EXACT,
            "in single precision; bodies that do not move have no samplers",
            ("GL206",),
        ),
    ),
)
"""How the parts of a scene other than shapes are written to glTF."""


def gltf_table() -> str:
    """The whole mapping as a Markdown table."""
    rows = [("scene", "glTF", "fate", "diagnostics"), ("---", "---", "---", "---")]
    for name, row in (*GLTF_PARTS, *((kind.replace("_", " "), row) for kind, row in gltf.SHAPES.items())):
        codes = ", ".join((*row.codes, *([row.always] if row.always else [])))
        rows.append((name, row.written_as, f"{row.fate.value}: {row.why}" if row.why else row.fate.value, codes))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows).replace("|  |", "| |")


def main() -> int:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    page = DOCS / "usd.md"
    page.write_text(with_usd_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
