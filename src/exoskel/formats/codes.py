"""The diagnostics that are shared by all formats."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

CATALOGUE = Catalogue(
    "",
    (
        Topic(
            "FM101",
            "Format is only written",
            "Some formats contain too little of the physics to rebuild a scene. Exoskel writes them but does not read "
            "them. Keep the file that you converted.",
            error("FM101", "cannot read {format}: Exoskel only writes this format", "load the original file"),
        ),
        Topic(
            "FM201",
            "Written as a new document",
            "A scene from a SKEL or XODE file is saved by changing only the bytes of what was edited. For other "
            "formats, an edited scene is written as a new document. Comments are preserved; layout, and data that a "
            "scene cannot store, are lost.",
            info("FM201", "the edited scene is written as a new {format} document; its layout is lost"),
        ),
        Topic(
            "FM202",
            "File with several names",
            "Saving replaces a file with a new one. Other names of the old file (hard links) still refer to the old "
            "one.",
            info("FM202", "the saved file has other names (hard links: {count}), which keep the old content"),
        ),
        Topic(
            "FM301",
            "Mesh file not found",
            "A mesh file does not exist, or cannot be read and copied next to the output. The output refers to the "
            "same path as the input. Formats that cannot refer to files omit the shape.",
            warning("FM301", "mesh '{uri}' cannot be read and is not copied"),
            warning("FM301.reference", "mesh '{uri}' was not found; the output refers to it anyway"),
        ),
        Topic(
            "FM302",
            "Mesh not written",
            "A format that cannot refer to mesh files contains their triangles. Too many triangles for the size of the "
            "mesh files are not written: a polygon or a repeated mesh can stand for millions of them.",
            warning(
                "FM302",
                "mesh '{file}' is not written: {reason}",
                "simplify the mesh, or convert to a format that refers to mesh files",
            ),
        ),
    ),
)
