"""``python -m tests.quality.measured FILE``: take the mutants that suites catch into the list of
operators, from a file that ``opgen mutants --plan standard --json`` printed.

``measured.txt`` has, for each operator, the digest of what was measured: the heads of its smoke
lock, which change whenever its spec, plan, errata, kernel or a case of the tier smoke does.
"""

from __future__ import annotations

import json
import sys
from hashlib import blake2b
from pathlib import Path

from opgen.files.resources import cases_folder
from opgen.spec.catalog import catalog

TABLE = Path(__file__).parents[2] / "opgen" / "spec" / "OPERATORS.md"
DIGESTS = Path(__file__).with_name("measured.txt")
UNKNOWN = "-"
"""Stands for the digest of what was measured before digests were kept."""


def measured_on(op: str) -> str:
    """The digest of the heads of an operator's lock."""
    lines = (cases_folder() / "smoke" / f"{op}.lock").read_text(encoding="utf-8").splitlines()
    heads = "\n".join(line for line in lines if line.startswith("page "))
    return blake2b(heads.encode()).hexdigest()[:10]


def digests() -> dict[str, str]:
    """Operator -> the digest of what its mutants were measured on."""
    return dict(line.split() for line in DIGESTS.read_text(encoding="utf-8").splitlines())


def take(found: dict[str, dict[str, int]]) -> None:
    """Write the numbers of mutants of some operators, and what they were measured on."""
    kept, rows = digests(), TABLE.read_text(encoding="utf-8").splitlines()
    apis = {spec.api: spec.op for spec in catalog().specs}
    for i, row in enumerate(rows):
        op = apis.get(row[3:].partition("`")[0]) if row.startswith("| `") else None
        if op in found:
            cells = row.split(" | ")
            cells[-3] = f"{found[op]['caught']} of {found[op]['of']}"
            rows[i] = " | ".join(cells)
    kept |= {op: measured_on(op) for op in found}
    TABLE.write_text("\n".join(rows) + "\n", encoding="utf-8")
    DIGESTS.write_text("".join(f"{op} {kept[op]}\n" for op in sorted(kept)), encoding="utf-8")


if __name__ == "__main__":
    take(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["operators"])
