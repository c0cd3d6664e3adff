"""SC101 to SC116: diagnostics about a scene in memory, whatever its format."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

CATALOGUE = Catalogue(
    "",
    (
        Topic(
            "SC101",
            "Invalid value",
            "A field of a scene has a value of the wrong type or outside its range, such as a negative mass or a "
            "number that is not finite. Readers do not create such scenes; edits do.",
            error("SC101", "the {field} of {item} {verb} {found}: expected {expected}"),
        ),
        Topic(
            "SC102",
            "Duplicate name",
            "Models, cameras, lights, keyframes, actuators, tendons, sensors and equality constraints of a world, and "
            "bodies and joints of a model, have unique names.",
            error("SC102", "{owner} has several {kind} called '{name}'", "rename all but one of them"),
        ),
        Topic(
            "SC103",
            "Joints that do not form a tree",
            "Every body of a model has one parent joint, which connects it to the world or to another body of the "
            "model. Further joints are loops. Joints are listed after the joints of their parent bodies.",
            error("SC103.self", "joint '{joint}' connects body '{body}' to itself", "choose another parent"),
            error("SC103.cycle", "the joints of these bodies form a cycle: {bodies}", "make one of them a loop joint"),
            error("SC103.several", "body '{body}' has several parent joints: {joints}", "set loop on all but one"),
            error("SC103.none", "body '{body}' has no parent joint", "add a joint"),
            error(
                "SC103.outside",
                "the {field} of joint '{joint}' is body '{body}', which is not in model '{model}'",
                "remove bodies with Model.remove, which removes their joints too",
            ),
            error("SC103.repeated", "model '{model}' lists body '{body}' again", "copy the body"),
            error(
                "SC103.order",
                "joint '{joint}' is listed before the joint of its parent body '{body}'",
                "list parents first",
            ),
        ),
        Topic(
            "SC104",
            "Joint that does not match its kind",
            "The kind of a joint determines how many axes and degrees of freedom it has.",
            error(
                "SC104",
                "{problem}",
                "after changing the kind of a joint, set its other fields too",
            ),
        ),
        Topic(
            "SC105",
            "Triangle without a vertex",
            "The triangles of a mesh refer to its vertices by their numbers, from 0.",
            error(
                "SC105",
                "a triangle of {item} refers to vertex {index}: the mesh has {count} vertices, numbered from 0",
            ),
        ),
        Topic(
            "SC106",
            "Joint that mimics itself",
            "A joint with `mimic` follows another joint of its model.",
            error("SC106", "joint '{joint}' mimics itself", "mimic another joint, or set mimic to None"),
        ),
        Topic(
            "SC107",
            "Colour out of range",
            "The red, green, blue and alpha of a colour are numbers from 0 to 1. Formats and viewers clamp others.",
            warning("SC107", "the color of {item} is {found}: expected 4 numbers from 0 to 1", "scale it to 1"),
        ),
        Topic(
            "SC108",
            "Body without mass",
            "A body without mass cannot be simulated unless other bodies hold it.",
            warning("SC108", "the mass of body '{body}' is 0", "set its mass"),
        ),
        Topic(
            "SC109",
            "Unphysical moment of inertia",
            "No mass distribution has this moment: the principal moments must be positive, and none may exceed the sum "
            "of the other two. Engines correct it or refuse it.",
            warning("SC109.negative", "the principal moments of body '{body}' are not all positive: {moments}"),
            warning(
                "SC109.triangle",
                "the largest principal moment of body '{body}' exceeds the sum of the others: {moments}",
            ),
        ),
        Topic(
            "SC110",
            "Zero axis",
            "A joint rotates about an axis or slides along it; a zero axis has no direction.",
            warning("SC110", "an axis of joint '{joint}' is zero", "use a direction such as (0, 0, 1)"),
        ),
        Topic(
            "SC111",
            "Limits of a position",
            "The lower limit must not exceed the upper one, and the initial position is between them.",
            warning("SC111.reversed", "the lower limit {low} of '{dof}' exceeds the upper limit {high}", "swap them"),
            warning("SC111.outside", "the initial position {found} of '{dof}' is outside its limits, {low} to {high}"),
        ),
        Topic(
            "SC112",
            "Negative damping, friction or stiffness",
            "These values must not be negative: they would add energy.",
            warning("SC112", "the {field} of '{dof}' is {found}, but must not be negative"),
        ),
        Topic(
            "SC113",
            "Model without bodies",
            "An empty model is valid, but may be a mistake.",
            info("SC113", "model '{model}' has no bodies"),
        ),
        Topic(
            "SC114",
            "Mesh or texture not found",
            "The file of a mesh cannot be found or read. The shape has no extent, does not collide and is not shown. "
            "Without the file of its texture, a shape is shown in its colour.",
            warning(
                "SC114", "mesh '{uri}' of body '{body}' was not found", "use a path relative to the working folder"
            ),
            warning(
                "SC114.texture",
                "texture '{uri}' of body '{body}' was not found",
                "use a path relative to the working folder",
            ),
        ),
        Topic(
            "SC115",
            "Unknown joint to mimic",
            "A joint with `mimic` follows another joint of its model that can move.",
            warning(
                "SC115.unknown",
                "joint '{joint}' mimics '{leader}', but model '{model}' has no such joint",
                "use the name of a joint of the model",
            ),
            warning("SC115.fixed", "joint '{joint}' mimics '{leader}', which cannot move", "mimic another joint"),
        ),
        Topic(
            "SC116",
            "Unknown body, joint, site, shape, tendon or actuator",
            "Cameras and lights refer to bodies, keyframes, actuators and tendons to joints, and tendons to markers "
            "and shapes, by paths such as `model/body`. Keyframes refer to actuators, and actuators to tendons, by "
            "their names. Sensors and equality constraints refer to all of them. `World.rename` and `World.remove` "
            "update all of them.",
            warning(
                "SC116",
                "{what} '{name}' refers to '{path}', which is not in the world; it is ignored",
                "rename models, bodies and joints with World.rename",
            ),
            warning(
                "SC116.joint",
                "{what} '{name}' refers to joint '{path}', {problem}; it is ignored",
                "let it refer to another joint, or restore the kind of the joint",
            ),
            warning(
                "SC116.coordinate",
                "{what} '{name}' refers to coordinate {coordinate} of joint '{path}', which has {count}, counted from "
                "0; it is ignored",
                "let it refer to another coordinate, or restore the kind of the joint",
            ),
        ),
        Topic(
            "SC117",
            "Unknown collision detector",
            "DART uses fcl instead of a collision detector that it does not know. MuJoCo and ODE have their own.",
            warning("SC117", "unknown collision detector '{name}'", "use one of {known}"),
        ),
    ),
)
