"""A bundle for ATK: a case file per product, and an executor that loads the frozen inputs and
goldens.

Positive cases only. What ATK's case file has no place for (strides, formats, the product) stands in
``cases.jsonl``, which the executor reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.interop import choice, names, npz
from opgen.interop.atk import OURS
from opgen.interop.choice import Exported
from opgen.interop.folder import file_name, new_folder
from opgen.spec.spec import Spec

EXECUTOR = "executor_opgen.py"
_SOURCE = Path(__file__).with_name("executor_opgen.txt")


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Exported:
    """Write the positive cases of ``ids`` to the folder ``target``; raises FileError,
    BundleError.
    """
    done = Exported()
    cases = choice.choose(bundle, ids, _refuse, done)
    by_product: dict[str, list[dict[str, Any]]] = {}
    with new_folder(target, choice.manifest(bundle, "atk", done), force) as folder:
        (folder / "data").mkdir()
        (folder / EXECUTOR).write_bytes(_SOURCE.read_bytes())
        with open(folder / npz.INDEX, "w", encoding="utf-8", newline="\n") as index:
            for case in cases:
                spec = choice.spec_of(case)
                by_product.setdefault(case.product, []).append(describe(case, spec))
                file = f"data/{file_name(case.id)}.npz"
                more = {
                    "file": file,
                    "atk_id": case.row + 1,
                    "kinds": spec.kinds,
                    "outputs": [p.name for p in spec.outputs],
                }
                index.write(json.dumps(npz.describe(case) | more) + "\n")
                npz.write_arrays(folder / file, npz.arrays(case))
        for product, some in by_product.items():
            (folder / f"atk_{product}.json").write_text(
                json.dumps(some, indent=1) + "\n", encoding="utf-8"
            )
    return done


def _refuse(case: CaseView) -> str:
    reason = choice.positive(case)
    if reason:
        return reason
    if not case.golden:
        return "it writes no output, and ATK makes outputs from goldens"
    args, golden = case.call["args"], case.golden
    if any(args[p.name] is not None and p.name not in golden for p in choice.spec_of(case).outputs):
        return "an output that is switched off has a pointer, and ATK would compare it"
    empty = any(value == [] for value in args.values())
    return "an empty array, for which ATK's case file has no form" if empty else ""


def describe(case: CaseView, spec: Spec) -> dict[str, Any]:
    """One case of the case file."""
    args = case.call["args"]
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
    }


def _input(name: str, kind: str, value: Any) -> Any:
    if kind == "tensor":
        drawn = {"range_values": value.get("range") if value else None}
        shape, dtype = (value["shape"], names.atk_word(value["dtype"])) if value else (None, "fp32")
        return {
            "name": name,
            "type": "tensor",
            "required": value is not None,
            "dtype": dtype,
            "shape": shape,
        } | drawn
    word = (
        "bool" if kind.startswith("bool") else {"int8": "int8", "int32": "int32"}.get(kind, "int")
    )
    sort = "attrs" if kind.endswith("_array") else "attr"
    one = {"name": name, "type": sort, "required": value is not None, "dtype": word, "shape": None}
    return (
        [one | {"range_values": item} for item in value]
        if isinstance(value, list)
        else one | {"range_values": value}
    )
