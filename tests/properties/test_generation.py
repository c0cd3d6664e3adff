"""The generator uses all of the vocabularies."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lxml import etree

from exoskel.formats.skel.vocabulary import SKEL
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.vocabulary import Vocabulary
from tests.support.generate import Generated, skel_documents, xode_documents

Step = tuple[str, str]
"""An element and a child element, or `@` and an attribute."""


def steps(vocabulary: Vocabulary) -> set[Step]:
    """All steps of the schema, except for obsolete, misplaced or ineffective names, which are rarely generated."""
    found: set[Step] = set()
    for _, rule in vocabulary.rows():
        if rule.in_schema and not rule.opaque and not rule.occurrence_code:
            found |= {(rule.name, c.name) for c in rule.children.values() if c.in_schema and not c.occurrence_code}
            found |= {(rule.name, f"@{a.name}") for a in rule.attributes.values() if a.in_schema}
    return found


def taken(document: Generated) -> set[Step]:
    elements = list(etree.fromstring(document.data).iter(etree.Element))
    found = {(e.tag, f"@{name}") for e in elements for name in e.attrib}
    return found | {(parent.tag, e.tag) for e in elements if (parent := e.getparent()) is not None}


@pytest.mark.parametrize(
    ("vocabulary", "strategy"), [(SKEL, skel_documents()), (XODE, xode_documents())], ids=["skel", "xode"]
)
def test_nearly_all_elements_and_attributes_are_generated(
    vocabulary: Vocabulary, strategy: st.SearchStrategy[Generated]
) -> None:
    """All but a few steps, which depend on the set of examples."""
    found: set[Step] = set()

    @settings(max_examples=250, phases=[Phase.generate])
    @given(strategy)
    def generate(document: Generated) -> None:
        found.update(taken(document))

    generate()
    wanted = steps(vocabulary)
    missing = wanted - found
    assert len(missing) <= 0.1 * len(wanted), missing
