"""What `exoskel check --fix` and the quick fixes of editors change in XODE files, by key of the finding."""

from __future__ import annotations

from exoskel.diagnostics import Fix

_MEANT = "write '{nearest}'"


def _alias(name: str) -> Fix:
    return Fix("rename", f"write <{name}>", name=name)


_RENAME = Fix("rename", "write <{nearest}>", name="{nearest}", keeps=False)
_RENAME_ATTRIBUTE = Fix("rename_attribute", _MEANT, name="{nearest}", keeps=False)

FIXES = {
    "X103": Fix("add_attribute", 'write version="1.0r22"', name="version", text="1.0r22"),
    "X104": Fix("replace", 'write version="1.0r22"', text="1.0r22"),
    "X202": _RENAME,
    "X202.inside": _RENAME,
    "X206": _RENAME_ATTRIBUTE,
    "X304.float": Fix("replace", "write {whole}", text="{whole}"),
    "X305.spelling": Fix("replace", "write {word}", text="{word}"),
    "X307.gravity": Fix("replace", "write {meant}", text="{meant}"),
    "X401": Fix("replace", _MEANT, text="{nearest}", keeps=False),
    "X506": Fix("wrap", "put it into <rotation>", name="rotation"),
    "X511": _alias("matrix4f"),
    "X709.capsule": _alias("cappedCylinder"),
    "X709.indices": _alias("triangles"),
    "X807": _RENAME_ATTRIBUTE,
}
