"""A bundle for ATK: a case file per product, and an executor that loads the frozen inputs and
goldens.

Positive cases only. What ATK's case file has no place for (strides, formats, the product) stands in
``cases.jsonl``, which the executor reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.factorize import by_key
from opgen.calls.kinds import KINDS
from opgen.interop import exporting, names, npz_export
from opgen.interop.atk_import import OURS
from opgen.interop.completion import complete, without_outputs
from opgen.interop.exporting import Export, spec_of
from opgen.model import Argument, TensorDesc
from opgen.spec.spec import Spec

EXECUTOR = "executor_opgen.py"
_WORDS = {"bool": "bool", "double": "float", "float": "float", "string": "string"}
"""ATK's words for the values of terms that are no whole numbers."""
_SOURCE = Path(__file__).with_name("executor_opgen.txt")


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Export:
    """Write the positive cases of ``ids`` to the folder ``target``; raises FileError,
    BundleError.
    """
    chosen = exporting.choose(bundle, ids, _refuse)
    with chosen.folder("atk", target, force) as folder:
        (folder / EXECUTOR).write_bytes(_SOURCE.read_bytes())
        npz_export.write(folder, chosen.cases, _for_executor)
        for product in dict.fromkeys(case.product for case in chosen.cases):
            cases = [case for case in chosen.cases if case.product == product]
            described = [
                describe(case, spec_of(case), outputs)
                for case, outputs in zip(cases, _untold(cases), strict=True)
            ]
            (folder / f"atk_{product}.json").write_text(
                json.dumps(described, indent=1) + "\n", encoding="utf-8"
            )
    return chosen


def _for_executor(case: CaseView) -> dict[str, object]:
    """What the executor needs to know of a case besides."""
    spec = spec_of(case)
    return {
        "atk_id": case.row + 1,
        "kinds": spec.kinds,
        "outputs": [p.name for p in spec.outputs],
    }


def _refuse(case: CaseView) -> str:
    if reason := exporting.without_golden(case) or exporting.with_list(case):
        return reason
    if not case.golden:
        return "it writes no output, and ATK makes outputs from goldens"
    spec = spec_of(case)
    if any(p in spec.inputs for p in spec.outputs):
        return "an output is an input too, and ATK makes a tensor of its own for it"
    args, golden = case.call["args"], case.golden
    if any(args[p.name] is not None and p.name not in golden for p in spec.outputs):
        return "an output that is masked out has a pointer, and ATK would compare it"
    empty = any(value == [] for value in args.values())
    return "an empty array, for which ATK's case file has no form" if empty else ""


def _untold(cases: Sequence[CaseView]) -> list[list[str]]:
    """Of each case, the outputs that an importer would not find: those of which the page says
    something else than the case, or not everything.
    """
    lacking = [without_outputs(spec_of(case), case.asked) for case in cases]
    for rows in by_key((partial.spec.name, i) for i, partial in enumerate(lacking)).values():
        complete(lacking[rows[0]].spec, [lacking[i] for i in rows])
    return [
        [
            p.name
            for p in partial.spec.outputs
            if (p.name, "dtype") in partial.open
            or _fact(partial.call.args[p.name]) != _fact(case.asked.args[p.name])
        ]
        for case, partial in zip(cases, lacking, strict=True)
    ]


def _fact(value: Argument) -> tuple[object, ...] | None:
    return (value.shape, value.dtype) if isinstance(value, TensorDesc) else None


def describe(case: CaseView, spec: Spec, untold: Sequence[str]) -> dict[str, object]:
    """One case of the case file. Its ``outputs`` are the ``untold`` ones: of an output that a file
    does not name, an importer takes what the page says.
    """
    args = case.call["args"]
    outputs = {"outputs": [_input(name, "tensor", args[name]) for name in untold]} if untold else {}
    return {
        "id": case.row + 1,
        "case_name": case.id,
        "name": spec.op,
        "aclnn_name": case.op,
        "api_type": f"{OURS}frozen",
        "aclnn_api_type": f"{OURS}frozen_aclnn",
        "standard": {"acc": "default", "perf": "not_key"},
        "inputs": [
            _input(name, spec.kinds[name], args[name])
            for name in args
            if spec.parameters[name].kind != "output"
        ],
        **outputs,
    }


def _input(name: str, kind: str, value: Any) -> object:
    given = {"name": name, "type": "tensor", "required": value is not None}
    if kind == "tensor":
        desc = value or {"shape": None, "dtype": "FLOAT"}
        dtype, shape, ranges = (
            names.spelled(desc["dtype"], names.ATK),
            desc["shape"],
            desc.get("range"),
        )
        return given | {"dtype": dtype, "shape": shape, "range_values": ranges}
    if kind == "scalar":
        held = value or {"dtype": "FLOAT", "value": None}
        dtype = names.spelled(held["dtype"], names.ATK)
        return given | {"type": "scalar", "dtype": dtype, "range_values": held["value"]}
    word = _WORDS.get(KINDS[kind].element.term, "int8_t" if kind == "int8" else "int")
    given |= {"type": "attrs" if kind.endswith("_array") else "attr", "dtype": word, "shape": None}
    if isinstance(value, list):
        return [given | {"range_values": item} for item in value]
    return given | {"range_values": value}
