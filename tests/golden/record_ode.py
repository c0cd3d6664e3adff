"""Records the values of ODE for our XODE samples and examples, masses and joints.

`python -m tests.golden.record_ode`, with a Python that has PyODE (Debian: python3-pyode).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import exoskel
from tests.golden.record_dart import rounded
from tests.oracles import pyode as ode
from tests.support.places import GOLDEN, TESTS, xode_sample_files
from tests.xode.probes import MASSES, PROBES

FOLDER = GOLDEN / "ode"


def golden_files() -> dict[str, Path]:
    named = {f"example_{path.stem}": path for path in sorted((TESTS / "xode" / "examples").glob("*.xode"))}
    return named | {f"sample_{path.stem}": path for path in xode_sample_files()}


def probe_request(name: str) -> dict[str, Any]:
    probe = PROBES[name]
    model = exoskel.load(probe.document, dialect="spec").world.models[0]
    request = ode.probe_of(model, "j", probe.kind, probe.ends, probe.anchor, probe.axes, probe.positions)
    rounded_request: dict[str, Any] = rounded(request)
    return rounded_request


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = golden_files()
    answers = dict(zip(files, ode.ask([{"file": str(path)} for path in files.values()]), strict=True))
    for answer in answers.values():
        answer.pop("seconds", None)
    _write("files", answers)
    _write("masses", dict(zip(MASSES, ode.ask([{"mass": m.steps} for m in MASSES.values()]), strict=True)))
    requests = {name: probe_request(name) for name in PROBES}
    measured = ode.ask([{"probe": request} for request in requests.values()])
    _write("joints", {n: {"request": requests[n], "answer": a} for n, a in zip(requests, measured, strict=True)})


def _write(name: str, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(
        name,
        len(content),
        "recorded",
        [k for k, v in content.items() if "failed" in v or "failed" in v.get("answer", {})],
    )


if __name__ == "__main__":
    main()
