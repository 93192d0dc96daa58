"""Calls in the numbers of the vendor's C ABI, for runners that know no names of dtypes, no views
and no patterns: they lay bytes, pass arguments, and give bytes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.results.reader import Result
from opgen.calls.kinds import KINDS, prototype
from opgen.devices import memory
from opgen.devices.abi import ArgumentValue, ListArgument, ScalarArgument, TensorArgument
from opgen.devices.aclnn import read_back, request_of
from opgen.devices.messages import CallRequest, Phase
from opgen.devices.runner_process import Answer, Request
from opgen.devices.worker_process import CallAnswer
from opgen.model import NOT_RUN, Code, TensorDesc
from opgen.spec.catalog import catalog

_ARRAYS = {"int_array": "ints", "bool_array": "bools", "float_array": "floats"}


class NumericCalls:
    """Cases as a runner of the C ABI takes them."""

    def skips(self, case: CaseView) -> str:
        """A case of an operator that nobody described."""
        known = case.op in catalog().kinds
        return "" if known else f"no spec describes the signature of {case.op}"

    def requests(self, case: CaseView, data: bool) -> list[Request]:
        """A request per pattern that outputs hold before they are written."""
        outputs = [value for name, value in case.args.items() if name in case.golden]
        runs = memory.runs(desc.dtype for desc in outputs if isinstance(desc, TensorDesc))
        return [_request(case, request_of(case, 0, run), data) for run in range(runs)]

    def result(self, case: CaseView, answers: Sequence[Answer]) -> Result:
        """What the answers say, read as those of the aclnn backend are."""
        if answers[-1].head.get("status") == NOT_RUN:
            return Result(case.id, NOT_RUN, error=str(answers[-1].head.get("error", "")))
        return read_back(case, [_answer(answer) for answer in answers])


def _request(case: CaseView, request: CallRequest, data: bool) -> Request:
    kinds = prototype(catalog().kinds[case.op]).values()
    head = {
        "case": case.id,
        "api": case.op,
        "arguments": [
            {"kind": _kind(kind), "value": _value(value, place, request)}
            for kind, value, place in zip(kinds, request.arguments, request.places, strict=True)
        ],
        "run": request.data and data,
        "outputs": [str(place) for place, buffer in request.buffers.items() if buffer.output],
    }
    return head, {str(place): buffer.data for place, buffer in request.buffers.items()}


def _kind(kind: str) -> str:
    """What a runner must do with an argument, in a word."""
    family, element = KINDS[kind].family, KINDS[kind].element
    if family == "tensor":
        return "tensor"
    if family == "list":
        return "tensors"
    if family == "array":
        return _ARRAYS[kind]
    return "scalar" if family == "typed" else element.term


def _value(value: ArgumentValue, place: int, request: CallRequest) -> object:
    if isinstance(value, TensorArgument):
        return asdict(value) | {"buffer": str(place) if place in request.buffers else ""}
    if isinstance(value, ListArgument):
        tensors = enumerate(value.tensors, value.first)
        return [
            None if tensor is None else _value(tensor, place, request) for place, tensor in tensors
        ]
    if isinstance(value, ScalarArgument):
        return {"bytes": list(value.raw), "dtype": value.dtype}
    return value


def _answer(answer: Answer) -> CallAnswer:
    head = answer.head
    status, run = cast(Code, head["status"]), cast(Code | None, head.get("run_status"))
    error = str(head.get("error", ""))
    outputs = {int(place): array.view(np.uint8) for place, array in answer.arrays.items()}
    second = None if run is None else Phase(run, error if run else "", outputs)
    return CallAnswer(Phase(status, error if status else ""), second, 0.0)
