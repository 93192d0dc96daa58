"""What every Python program of a failing call begins with: the vendor's ABI by ctypes, buffers,
comparisons.
"""

from __future__ import annotations

HEAD = '''\
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
