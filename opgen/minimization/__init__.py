"""A failing case made small, and programs that show it without opgen: C++ and Python on the
vendor's C ABI, and torch.

Inputs, goldens and bounds stand in the text. Each program ends with 1 where the fault shows, with 0
where it does not, and with 2 where the call could not be made.
"""

from __future__ import annotations

import json

from opgen.minimization import cpp, python, torch
from opgen.minimization.failing import Failing


def files(failing: Failing) -> dict[str, str]:
    """File name -> text: the call as JSON, and the programs that can make it."""
    found = {
        "call.json": json.dumps(failing.plain()) + "\n",
        "repro.cpp": cpp.program(failing),
        "repro.py": python.program(failing),
    }
    script = torch.program(failing)
    return found | ({"repro_torch.py": script} if script else {})
