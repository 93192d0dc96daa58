"""A failing case made small, and programs that show it without opgen: C++ and Python on the
vendor's C ABI, and torch.

Inputs, goldens and bounds stand in the text. Each program ends with 1 where the fault shows, with 0
where it does not, and with 2 where the call could not be made.
"""

from __future__ import annotations

import json

from opgen.minimization import cpp_program, python_program, torch_program
from opgen.minimization.failure import Failure


def files(failure: Failure) -> dict[str, str]:
    """File name -> text: the call as JSON, and the programs that can make it."""
    texts = {
        "call.json": json.dumps(failure.call_json()) + "\n",
        "repro.cpp": cpp_program.program(failure),
        "repro.py": python_program.program(failure),
        "repro_torch.py": torch_program.program(failure),
    }
    return {name: text for name, text in texts.items() if text}
