"""The diagnostics that all formats share."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

_EXTREME_HINT = "use numbers from 1e-9 to 1e9 in size, or 0"

CATALOGUE = Catalogue(
    "",
    (
        Topic(
            "FM101",
            "Unused argument",
            "`--arg NAME=VALUE` (`arguments=`) sets an argument of a file with macros of xacro. Files without macros "
            "have no arguments, nor have formats other than URDF, SDF and MJCF.",
            warning(
                "FM101", "the file has no macros, and does not use the argument '{name}'", "remove --arg (arguments=)"
            ),
        ),
        Topic(
            "FM201",
            "Written as a new document",
            "A scene from a SKEL or XODE file is saved by changing only the bytes of what was edited. For other "
            "formats, an edited scene is written as a new document with a layout of its own. Comments are preserved, "
            "and so is what the page of the format lists as kept. Other data that a scene cannot store is lost; the "
            "report of `convert` lists it.",
            info(
                "FM201",
                "the edited scene is written as a new {format} document: its layout is lost, and data that a scene "
                "cannot store may be lost",
                "use `convert`, whose report lists what is kept and what is lost",
            ),
        ),
        Topic(
            "FM202",
            "File with several names",
            "Saving replaces a file with a new one. Other names of the old file (hard links) still refer to the old "
            "one.",
            info("FM202", "the saved file has other names (hard links: {count}), which keep the old content"),
        ),
        Topic(
            "FM203",
            "Actuators in a saved file",
            "SKEL and XODE have no actuators. Exoskel embeds them in the file and reads them again. Other programs "
            "read a spring and a damper with the control fixed at its initial value, or force limits.",
            info("FM203", "other programs read the actuator '{actuator}' as force limits of its joint"),
            info("FM203.nothing", "other programs do not read the motor '{actuator}': their joints accept any force"),
            warning(
                "FM203.spring",
                "other programs read the actuator '{actuator}' as a spring and damper, with its control fixed at "
                "{control}",
            ),
            warning("FM203.force", "in other programs, the control {control} of '{actuator}' acts in the first step"),
            warning("FM203.dropped", "other programs do not read the actuator '{actuator}'"),
        ),
        Topic(
            "FM204",
            "Part of the source that is not saved",
            "The saved file does not contain a part of the file that the scene was read from, and the part itself was "
            "not removed. An actuator, sensor or plugin refers to something that was removed, or that another kind of "
            "joint does not have. Or the file is written as a new document, which has no place for the part.",
            warning(
                "FM204",
                "<{tag}>{name} is removed from the file: it refers to something that was removed from the scene",
            ),
            warning("FM204.included", "parts of the file are removed: they refer to something that was removed"),
            warning(
                "FM204.object",
                "{what} '{name}' is removed from the file: what it refers to is not in the scene any more",
            ),
            warning(
                "FM204.values",
                "{fields} of joint '{joint}' are lost: the joint has another kind, with other coordinates",
            ),
            warning("FM204.lost", "{path} is not in the saved file: {why}"),
            warning("FM204.approximated", "{path} is only approximately in the saved file: {why}"),
        ),
        Topic(
            "FM301",
            "Mesh file or texture not found",
            "A mesh file or the image of a texture does not exist, or cannot be read and copied next to the output. "
            "The output refers to the same path as the input. Formats that cannot refer to files omit the shape.",
            warning("FM301", "mesh '{uri}' cannot be read and is not copied"),
            warning("FM301.reference", "mesh '{uri}' was not found; the output refers to it anyway"),
            warning("FM301.image", "texture '{uri}' cannot be read and is not copied"),
            warning("FM301.texture", "texture '{uri}' was not found; the output refers to it anyway"),
        ),
        Topic(
            "FM302",
            "Mesh not written",
            "A format that cannot refer to mesh files contains their triangles. A small mesh file can expand to "
            "millions of triangles, by polygons or repeated meshes. Such a mesh is not written.",
            warning(
                "FM302",
                "mesh '{file}' is not written: {reason}",
                "simplify the mesh, or convert to a format that refers to mesh files",
            ),
        ),
        Topic(
            "FM303",
            "Textures of a mesh file",
            "Textures are images beside or inside a mesh file. Some formats contain triangles instead of references "
            "to files, or their readers ignore textures. Materials and images are copied with a mesh file if they are "
            "in its folder, or in one for textures beside it.",
            warning(
                "FM303",
                "the textures of the mesh file are not written",
                "convert to a format that refers to mesh files; with `--meshes copy`, put images beside the mesh file",
            ),
        ),
        Topic(
            "FM304",
            "Number too large or too small to convert",
            "Formats state the same quantity in different ways, relative to another body or in other units. Numbers "
            "have about 16 digits, in USD and glTF about 7. Next to a number such as 1e150, others lose all their "
            "digits. A conversion whose certificate fails names the numbers of the input that prevent it, or the most "
            "extreme ones. Nothing is written.",
            error("FM304", "{token} is too large for {field} in a conversion to {format}", _EXTREME_HINT),
            error("FM304.small", "{token} is too small for {field} in a conversion to {format}", _EXTREME_HINT),
            error("FM304.infinite", "{token} is not finite: {field} cannot be converted to {format}", _EXTREME_HINT),
        ),
        Topic(
            "FM305",
            "Actuators as springs and force limits",
            "MJCF and USD have actuators, and URDF has motors whose control is a force. Elsewhere, the limits of a "
            "motor become those of the commands of its joint. Linear feedback becomes a spring and a damper, with the "
            "control fixed at its initial value. Filters and integrators of controls are not written.",
            info("FM305", "as force limits of the joint"),
            info("FM305.motor", "as a motor whose control is the force on the joint"),
            warning("FM305.control", "the initial control {control} is not written"),
            info("FM305.nothing", "a motor without limits: a joint accepts any force as a command"),
            warning("FM305.spring", "as a spring and damper of the joint, with the control fixed at {control}"),
            warning("FM305.force", "the control {control} acts as a force in the first step"),
            warning("FM305.limits", "springs and dampers have no force limits"),
            warning("FM305.dropped", "its feedback is not that of a spring and damper"),
            warning("FM305.activation", "its activation is not written: the control acts at once"),
            warning("FM305.integrator", "it integrates its control {control}"),
            warning("FM305.tendon", "it drives a tendon, and only MJCF and USD files have tendons"),
        ),
        Topic(
            "FM401",
            "Initial state in a file beside the document",
            "URDF and SDF have no initial state. It is written to a file beside the document, which Exoskel applies "
            "when it loads the document. The page of the format shows how to apply it in DART and ROS.",
            info("FM401", "{format} has no initial state: it is in {file}"),
        ),
        Topic(
            "FM402",
            "Invalid state file",
            "A file with the initial state beside a document cannot be read, or has values that do not fit the "
            "document. These values are ignored.",
            warning("FM402", "the state file is ignored: {reason}", "correct the file, or remove it"),
            warning(
                "FM402.unknown",
                "unknown {kind} '{name}' in the state file",
                "use the names of the document, or convert it again",
            ),
            warning("FM402.value", "'{name}' has {found}, but must have {expected}", "correct the value"),
        ),
    ),
)
