"""A wrong device to try a suite on: ``mutant:NAME``, a correct one with one thing done wrong.
``mutant:nothing`` is correct.

It answers status and outputs of every case. A family of wrong checkers holds all its rules wrong,
``mutant:FAMILY/RULE`` one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.model import CRASH, Code
from opgen.quality.mutants import find_device
from opgen.quality.mutants.checkers import Family
from opgen.quality.mutants.device import answer
from opgen.quality.mutants.mutant import NOTHING
from opgen.quality.mutants.works import Rack, pages, racks, works


def run(
    bundle: Bundle,
    results: Results,
    *,
    cases: Sequence[str],
    device: str,
    timeout: float,
    progress: Callable[[str], None],
) -> None:
    """Answer ``cases`` as the mutant called ``device`` does; FileError where there is none of that
    name, or no such rule.
    """
    mutant, rule = find_device(device or NOTHING.name, pages(bundle))
    kernel = NOTHING if isinstance(mutant, Family) else mutant
    results.header.update(
        {"backend": "mutant", "device": device or NOTHING.name, "note": f"a mutant: {mutant.wrong}"}
    )
    held = racks(bundle, cases)
    if not any(
        mutant.members(rack.spec) if isinstance(mutant, Family) else mutant.applies(rack.spec)
        for rack in held
    ):
        results.header["note"] += ", of which no case here is about"
    for rack in held:
        left: dict[str, Code] = dict(
            zip(rack.ids, rack.status(rack.judged.broken).tolist(), strict=True)
        )
        left |= _wrong(rack, mutant, rule) if isinstance(mutant, Family) else {}
        wrong = kernel if kernel.applies(rack.spec) else NOTHING
        for work in works(bundle, rack, np.array([left[case] == 0 for case in rack.ids])):
            dies = wrong.crashes is not None and wrong.crashes(work)
            outputs = {} if dies else answer(work, wrong)
            for i, case in enumerate(work.batch.ids):
                if left[case] == 0:
                    results.add(
                        case,
                        left.pop(case),
                        {key: array[i] for key, array in outputs.items()},
                        CRASH if dies else 0,
                    )
                    progress(case)
        for case, status in left.items():
            results.add(case, status)
            progress(case)


def _wrong(rack: Rack, family: Family, rule: str) -> Mapping[str, Code]:
    """The cases that a wrong checker answers otherwise; of several rules the last one's answer
    stands.
    """
    found: dict[str, Code] = {}
    for member in family.members(rack.spec):
        if rule in ("", member.rule.id):
            rows, codes = member.statuses(rack)
            found |= {rack.ids[row]: code for row, code in zip(rows.tolist(), codes, strict=True)}
    return found
