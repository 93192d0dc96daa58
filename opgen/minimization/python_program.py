"""A failing call as a short Python script on the vendor's C ABI: ctypes and numpy, data inline."""

from __future__ import annotations

from opgen.calls.kinds import KINDS, prototype
from opgen.devices import memory
from opgen.minimization.failure import Failure
from opgen.minimization.program_text import (
    NO_ANSWER,
    AbiTensor,
    admitted,
    docstring,
    folded,
    in_list,
    kinds,
    numpy_name,
    scalar_of,
    tensors,
)
from opgen.model import AclScalar, TensorDesc

_HEAD = '''\
"""{summary}

Usage: python3 repro.py [FOLDER with libascendcl.so, libnnopbase.so and libopapi.so]
Exit status: 1 the fault shows, 0 it does not, 2 no answer.
"""

import os
import sys
from ctypes import CDLL, POINTER, RTLD_GLOBAL, byref, c_bool, c_char_p, c_double, c_float, c_int8, c_int32, c_int64, c_size_t, c_uint64, c_void_p


{no_answer}
import numpy as np  # noqa: E402
from numpy import inf, nan  # noqa: E402, F401

FOLDER = sys.argv[1] + "/" if len(sys.argv) > 1 else ""
acl, base = CDLL(FOLDER + "libascendcl.so", RTLD_GLOBAL), CDLL(FOLDER + "libnnopbase.so", RTLD_GLOBAL)
OPERATORS = []
for name in ("libopapi_math.so", "libopapi_nn.so", "libopapi.so"):
    try:
        OPERATORS.append(CDLL(FOLDER + name))
    except OSError as error:
        print(error, file=sys.stderr)
FIRST = next((getattr(library, "{api}GetWorkspaceSize") for library in OPERATORS if hasattr(library, "{api}GetWorkspaceSize")), None)
SECOND = next((getattr(library, "{api}") for library in OPERATORS if hasattr(library, "{api}")), None)
if FIRST is None or SECOND is None:
    print("no library has {api}", file=sys.stderr)
    sys.exit(2)
FIRST.argtypes = [{types}, POINTER(c_uint64), POINTER(c_void_p)]
SECOND.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]
acl.aclGetRecentErrMsg.restype = c_char_p
acl.aclrtMalloc.argtypes = [POINTER(c_void_p), c_size_t, c_int32]
acl.aclrtMemcpy.argtypes = [c_void_p, c_size_t, c_void_p, c_size_t, c_int32]
acl.aclrtSynchronizeStream.argtypes = [c_void_p]
base.aclCreateTensor.restype = c_void_p


def ok(status, what):
    if status:
        print(what, "returned", status, acl.aclGetRecentErrMsg())
        sys.exit(2)


GUARD, NOISE, BUFFERS = {guard}, np.random.default_rng(0), {{}}


def lay(name, output, data):
    """Lay bytes on the device, between two guards of noise."""
    device, held = c_void_p(), NOISE.integers(0, 256, max(data.nbytes + 2 * GUARD, 1), np.uint8)
    held[GUARD : GUARD + data.nbytes] = data.view(np.uint8)
    ok(acl.aclrtMalloc(byref(device), held.nbytes, 0), "aclrtMalloc")
    ok(acl.aclrtMemcpy(device, held.nbytes, held.ctypes.data, held.nbytes, 1), "aclrtMemcpy")
    BUFFERS[name] = device, output, slice(GUARD, GUARD + data.nbytes), held, held.copy()
    return c_void_p(device.value + GUARD)


def overwritten():
    """Read everything back; how many bytes were written that are not the device's: inputs, and all guards."""
    count = 0
    for name, (device, output, inner, held, now) in BUFFERS.items():
        ok(acl.aclrtMemcpy(now.ctypes.data, now.nbytes, device, now.nbytes, 2), "aclrtMemcpy")
        differs = now != held
        differs[inner] &= not output
        if differs.any():
            print(f"{{name}}: {{differs.sum()}} bytes in or around it were overwritten")
        count += differs.sum()
    return count


def integers(values):
    return (c_int64 * max(len(values), 1))(*values)


def tensor(shape, dtype, layout, strides, offset, storage, device):
    dims, steps, extents = integers(shape), None if strides is None else integers(strides), integers(storage)
    return c_void_p(base.aclCreateTensor(dims, c_uint64(len(shape)), c_int32(dtype), steps, c_int64(offset), c_int32(layout),
                                         extents, c_uint64(len(storage)), device))


def scalar(data, dtype):
    base.aclCreateScalar.restype = c_void_p
    return c_void_p(base.aclCreateScalar(data, c_int32(dtype)))


def array(noun, item, *values):
    create = getattr(base, "aclCreate" + noun)
    create.restype = c_void_p
    return c_void_p(create((item * max(len(values), 1))(*values), c_uint64(len(values))))


def tensors(*members):
    base.aclCreateTensorList.restype = c_void_p
    return c_void_p(base.aclCreateTensorList((c_void_p * max(len(members), 1))(*members), c_uint64(len(members))))


def places(shape, strides, offset):
    """Where the elements of a view lie in its storage."""
    return np.reshape(offset + sum(np.ix_(*(np.arange(extent) * step for extent, step in zip(shape, strides)))), -1)


def misplaced(name, size, wanted, *view):
    """How many elements of an output, of so many bytes, were not written, or were outside its view."""
    _, _, inner, held, now = BUFFERS[name]
    kept, inside = (now[inner] == held[inner]).reshape(-1, size).all(axis=1), places(*view)
    unwritten, gaps = kept[inside].sum() * wanted, np.delete(~kept, inside).sum()
    if unwritten or gaps:
        print(f"{{name}}: {{unwritten}} elements were not written, {{gaps}} outside its view were")
    return unwritten + gaps


def compare(name, dtype, golden, bound, *view, bfloat16=False):
    """How many elements are wrong; each is printed."""
    _, _, inner, _, now = BUFFERS[name]
    storage = now[inner].view(dtype)
    if bfloat16:
        storage = (storage.astype(np.uint32) << 16).view(np.float32)
    wide = np.complex128 if np.iscomplexobj(storage) else np.float64
    got = storage[places(*view)].astype(wide)
    with np.errstate(invalid="ignore"):
        off = got - golden
        right = (abs(off.real) <= bound.real) & (abs(off.imag) <= bound.imag) | (got == golden) | np.isnan(got) & np.isnan(golden)
    for i in np.flatnonzero(~right)[:20]:
        print(f"{{name}}, element {{i}}: {{got[i]}}, expected {{golden[i]}} within {{bound[i]}}")
    print(f"{{name}}: {{int((~right).sum())}} of {{golden.size}} wrong")
    return int((~right).sum())


'''


def program(failure: Failure) -> str:
    """The whole script."""
    head = _HEAD.format(
        summary=docstring(failure),
        api=failure.call.api,
        guard=failure.guard,
        types=", ".join(KINDS[kind].ctype for kind in prototype(kinds(failure)).values()),
        no_answer=NO_ANSWER,
    )
    return head + "\n".join(_body(failure, tensors(failure))) + "\n"


def _body(failure: Failure, held: dict[str, AbiTensor]) -> list[str]:
    data = bool(failure.storage)
    declared, arguments = _arguments(failure, held)
    lines = [
        'ok(acl.aclInit(None), "aclInit")',
        'ok(acl.aclrtSetDevice(0), "aclrtSetDevice")',
        "stream = c_void_p()",
        'ok(acl.aclrtCreateStream(byref(stream)), "aclrtCreateStream")',
        "",
        *declared,
        "",
        "size, executor = c_uint64(), c_void_p()",
        "status = FIRST(",
        *arguments,
        "    byref(size), byref(executor),",
        ")",
        'print("first phase:", status, acl.aclGetRecentErrMsg().decode() if status else "")',
        f"if not ({admitted(failure, 'or')}):",
        "    sys.exit(1)",
    ]
    if not data:
        return lines
    lines += [
        "if status:",
        "    sys.exit(0)",
        "# NaN in every format, so that whatever reads the workspace before it writes there shows",
        'workspace = lay("workspace", True, np.full(size.value, 0xFF, np.uint8)) if size.value else'
        " None",
        "status = SECOND(workspace, size, executor, stream) or acl.aclrtSynchronizeStream(stream)",
        'print("second phase:", status, acl.aclGetRecentErrMsg().decode() if status else "")',
        "if status:",
        "    sys.exit(1)",
        "wrong = overwritten()",
    ]
    for tensor in held.values():
        if tensor.output:
            lines += _checks(tensor, failure)
    return [*lines, "sys.exit(bool(wrong))"]


def _arguments(failure: Failure, held: dict[str, AbiTensor]) -> tuple[list[str], list[str]]:
    """Lines that make the tensors of the call, and a line per argument."""
    lines, arguments = [], []
    for name, value in failure.call.args.items():
        if isinstance(value, TensorDesc):
            lines += _tensor(held[name], bool(failure.storage))
    for name, kind in prototype(kinds(failure)).items():
        value = failure.call.args[name]
        if isinstance(value, TensorDesc):
            arguments.append(f"    {name},")
        elif KINDS[kind].family == "list" and value is not None:
            inside = ", ".join(map(str, in_list(failure, name)))
            arguments.append(f"    tensors({inside}),  # {name}")
        elif isinstance(value, AclScalar):
            bits, dtype = scalar_of(value)
            arguments.append(f"    scalar({bits!r}, {dtype}),  # {name}: {value.value}")
        elif isinstance(value, tuple):
            item = "c_" + KINDS[kind].item.removesuffix("_t")
            made = ", ".join([f'"{KINDS[kind].noun}"', item, *map(str, value)])
            arguments.append(f"    array({made}),  # {name}")
        else:
            shown = value.encode() if isinstance(value, str) else value
            arguments.append(f"    {shown!r},  # {name}")
    return lines, arguments


def _tensor(tensor: AbiTensor, data: bool) -> list[str]:
    name, desc = tensor.word, tensor.desc
    lines = []
    if data and tensor.bits is not None:
        word = f"np.uint{8 * tensor.bits.itemsize}"
        literals = folded((hex(int(bits)) for bits in tensor.bits), "    ")
        what = f"the bits of {desc.dtype} {list(desc.shape)}"
        array = f"np.array([  # {what}\n{literals}\n], {word})"
        lines = [f'{name}_device = lay("{tensor.name}", {tensor.output}, {array})']
    elif data:
        pattern = f"np.array({memory.pattern(desc.dtype).tolist()}, np.uint8)"
        filled = f"np.tile({pattern}, {desc.storage_elements})"
        lines = [f'{name}_device = lay("{tensor.name}", True, {filled})  # until it is written']
    return [
        *lines,
        f"{name} = tensor({desc.shape}, {tensor.dtype}, {tensor.format}, {desc.strides},"
        f" {desc.offset}, {desc.storage_extents}, {f'{name}_device' if data else 'None'})",
    ]


def _checks(tensor: AbiTensor, failure: Failure) -> list[str]:
    """Lines that look at an output: where it was written and, if it is asked for, its numbers."""
    name, desc = tensor.name, tensor.desc
    asked, view = name in failure.golden, f"{desc.shape}, {desc.steps}, {desc.offset}"
    unread = asked and tensor.bits is None
    lines = [f'wrong += misplaced("{name}", {tensor.itemsize}, {unread}, {view})']
    if not asked:
        return lines
    bfloat16 = ", bfloat16=True" if desc.dtype == "BFLOAT16" else ""
    return [
        *lines,
        *(
            f"{what} = np.array([\n{folded(map(_literal, values.ravel().tolist()), '    ')}\n])"
            for what, values in (("golden", failure.golden[name]), ("bound", failure.bound[name]))
        ),
        f'wrong += compare("{name}", np.{numpy_name(desc.dtype)}, golden, bound, {view}{bfloat16})',
    ]


def _literal(value: float | complex) -> str:
    return f"complex({value.real!r}, {value.imag!r})" if isinstance(value, complex) else repr(value)
