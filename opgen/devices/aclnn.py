"""The runner on the vendor's C ABI: both phases of every case, in a worker process that may die.

Outputs are prefilled with canaries, workspaces with noise. A device answers for one product: cases
of others are skipped, and so are those of operators that its libraries do not have.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from opgen.bundle.format.dtypes import numpy_dtype
from opgen.bundle.format.heading import header
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.calls.vocabulary import vocabulary
from opgen.devices.abi import TensorArgument, Values
from opgen.devices.libraries import DeviceError
from opgen.devices.messages import Buffer, Request, Setup
from opgen.devices.process import Answer, Worker
from opgen.model import CRASH, NOT_RUN, OVERRUN, Argument, Call, TensorDesc, natural
from opgen.numerics import canary
from opgen.numerics.views import index
from opgen.spec.catalog import catalog


def run(
    bundle: Bundle,
    results: Results,
    *,
    cases: Sequence[str],
    device: str,
    timeout: float,
    progress: Callable[[str], None],
) -> None:
    """Run ``cases`` of a bundle on ``device`` (``npu`` or ``npu:1``) and add what it answers.

    Raises DeviceError where the runtime, every operator or the device is not there. ``timeout`` is
    per case, in seconds. A device that cannot be opened again after a crash ends the run; cases
    after it have no result.
    """
    views = [bundle[one] for one in cases]
    known = catalog().kinds
    apis = {
        api: tuple(known[api].values())
        for api in sorted({view.op for view in views})
        if api in known
    }
    with Worker(Setup(device_index(device), apis), timeout) as worker:
        soc = worker.facts["soc"]
        product = vocabulary().product_of(soc)
        results.header.update(
            header(
                {
                    **worker.facts,
                    "device": device or "npu:0",
                    "backend": "aclnn",
                    "environment": _environment(),
                },
                {},
            )
        )
        for view in views:
            if view.op not in apis:
                results.add(view.id, NOT_RUN, error=f"no spec describes the signature of {view.op}")
            elif view.op in worker.absent:
                results.add(
                    view.id, NOT_RUN, error=f"no library has {', '.join(worker.absent[view.op])}"
                )
            elif product and view.product != product:
                results.add(
                    view.id, NOT_RUN, error=f"the device is {soc}; the case is for {view.product}"
                )
            else:
                try:
                    _one(worker, view, known[view.op], results)
                except (
                    DeviceError
                ) as error:  # what was answered so far is kept; the rest stays missing
                    results.add(view.id, CRASH, error=f"the device did not come back: {error}")
                    return
            progress(view.id)


def _one(worker: Worker, view: CaseView, kinds: dict[str, str], results: Results) -> None:
    call = view.asked
    request = request_of(view, call)
    answer = worker.execute(request)
    outputs, notes, overrun = (
        ({}, [], False) if answer.run_status != 0 else read_back(view, call, answer)
    )
    run_status = OVERRUN if overrun else answer.run_status
    results.add(
        view.id,
        answer.status,
        outputs,
        run_status,
        answer.time,
        "; ".join(filter(None, [answer.error, *notes])),
    )


def device_index(device: str) -> int:
    """The number in ``npu:1``; 0 for ``npu`` and where no device is named.

    >>> device_index("npu:1")
    1
    """
    name, _, number = (device or "npu").partition(":")
    index = natural(number or "0")
    if name != "npu" or index is None:
        raise DeviceError(
            f"no such device {device!r}; the aclnn backend knows npu and npu:0, npu:1, ..."
        )
    return index


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(("ASCEND_", "OPGEN_", "LD_LIBRARY_PATH"))
    }


# there --------------------------------------------------------------------------------------------
def request_of(view: CaseView, call: Call) -> Request:
    """A case as numbers and bytes: descriptors alone for a first-phase case."""
    data = view.phase == 2
    buffers: dict[int, Buffer] = {}
    if data:
        inputs = view.storage
        for at, (name, value) in enumerate(call.args.items()):
            if isinstance(value, TensorDesc):
                given = inputs.get(name)
                if given is not None:
                    buffers[at] = Buffer(np.ascontiguousarray(given).view(np.uint8), False)
                else:
                    buffers[at] = Buffer(
                        canary.prefilled(
                            value.dtype, numpy_dtype(value.dtype).itemsize, value.storage_elements
                        ),
                        True,
                    )
    return Request(
        view.op, tuple(map(_value, call.args.values())), buffers, data, zlib.crc32(view.id.encode())
    )


def _value(value: Argument) -> Values:
    if not isinstance(value, TensorDesc):
        return value
    tables = vocabulary()
    dtype, layout = tables.dtypes[value.dtype]["acl"], tables.formats[value.format]
    return TensorArgument(
        value.shape, dtype, layout, value.strides, value.offset, value.storage_extents
    )


# and back -----------------------------------------------------------------------------------------
def read_back(
    view: CaseView, call: Call, answer: Answer
) -> tuple[dict[str, np.ndarray], list[str], bool]:
    """(outputs that were asked for, as the views that were passed; what is noteworthy; whether
    foreign memory was written).
    """
    names = list(call.args)
    asked = set(view.golden)
    outputs: dict[str, np.ndarray] = {}
    notes = [f"{names[at]}: the input was overwritten" for at in answer.changed]
    overrun = bool(notes)
    for at, raw in answer.outputs.items():
        name, desc = names[at], call.args[names[at]]
        assert isinstance(desc, TensorDesc)
        kind, elements = numpy_dtype(desc.dtype), desc.storage_elements
        inside = canary.in_view(desc.shape, desc.strides, desc.offset, elements)
        more, foreign = canary.inspect(name, raw, desc.dtype, kind.itemsize, inside, name in asked)
        notes, overrun = notes + more, overrun or foreign
        if name in asked:
            outputs[name] = logical(raw[: elements * kind.itemsize].view(kind), desc)
    return outputs, notes, overrun


def logical(storage: np.ndarray, desc: TensorDesc) -> np.ndarray:
    """The elements of a view on its storage, in the view's shape."""
    if desc.strides is None:
        return storage[desc.offset : desc.offset + prod(desc.shape)].reshape(desc.shape)
    return storage[index(desc.shape, desc.steps, desc.offset)].reshape(desc.shape)
