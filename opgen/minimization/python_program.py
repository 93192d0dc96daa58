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
from opgen.minimization.python_head import HEAD
from opgen.model import AclScalar, TensorDesc


def program(failure: Failure) -> str:
    """The whole script."""
    head = HEAD.format(
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
