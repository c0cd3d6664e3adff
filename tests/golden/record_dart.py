"""Records the values of DART 6.20 for our samples and examples: `python -m tests.golden.record_dart`.

The tests compare with the recorded values where dartpy is not available.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.oracles import dart
from tests.support.places import GOLDEN, example_files, sample_files

FOLDER = GOLDEN / "dart"
CONFIGURATIONS = 20
DIGITS = 13


def golden_files() -> dict[str, Path]:
    """The recorded documents, by the name of their record."""
    named = {f"example_{path.stem}": path for path in example_files()}
    return named | {f"sample_{path.stem}": path for path in sample_files()}


def rounded(value: Any) -> Any:
    """Numbers to 13 digits: four more than the tests look at."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, path in golden_files().items():
        answer = rounded(dart.ask(path, CONFIGURATIONS))
        text = json.dumps(answer, separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, answer.get("failed", "recorded"))


if __name__ == "__main__":
    main()
