"""Documents that were just written are read for comparison only: without what would have to be preserved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

import exoskel
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import open_document
from exoskel.formats.mjcf import read as mjcf_reader
from exoskel.formats.mjcf.read import read
from tests.mjcf.test_preserved_states import KEYS, document
from tests.support.edits import edited

TEXT = document("".join(KEYS))
SOURCES = {
    "new document": lambda: edited(TEXT),
    "copy of the source": lambda: exoskel.load(TEXT),
    "other format": lambda: exoskel.load("dart://sample/skel/cart_pole.skel"),
}


def test_no_elements_are_preserved_of_own_documents() -> None:
    made = open_document(TEXT)
    assert read(made, ReadOptions()).source_info.preserved is not None
    assert read(made, ReadOptions(is_own=True)).source_info.preserved is None


@pytest.mark.parametrize("load", SOURCES.values(), ids=SOURCES)
def test_conversions_do_not_depend_on_it(load: Callable[[], exoskel.Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = exoskel.convert(load(), None, to="mjcf")
    search, searched = mjcf_reader._import, []

    def search_always(out: object, name: str, options: ReadOptions, *more: object) -> None:
        searched.append(options.is_own)
        search(out, name, structs.replace(options, is_own=False), *more)  # type: ignore[arg-type]

    monkeypatch.setattr(mjcf_reader, "_import", search_always)
    slow = exoskel.convert(load(), None, to="mjcf")
    assert searched
    assert quick.data == slow.data
    assert quick.items == slow.items
    assert quick.certificate == slow.certificate
