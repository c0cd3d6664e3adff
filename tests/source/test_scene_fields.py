"""Every row of a vocabulary names the field of the scene that it sets, or says why it sets none."""

from __future__ import annotations

import pytest

from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.scene.body import Body
from exoskel.scene.fields import DOF_FIELDS, FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.vocabulary import (
    FLATTENED,
    STRUCTURE,
    Element,
    FieldRow,
    SceneField,
    SceneFieldTable,
    Vocabulary,
    dof_field,
    unused,
)

OWNERS: dict[str, type[Item]] = {"child": Body, "body": Body, "world": World, "shapes": Shape, "joints": Joint}

every_vocabulary = pytest.mark.parametrize("format", registry.WITH_VOCABULARY, ids=lambda one: one.name)


def rows_of(format: Format) -> list[FieldRow]:
    return list(format.vocabulary().field_rows(format.source_mapping().transparent))


@every_vocabulary
def test_every_row_names_a_scene_field_or_says_why_it_has_none(format: Format) -> None:
    rows = rows_of(format)
    explained = [
        (one.kind, one.path)
        for one in rows
        if isinstance(one.row, Element) and (one.row.occurrence_code or one.row.extension) and one.field is None
    ]
    silent = [
        f"{one.kind and one.kind.__name__}: {one.path}"
        for one in rows
        if one.field is None
        and not any(one.kind is kind and f"{one.path}/".startswith(f"{path}/") for kind, path in explained)
    ]
    assert silent == []


@every_vocabulary
def test_the_fields_that_rows_name_are_fields_of_the_scene(format: Format) -> None:
    for one in rows_of(format):
        field = one.field
        if field is None or not field.name or field == FLATTENED or one.kind is None:
            continue
        if "transform" in one.path.split("/"):
            continue  # a transform of a world or a group moves the items inside
        assert field.name in FIELDS[OWNERS.get(field.owner, one.kind)], one.path
        if field.name == "dofs":
            assert {*field.parts} <= {*DOF_FIELDS, "name"}, one.path


@every_vocabulary
def test_elements_at_the_same_place_set_the_same_field(format: Format) -> None:
    known: dict[tuple[type[Item] | None, str], SceneField | None] = {}
    for one in rows_of(format):
        assert known.setdefault((one.kind, one.path), one.field) == one.field, one.path


@every_vocabulary
def test_the_table_of_a_format_has_the_fields_of_its_vocabulary(format: Format) -> None:
    table = format.source_mapping().scene_fields
    for one in rows_of(format):
        assert table.find(one.kind, one.path) == one.field, one.path


def test_rows_inherit_the_field_of_the_element_around_them() -> None:
    leaf = Element("leaf", "?", "")
    own = Element("own", "?", "", field=dof_field("damping"))
    root = Element(
        "root",
        "1",
        "",
        Element("part", "?", "", leaf, own, field="dofs"),
        Element("group", "?", "", Element("inner", "?", ""), field=STRUCTURE, content="pose"),
        Element("nothing", "?", "", Element("below", "?", ""), field=unused("no effect")),
        item=Joint,
    )
    table = SceneFieldTable(Vocabulary("x", "", root, None).scene_fields())  # type: ignore[arg-type]
    found = {
        path: table.find(Joint, path)
        for path in (
            "",
            "part",
            "part/leaf",
            "part/own",
            "part/@unknown",
            "group",
            "group/inner",
            "nothing/below",
            "no",
        )
    }
    assert found == {
        "": STRUCTURE,
        "part": SceneField("dofs"),
        "part/leaf": SceneField("dofs"),
        "part/own": dof_field("damping"),
        "part/@unknown": SceneField("dofs"),
        "group": STRUCTURE,
        "group/inner": SceneField("pose"),
        "nothing/below": unused("no effect"),
        "no": None,
    }
