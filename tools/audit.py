"""`make audit`: known vulnerabilities of installed packages (pip-audit), and conflicts between them (pip check).

Exit code 0: none are known. 1: some are known, or packages conflict. 3: no vulnerability service could be reached, or
it has no data; this is reported as not audited. With `--where-possible`, the exit code is then 0, for machines
without a network.
"""

from __future__ import annotations

import json
import subprocess
import sys

FOUND, NOT_AUDITED = 1, 3
SERVICES = ("pypi", "osv")
TIMEOUT = 90.0
"""Seconds to wait for a service."""


def query(service: str) -> tuple[list[dict[str, object]], str]:
    """The results of a service for each package, and the reasons for missing results."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "-f", "json"]
    try:
        done = subprocess.run([*command, "-s", service], capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return [], f"no answer in {TIMEOUT:g} s"
    try:
        packages: list[dict[str, object]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return [], (done.stderr.strip().splitlines() or [f"pip-audit exited with code {done.returncode}"])[-1]
    reasons = sorted({str(one["skip_reason"]) for one in packages if "skip_reason" in one})
    return [one for one in packages if "skip_reason" not in one], "; ".join(reasons)


def main() -> int:
    is_consistent = subprocess.run([sys.executable, "-m", "pip", "check"], check=False).returncode == 0
    for service in SERVICES:
        packages, reason = query(service)
        if reason:
            print(f"{service}: {reason[:300]}", file=sys.stderr)
        if not packages:
            continue
        vulnerable = [one for one in packages if one.get("vulns")]
        for one in vulnerable:
            known = ", ".join(str(vulnerability["id"]) for vulnerability in one["vulns"])  # type: ignore[attr-defined]
            print(f"{one['name']} {one['version']}: {known}")
        print(f"{len(packages)} packages, {len(vulnerable)} with known vulnerabilities (according to {service})")
        return FOUND if vulnerable or not is_consistent else 0
    print("NOT AUDITED: no vulnerability service could be reached; the reasons are above", file=sys.stderr)
    not_audited = 0 if "--where-possible" in sys.argv[1:] else NOT_AUDITED
    return not_audited if is_consistent else FOUND


if __name__ == "__main__":
    sys.exit(main())
