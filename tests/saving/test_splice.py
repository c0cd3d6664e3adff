"""The single edits of a patch."""

from __future__ import annotations

import pytest

from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.splice import OverlapError, Patch


def patch(text: str) -> Patch:
    return Patch(Document(text.encode()))


def node(edits: Patch, tag: str) -> int:
    return next(n for n in range(len(edits.scan.starts)) if edits.elements.tag(n) == tag)


SIMPLE = "<a>\n  <b x='1'   y=\"2\">text</b>\n  <c/>\n</a>\n"


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("<a>1 2 3</a>", "1 5 3", "<a>1 5 3</a>"),
        ("<a> 1\t2  3 </a>", "1 5 3", "<a> 1\t5  3 </a>"),
        ("<a>1<!-- x --> 2 3</a>", "1 5 3", "<a>1<!-- x --> 5 3</a>"),
        ("<a>1 2</a>", "1 5 3", "<a>1 5 3</a>"),
        ("<a/>", "7", "<a>7</a>"),
        ("<a  />", "7", "<a  >7</a>"),
        ("<a></a>", "7", "<a>7</a>"),
        ("<a> </a>", "7", "<a>7</a>"),
        ("<a><!-- x --></a>", "7", "<a>7</a>"),
        ("<a>1 <![CDATA[2]]> 3</a>", "1 5 3", "<a>1 5 3</a>"),
        ("<a>1 2 3</a>", "<&>", "<a>&lt;&amp;&gt;</a>"),
    ],
)
def test_only_changed_values_of_a_text_are_replaced(before: str, new: str, after: str) -> None:
    edits = patch(before)
    edits.set_text(0, new, "1 2 3")
    assert edits.apply().decode() == after


def test_attributes_keep_their_quotes_and_order() -> None:
    edits = patch(SIMPLE)
    edits.set_attribute(1, "x", 'it\'s "<new>"\n')
    edits.set_attribute(1, "z", "3")
    assert edits.apply().decode() == SIMPLE.replace(
        "x='1'   y=\"2\"", 'x=\'it&apos;s &quot;&lt;new&gt;&quot;&#10;\'   y="2" z="3"'
    )


def test_removing_an_attribute_removes_the_spaces_before_it() -> None:
    edits = patch(SIMPLE)
    edits.remove_attribute(1, "y")
    edits.remove_attribute(1, "absent")
    assert edits.apply().decode() == SIMPLE.replace('   y="2"', "")


def test_an_attribute_name_inside_another_name_is_ignored() -> None:
    edits = patch('<a xx="1" x="2" axx="3"/>')
    edits.remove_attribute(0, "x")
    assert edits.apply() == b'<a xx="1" axx="3"/>'


def test_removing_an_element_removes_its_line() -> None:
    edits = patch(SIMPLE)
    edits.remove(1)
    assert edits.apply() == b"<a>\n  <c/>\n</a>\n"


def test_removing_an_element_keeps_the_others_on_its_line() -> None:
    edits = patch("<a>\n  <b/> <c/> <!-- d -->\n</a>")
    edits.remove(2)
    assert edits.apply() == b"<a>\n  <b/>  <!-- d -->\n</a>"


def test_nested_tags_comments_and_quoted_brackets_are_skipped() -> None:
    text = '<a><b n="></b>"><!-- </b> <b> --><b><b/></b><![CDATA[</b>]]></b><c/></a>'
    edits = patch(text)
    edits.remove(1)
    assert edits.apply() == b"<a><c/></a>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<a/>\n", "<a>\n  <n/>\n</a>\n"),
        ("<a></a>\n", "<a>\n  <n/>\n</a>\n"),
        ("<x>\n\t<a/>\n</x>", "<x>\n\t<a>\n\t\t<n/>\n\t</a>\n</x>"),
        ("<x>\n    <a/>\n</x>", "<x>\n    <a>\n        <n/>\n    </a>\n</x>"),
        ("<x><a/></x>", "<x><a><n/></a></x>"),
    ],
)
def test_a_first_child_is_indented_like_the_file(before: str, after: str) -> None:
    edits = patch(before)
    edits.insert(node(edits, "a"), Markup("n"))
    assert edits.apply().decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<a>\n   <b/>\n</a>", "<a>\n   <b/>\n   <n/>\n</a>"),
        ("<a>\n <b/>  \n</a>", "<a>\n <b/>  \n <n/>\n</a>"),
        ("<a>\n <b/> <!-- of b -->\n</a>", "<a>\n <b/> <!-- of b -->\n <n/>\n</a>"),
        ("<a>\n <b/> <!-- not\n of b -->\n</a>", "<a>\n <b/>\n <n/> <!-- not\n of b -->\n</a>"),
        ("<a>\n <b/><c/>\n</a>", "<a>\n <b/>\n <n/><c/>\n</a>"),
        ("<a><b/></a>", "<a><b/><n/></a>"),
    ],
)
def test_a_new_child_is_inserted_behind_its_sibling(before: str, after: str) -> None:
    edits = patch(before)
    edits.insert(0, Markup("n"), node(edits, "b"))
    assert edits.apply().decode() == after


def test_several_children_keep_their_order() -> None:
    edits = patch("<a>\n  <b/>\n</a>")
    for tag in ("n", "o", "p"):
        edits.insert(0, Markup(tag), 1)
    assert edits.apply() == b"<a>\n  <b/>\n  <n/>\n  <o/>\n  <p/>\n</a>"


def test_an_element_is_replaced_on_its_line() -> None:
    edits = patch("<a>\n\t<b><c>1</c></b> <!-- same -->\n</a>")
    edits.replace(1, Markup("n", {"k": "v"}, children=[Markup("m", text="2")]))
    assert edits.apply() == b'<a>\n\t<n k="v">\n\t\t<m>2</m>\n\t</n> <!-- same -->\n</a>'


def test_an_element_on_a_line_with_others_is_replaced_on_that_line() -> None:
    edits = patch("<a><b><c>1</c></b></a>")
    edits.replace(1, Markup("n", {"k": "v"}, children=[Markup("m", text="2")]))
    assert edits.apply() == b'<a><n k="v"><m>2</m></n></a>'


def test_overlapping_edits_are_an_error() -> None:
    edits = patch(SIMPLE)
    edits.set_text(1, "new")
    edits.remove(1)
    with pytest.raises(OverlapError):
        edits.apply()


def test_a_patch_without_edits_returns_the_document() -> None:
    edits = patch(SIMPLE)
    assert not edits
    assert edits.apply().decode() == SIMPLE
