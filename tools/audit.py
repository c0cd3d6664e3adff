"""`make audit`: known holes in what is installed, by pip-audit, and whether the packages fit each other.

Exit code 0: none is known. 1: some are, or packages do not fit. 3: nobody could be asked, for want of a network or
because the index here tells nothing about holes; that is no pass, and it is said so. With `--where-possible`, it is
0 all the same, for machines without a network.
"""

from __future__ import annotations

import json
import subprocess
import sys

FOUND, NOT_ASKED = 1, 3
SERVICES = ("pypi", "osv")
PATIENCE = 90.0
"""Seconds to wait for a service."""


def asked(service: str) -> tuple[list[dict[str, object]], str]:
    """What a service says about each package; where it says nothing, why."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "-f", "json"]
    try:
        done = subprocess.run([*command, "-s", service], capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return [], f"no answer in {PATIENCE:g} s"
    try:
        told: list[dict[str, object]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return [], (done.stderr.strip().splitlines() or [f"pip-audit ended with {done.returncode}"])[-1]
    reasons = sorted({str(one["skip_reason"]) for one in told if "skip_reason" in one})
    return [one for one in told if "skip_reason" not in one], "; ".join(reasons)


def main() -> int:
    fits = subprocess.run([sys.executable, "-m", "pip", "check"], check=False).returncode == 0
    for service in SERVICES:
        answers, reason = asked(service)
        if reason:
            print(f"{service}: {reason[:300]}", file=sys.stderr)
        if not answers:
            continue
        holes = [one for one in answers if one.get("vulns")]
        for one in holes:
            known = ", ".join(str(hole["id"]) for hole in one["vulns"])  # type: ignore[attr-defined]
            print(f"{one['name']} {one['version']}: {known}")
        print(f"{len(answers)} packages, {len(holes)} with known holes (asked {service})")
        return FOUND if holes or not fits else 0
    print("NOT AUDITED: no service that knows about holes can be reached from here; see above why", file=sys.stderr)
    not_asked = 0 if "--where-possible" in sys.argv[1:] else NOT_ASKED
    return not_asked if fits else FOUND


if __name__ == "__main__":
    sys.exit(main())
