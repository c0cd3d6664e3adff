"""DART as a reader of SDFormat and MJCF, of the very files: nothing is removed or relabelled."""

from __future__ import annotations

import dartpy
from dart_reader import describe_skeletons, uri
from protocol import serve


def load(request):
    if request["format"] == "mjcf":
        return dartpy.utils.MjcfParser.readWorld(uri(request["file"]))
    return dartpy.utils.SdfParser.readWorld(uri(request["file"]))


def describe(request):
    world = load(request)
    if world is None or not world.getNumSkeletons():
        return {"failed": "nothing loaded"}
    skeletons = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
    prefixed = request["format"] == "sdf"
    return describe_skeletons([(f"{one.getName()}::" if prefixed else "", one) for one in skeletons], request)


if __name__ == "__main__":
    serve(describe, lambda: dartpy.__version__)
