"""SC101 to SC107: diagnostics about a scene in memory, whatever its format."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, warning

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
            "The models of a world, the bodies of a model and the joints of a model have unique names.",
            error("SC102", "{owner} has several {kind} called '{name}'", "rename all but one of them"),
        ),
        Topic(
            "SC103",
            "Joints that do not form a tree",
            "Every body of a model has one parent joint, which connects it to the world or to another body of the "
            "model. Further joints are loops. Joints are listed after the joints of their parent bodies.",
            error("SC103.self", "joint '{joint}' connects body '{body}' to itself", "choose another parent"),
            error("SC103.ring", "the joints of these bodies form a ring: {bodies}", "make one of them a loop joint"),
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
    ),
)
