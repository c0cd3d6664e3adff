"""Files that are not XML SKEL get a kind answer that says what they are."""

from __future__ import annotations

from exoskel.diagnostics import Collector
from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncoding
from exoskel.source.sniff import identify

KNOWN_ROOTS = {
    "sdf": ("SDFormat, the format of Gazebo", ""),
    "gazebo": ("SDFormat, the format of Gazebo, in an early version", ""),
    "robot": ("URDF, the robot format of ROS", ""),
    "mujoco": ("MJCF, the format of MuJoCo", ""),
    "xode": ("XODE, the format of the Open Dynamics Engine", ""),
    "COLLADA": ("COLLADA, a mesh format", "refer to it from a <mesh> element"),
    "html": ("a web page", "the download went wrong: fetch the raw file"),
    "svg": ("SVG, a picture", ""),
}

_KINDS = {
    "empty": ("it is empty", "the download or the disk may have failed: fetch it again"),
    "gzip": ("it is compressed with gzip", "decompress it first: gunzip -c FILE > scene.skel"),
    "zip": ("it is a zip archive", "unpack it first"),
    "html": ("it is a web page", "the download went wrong: fetch the raw file"),
    "json": ("it is JSON", ""),
    "spine": (
        "it is a binary skeleton of Spine, the 2D animation program, which uses the same ending",
        "Spine's own runtimes read it",
    ),
    "binary": ("it is binary data", ""),
    "text": ("it is plain text without any XML", ""),
}


def refuse(document: Document, collector: Collector) -> bool:
    """Report what keeps the document from being read at all, and what is odd about its outer form."""
    kind = identify(document.data)
    if kind == "dart_text":
        collector.report("SK002")
        return True
    if kind in _KINDS:
        reason, hint = _KINDS[kind]
        collector.report("SK001.kind", reason=reason, hint=hint)
        return True
    return _outer_form(document, collector)


def _outer_form(document: Document, collector: Collector) -> bool:
    try:
        if not document.encoding.is_utf8:
            collector.report("SK008", encoding=document.encoding.declared)
        prolog = document.prolog
    except (UnknownEncoding, UnicodeDecodeError):
        return False  # parsing reports it, with the reason
    if prolog.entities is not None:
        collector.report("SK007.entity", position=document.scan.position(prolog.entities))
        return True
    if prolog.doctype is not None:
        collector.report("SK007.doctype", position=document.scan.position(prolog.doctype))
    return False
