"""Templates for what people write for an operator: a plan, calls, a backend, what a runner runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from string import Template
from textwrap import wrap

from opgen.calls.call_json import to_json
from opgen.files.resources import cases_folder
from opgen.files.textfile import read_text
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_form import Axis
from opgen.suite.selection import Request


def new_file(what: str, op: str) -> str:
    """The template of a ``plan``, of ``calls``, of a ``backend`` or of a ``runner``'s module for an
    operator; FileError for one without a spec.

    >>> print(new_file("calls", "reflection_pad2d_backward").split(",")[0])
    {"comment": "the page admits the status 0 (valid)"
    """
    (spec, plan), *_ = Request(operators=[op]).pages()[0]
    if what == "plan":
        return _plan(spec, plan)
    return "".join(_calls(spec)) if what == "calls" else _code(what, spec)


def _plan(spec: Spec, plan: Plan) -> str:
    """The plan that is shipped, or one that adds nothing yet to what follows from the page."""
    shipped = cases_folder() / f"{spec.op}.yaml"
    if shipped.exists():
        return read_text(shipped)
    axes = (f"#   {axis.name}: {_written(axis)}" for axis in plan.axes)
    lines = (
        "# A plan of your own, which tries what follows from the page and what you write here.",
        "# PLANS.md describes the keys. To see its cases: opgen cases --plan FILE",
        f"op: {spec.api}",
        "extends: default",
        "# The page gives these axes. To change one, write it under axes, without the #.",
        "# axes:",
        *axes,
    )
    return "\n".join(lines) + "\n"


def _written(axis: Axis) -> str:
    """The values of an axis, as a plan has them."""
    values = [level[0] if len(level) == 1 else list(level) for level in axis.values]
    sets = f"sets: [{', '.join(axis.sets)}], " if axis.sets != (axis.name,) else ""
    return f"{{{sets}values: {json.dumps(values)}}}"


def _calls(spec: Spec) -> Iterator[str]:
    """The first valid call of the smoke suite, and the first that breaks a rule with a code."""
    cases = Request(operators=[spec.op]).suite().cases
    for bucket in ("valid", "stated"):
        case = next((case for case in cases if case.page.bucket == bucket), None)
        if case is not None:
            codes = " or ".join(map(str, case.page.codes))
            broken = "".join(f"; it breaks {broken.rule}" for broken in case.page.breaks)
            call = {
                "comment": f"the page admits the status {codes} ({bucket}){broken}",
                "id": f"my-{bucket}-call",
                "op": case.call.api,
                "product": case.call.product,
                "args": to_json(case.call),
            }
            yield json.dumps(call) + "\n"


_WORDS = {
    "backend": {
        "indent": 8 * " ",
        "inputs": "case.inputs",
        "args": "case.args",
        "bfloat16": 'Of BFLOAT16, take .astype("float64").',
        "value": ".value",
        "compute": "case.compute",
    },
    "runner": {
        "indent": 4 * " ",
        "inputs": "inputs",
        "args": "args",
        "bfloat16": "BFLOAT16 is float32 here.",
        "value": '["value"]',
        "compute": "",
    },
}
"""What code calls the parts of a case."""


def _code(what: str, spec: Spec) -> str:
    """Code that answers zeros, with what a case of the operator gives."""
    template = Template(Path(__file__).with_name(f"new_{what}.txt").read_text(encoding="utf-8"))
    begin = _WORDS[what]["indent"] + "# "
    notes = _notes(spec, _WORDS[what])
    lines = chain(
        *(wrap(note, 100, initial_indent=begin, subsequent_indent=begin) for note in notes)
    )
    product = "ascend910b" if "ascend910b" in spec.products else spec.products[0]
    names = {"op": spec.api, "spec": spec.op, "product": product}
    return template.substitute(names, notes="\n".join(lines))


def _notes(spec: Spec, words: Mapping[str, str]) -> Iterator[str]:
    """What code has of a case, and what it returns, a sentence each."""
    tensors = [*spec.inputs, *spec.outputs]
    attributes = [p for p in spec.parameters.values() if p not in tensors and not p.is_list]
    yield (
        f"{words['inputs']}: name -> array ({_names(spec.inputs)}), in the dtypes that opgen ops"
        f" {spec.op} lists. {words['bfloat16']} Inputs that are null pointers are not there."
    )
    if any(p.is_list for p in spec.parameters.values()):
        yield "NAME[N] is a tensor of a list: NAME[0], NAME[1] and so on, as many as the call has."
    yield f"{words['args']}: name -> value ({_names(attributes)})."
    if scalars := [p for p in attributes if p.kind == "scalar"]:
        verb = "is an aclScalar" if len(scalars) == 1 else "are aclScalars"
        yield f"Of {_names(scalars)}, which {verb}, take {words['value']}."
    if spec.modes and (compute := words["compute"]):
        yield f"{compute}: the dtype to which the device rounds its inputs before it computes."
    yield f"Return an array for each output that is asked for ({_names(spec.outputs)})."


def _names(parameters: Iterable[Parameter]) -> str:
    """Names of parameters; all tensors of a list have one."""
    names = dict.fromkeys(re.sub(r"\[\d+\]", "[N]", p.name) for p in parameters)
    return ", ".join(names) or "none"
