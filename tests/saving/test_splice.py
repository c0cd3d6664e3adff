"""Splices of a document's bytes, one by one."""

from __future__ import annotations

import pytest

from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.splice import OverlapError, Patch


def patch(text: str) -> Patch:
    return Patch(Document(text.encode()))


def node(made: Patch, tag: str) -> int:
    return next(n for n in range(len(made.scan.starts)) if made.elements.tag(n) == tag)


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
def test_a_text_changes_word_by_word(before: str, new: str, after: str) -> None:
    made = patch(before)
    made.set_text(0, new, "1 2 3")
    assert made.apply().decode() == after


def test_attributes_keep_their_quotes_and_places() -> None:
    made = patch(SIMPLE)
    made.set_attribute(1, "x", 'it\'s "<new>"\n')
    made.set_attribute(1, "z", "3")
    assert made.apply().decode() == SIMPLE.replace(
        "x='1'   y=\"2\"", 'x=\'it&apos;s &quot;&lt;new&gt;&quot;&#10;\'   y="2" z="3"'
    )


def test_attributes_go_with_the_blanks_in_front_of_them() -> None:
    made = patch(SIMPLE)
    made.remove_attribute(1, "y")
    made.remove_attribute(1, "absent")
    assert made.apply().decode() == SIMPLE.replace('   y="2"', "")


def test_a_name_inside_another_is_not_mistaken_for_it() -> None:
    made = patch('<a xx="1" x="2" axx="3"/>')
    made.remove_attribute(0, "x")
    assert made.apply() == b'<a xx="1" axx="3"/>'


def test_an_element_goes_with_its_line() -> None:
    made = patch(SIMPLE)
    made.remove(1)
    assert made.apply() == b"<a>\n  <c/>\n</a>\n"


def test_an_element_goes_alone_from_a_line_with_others() -> None:
    made = patch("<a>\n  <b/> <c/> <!-- d -->\n</a>")
    made.remove(2)
    assert made.apply() == b"<a>\n  <b/>  <!-- d -->\n</a>"


def test_nested_namesakes_and_signs_in_comments_and_values_do_not_confuse() -> None:
    text = '<a><b n="></b>"><!-- </b> <b> --><b><b/></b><![CDATA[</b>]]></b><c/></a>'
    made = patch(text)
    made.remove(1)
    assert made.apply() == b"<a><c/></a>"


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
    made = patch(before)
    made.insert(node(made, "a"), Markup("n"))
    assert made.apply().decode() == after


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
def test_a_further_child_stands_behind_its_sibling(before: str, after: str) -> None:
    made = patch(before)
    made.insert(0, Markup("n"), node(made, "b"))
    assert made.apply().decode() == after


def test_several_children_keep_their_order() -> None:
    made = patch("<a>\n  <b/>\n</a>")
    for tag in ("n", "o", "p"):
        made.insert(0, Markup(tag), 1)
    assert made.apply() == b"<a>\n  <b/>\n  <n/>\n  <o/>\n  <p/>\n</a>"


def test_an_element_is_replaced_in_its_place() -> None:
    made = patch("<a>\n\t<b><c>1</c></b> <!-- kept -->\n</a>")
    made.replace(1, Markup("n", {"k": "v"}, children=[Markup("m", text="2")]))
    assert made.apply() == b'<a>\n\t<n k="v">\n\t\t<m>2</m>\n\t</n> <!-- kept -->\n</a>'


def test_an_element_on_a_line_with_others_is_replaced_on_that_line() -> None:
    made = patch("<a><b><c>1</c></b></a>")
    made.replace(1, Markup("n", {"k": "v"}, children=[Markup("m", text="2")]))
    assert made.apply() == b'<a><n k="v"><m>2</m></n></a>'


def test_edits_of_the_same_place_are_an_error() -> None:
    made = patch(SIMPLE)
    made.set_text(1, "new")
    made.remove(1)
    with pytest.raises(OverlapError):
        made.apply()


def test_no_edits_give_the_document_back() -> None:
    made = patch(SIMPLE)
    assert not made
    assert made.apply().decode() == SIMPLE
