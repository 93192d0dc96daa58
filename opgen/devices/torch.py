"""torch as a device: the gradients that it computes on a CPU, a CUDA device or an NPU. Valid calls
only.

On a CPU or a CUDA device the inputs are rounded to the compute dtype first and everything is
computed in FLOAT (DOUBLE for DOUBLE), with TF32 and sums of reduced precision switched off: TF32
keeps 10 bits of a value and HFLOAT32 11, so the device's own switch would break the bound. On an
NPU the tensors go as they are, and its switches stand for the cube mode.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.heading import header
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.devices import NoDevice
from opgen.devices._torchops import ADAPTERS, MODES, Unable
from opgen.devices.torchnames import NATIVE, WIDE
from opgen.model import NOT_RUN, TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, FORMATS
from opgen.numerics.rounding import in_compute, stored
from opgen.spec.catalog import catalog

_WIDE, _NATIVE = (
    {dtype: getattr(torch, name) for dtype, name in names.items()} for names in (WIDE, NATIVE)
)
_CUBE = {0: (False, False), 1: (True, True), 2: (False, True), 3: (True, False)}
"""cubeMathType -> (allow_hf32, FLOAT to FLOAT16)."""


def run(
    bundle: Bundle,
    results: Results,
    *,
    cases: Sequence[str],
    device: str,
    timeout: float,
    progress: Callable[[str], None],
) -> None:
    """Run ``cases`` on a device of torch (``cpu``, ``cuda``, ``npu:0``); NoDevice where torch does
    not have it.

    ``timeout`` is not kept: torch cannot be interrupted.
    """
    opened = TorchDevice(device or "cpu")
    results.header.update(header(opened.header, {}))
    with torch.inference_mode():
        for name in cases:
            results.add(name, **opened.answer(bundle[name]))
            progress(name)


class TorchDevice:
    """A device of torch that has been opened. ``header`` is what results say of it."""

    def __init__(self, name: str) -> None:
        if name.split(":", maxsplit=1)[0] == "npu":
            _import_npu(name)
        try:
            self.device = torch.device(name)
            torch.empty(1, device=self.device)
        except Exception as error:  # noqa: BLE001 whatever torch raises is an answer
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise NoDevice(
                f"--device {name}", f"torch {torch.__version__} has no such device: {reason}"
            ) from None
        self.npu = self.device.type == "npu"
        self.header: Mapping[str, Any] = {
            "backend": "torch",
            "device": name,
            "torch": str(torch.__version__),
            "name": _name(self.device),
            "host": platform.platform(),
        }
        _exact_floats()

    def skips(self, case: CaseView) -> str:
        """Why torch cannot run a case; empty where it can."""
        if case.op not in ADAPTERS:
            return f"no torch operator is known for {case.op}"
        if case.expect.bucket != "valid":
            return "torch runs valid calls only"
        if case.phase != 2:
            return "the case has no data"
        if self.npu and self._cube(case) not in (None, *MODES.get(case.op, _CUBE)):
            return "torch_npu cannot ask for this cubeMathType"
        return ""

    def _cube(self, case: CaseView) -> int | None:
        value = case.call["args"].get("cubeMathType")
        return None if value is None else int(value)

    def answer(self, case: CaseView) -> dict[str, Any]:
        """What is to be recorded of a case: status, outputs, status of the run, seconds, and what
        the device said instead.
        """
        if why := self.skips(case):
            return {"status": NOT_RUN, "error": why}
        begun = perf_counter()
        try:
            outputs = self.outputs(case)
        except Unable as unable:
            return {"status": NOT_RUN, "error": str(unable)}
        except BundleError:  # the device has not been asked
            raise
        except Exception as error:  # noqa: BLE001 whatever torch raises is an answer
            said = f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"
            return {"status": 0, "run_status": 1, "time": perf_counter() - begun, "error": said}
        return {"status": 0, "outputs": outputs, "run_status": 0, "time": perf_counter() - begun}

    def outputs(self, case: CaseView) -> dict[str, Array]:
        """The outputs asked for; those that no compute mode rounds come from inputs as they are."""
        args = case.call["args"]
        spec = catalog().by_page[case.op, case.product]
        exact = frozenset(case.golden) & frozenset(spec.exact)
        outputs: dict[str, Array] = {}
        for wanted, plainly in ((frozenset(case.golden) - exact, False), (exact, True)):
            if wanted:
                tensors = {p.name: self._tensor(case, p.name, plainly) for p in spec.inputs}
                for name, value in self._call(case, tensors, args, wanted).items():
                    if name in wanted and value is not None:
                        outputs[name] = self._stored(value, args[name])
        return outputs

    def _call(
        self, case: CaseView, tensors: Any, args: Any, wanted: frozenset[str]
    ) -> Mapping[str, torch.Tensor | None]:
        cube = self._cube(case)
        if self.npu and cube is not None:
            _set_cube(*_CUBE[cube])
        return ADAPTERS[case.op](tensors, args, wanted)

    def _tensor(self, case: CaseView, name: str, plainly: bool) -> torch.Tensor | None:
        """An input with the strides of the call, in what the device computes in; ``plainly`` leaves
        out the rounding.
        """
        desc = case.args[name]
        if not isinstance(desc, TensorDesc):
            return None
        storage = case.storage[name]
        if self.npu:
            flat = _from_numpy(storage, desc.dtype).to(self.device)
        else:
            flat = torch.from_numpy(_wide(storage, desc.dtype, "" if plainly else case.compute)).to(
                self.device
            )
        if desc.plain:
            return flat.reshape(desc.shape)
        if 0 in desc.shape:
            return flat.new_empty(desc.shape)
        if min(desc.steps) < 0:
            raise Unable("torch has no negative strides")
        return flat.as_strided(desc.shape, desc.steps, desc.offset)

    def _stored(self, value: torch.Tensor, desc: Mapping[str, Any]) -> Array:
        """An output in the shape and dtype of the call, cast once."""
        value = value.reshape(desc["shape"]).detach().contiguous().cpu()
        dtype = desc["dtype"]
        if value.dtype == torch.bfloat16:
            return np.asarray(value.view(torch.int16).numpy().view(DTYPES[dtype].numpy))
        if _NATIVE[dtype] == value.dtype:
            return np.asarray(value.numpy())
        wide = value.to(torch.complex128 if value.is_complex() else torch.float64).numpy()
        return stored(wide, dtype)


def _wide(storage: Array, dtype: str, compute: str) -> Array:
    """Stored values rounded once to the compute dtype, as FLOAT; DOUBLE and complex as they are."""
    if dtype in _WIDE:
        return storage
    return (
        in_compute(storage.astype(np.float64), dtype, compute) if compute in FORMATS else storage
    ).astype(np.float32)


def _from_numpy(storage: Array, dtype: str) -> torch.Tensor:
    if dtype == "BFLOAT16":
        return torch.from_numpy(storage.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(storage)


def _import_npu(device: str) -> None:
    try:
        import torch_npu  # noqa: F401
    except Exception as error:  # noqa: BLE001  it needs the vendor's libraries, and fails in many ways without them
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise NoDevice(f"--device {device}", f"torch_npu cannot be imported: {reason}") from None


def _exact_floats() -> None:
    """No TF32, no sums of reduced precision, the same kernels in every run."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def _set_cube(hf32: bool, half: bool) -> None:
    """The switches of torch_npu that make up a cubeMathType."""
    npu: Any = torch.npu
    npu.set_compile_mode(jit_compile=False)
    npu.config.allow_internal_format = False
    npu.conv.allow_hf32 = hf32
    npu.aclnn.allow_hf32 = hf32
    npu.set_option(
        {"ACL_PRECISION_MODE": "allow_fp32_to_fp16" if half else "must_keep_origin_dtype"}
    )


def _name(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "npu":
        return str(torch.npu.get_device_name(device))
    return platform.processor() or platform.machine()
