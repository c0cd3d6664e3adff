"""What can be said about any format, as data."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

CATALOGUE = Catalogue(
    "",
    (
        Topic(
            "FM101",
            "Format is written, not read",
            "Some formats hold too little of the physics of a scene for one to be made of them. They are written, and "
            "not read: keep the file that they were made from.",
            (error("FM101", "{format}, is written and not read", "load the file that it was made from"),),
        ),
        Topic(
            "FM201",
            "Written anew",
            "A scene that was read from SKEL or XODE is saved by changing those bytes of its file that say what was "
            "edited. Files of other formats are written anew when anything was edited: comments, layout and what a "
            "scene has no place for are gone.",
            (info("FM201", "the edited scene is written anew, in canonical {format}: comments and layout are gone"),),
        ),
        Topic(
            "FM301",
            "Mesh not there",
            "A mesh file is not found, or could not be read to be copied beside the output; the output refers to the "
            "same place as the input, or leaves the shape out where its format has no other way.",
            (
                warning("FM301", "the mesh '{uri}' cannot be read, and is not copied"),
                warning("FM301.reference", "the mesh '{uri}' is not found, and the output refers to it all the same"),
            ),
        ),
    ),
)
