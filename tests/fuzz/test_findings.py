"""What fuzzing has found, each made small."""

from __future__ import annotations

import pytest

import exoskel
from tests.support.xml import one_shape

COLOR = "<sphere><radius>1</radius></sphere>"


@pytest.mark.parametrize("semantics", ["written", "dart"])
@pytest.mark.parametrize("color", ["1,1,3", "1,1,1,3", "0.1, 7 ,0.2", "1 1,-1"])
def test_a_colour_out_of_range_between_commas(color: str, semantics: str) -> None:
    """The number out of range was looked for among words that blanks part, of which there are fewer."""
    text = one_shape(COLOR, "visualization_shape", f"<color>{color}</color>")
    found = [finding.key for finding in exoskel.load(text.encode(), semantics=semantics).diagnostics]  # type: ignore[arg-type]
    assert "SK025" in found
    assert semantics == "dart" or "SK067.range" in found
