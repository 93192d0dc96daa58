"""A failing call as one C++ file on the vendor's C ABI: both phases, data inline, no header of the
vendor's needed.
"""

from __future__ import annotations

from opgen.calls.kinds import KINDS, c_literal, prototype
from opgen.devices import memory
from opgen.minimization.cpp_head import HEAD
from opgen.minimization.failure import Failure
from opgen.minimization.program_text import (
    AbiTensor,
    admitted,
    folded,
    in_list,
    kinds,
    parts,
    scalar_of,
    summary,
    tensors,
)
from opgen.model import AclScalar, TensorDesc
from opgen.numerics.formats import DTYPES

_DECODE = {
    "FLOAT16": "half",
    "BFLOAT16": "bfloat",
    "FLOAT": "plain<float>",
    "DOUBLE": "plain<double>",
}


def program(failure: Failure) -> str:
    """The whole file."""
    held = tensors(failure)
    head = HEAD.format(
        summary="\n// ".join(summary(failure)),
        api=failure.call.api,
        guard=failure.guard,
        signature=", ".join(KINDS[kind].c_type for kind in prototype(kinds(failure)).values()),
    )
    data = "".join(_data(tensor) for tensor in held.values())
    body = "".join(f"    {line}\n" for line in _main(failure, held))
    return f"{head}\n{data}\nint main() {{\n{body}}}\n"


def _data(tensor: AbiTensor) -> str:
    """The storage of an input as an array of words."""
    if tensor.bits is None or not len(tensor.bits):
        return ""
    bits = 8 * tensor.bits.itemsize
    suffix = "ull" if bits == 64 else ""
    literals = folded((f"0x{int(word):0{bits // 4}X}{suffix}" for word in tensor.bits), "    ")
    return (
        f"static const uint{bits}_t {tensor.word}_data[] = {{"
        f"  // {tensor.desc.dtype} {list(tensor.desc.shape)}\n{literals}\n}};\n"
    )


def _main(failure: Failure, held: dict[str, AbiTensor]) -> list[str]:
    api, data = failure.call.api, bool(failure.storage)
    declared, arguments = _arguments(failure, held)
    lines = [
        'ok(aclInit(nullptr), "aclInit");',
        'ok(aclrtSetDevice(0), "aclrtSetDevice");',
        "void* stream = nullptr;",
        'ok(aclrtCreateStream(&stream), "aclrtCreateStream");',
        *declared,
        "uint64_t size = 0;",
        "aclOpExecutor* executor = nullptr;",
        f"int status = {api}GetWorkspaceSize(\n{folded(arguments, '        ')}\n        &size,"
        " &executor);",
        'std::printf("first phase: %d %s\\n", status, status ? aclGetRecentErrMsg() : "");',
        f"if (!({admitted(failure, '||')})) return 1;",
    ]
    if not data:
        return [*lines, "return 0;"]
    lines += [
        "if (status) return 0;",
        "// NaN in every format, so that whatever reads the workspace before it writes there shows",
        'void* workspace = size ? lay("workspace", true, Bytes(size, 0xFF).data(), size) : nullptr;',
        f"status = {api}(workspace, size, executor, stream);",
        "if (!status) status = aclrtSynchronizeStream(stream);",
        'std::printf("second phase: %d %s\\n", status, status ? aclGetRecentErrMsg() : "");',
        "if (status) return 1;",
        "bool wrong = overwritten() > 0;",
    ]
    for position, tensor in enumerate(held.values()):
        if tensor.output:
            lines += _checks(position, tensor, failure)
    return [*lines, "return wrong;"]


def _arguments(failure: Failure, held: dict[str, AbiTensor]) -> tuple[list[str], list[str]]:
    """Lines that make the arguments of the call, and the arguments."""
    lines, lists, arguments = list[str](), list[str](), list[str]()
    every = kinds(failure)
    for name, value in failure.call.args.items():
        if isinstance(value, TensorDesc):
            lines += _tensor(held[name], bool(failure.storage))
    for name, kind in prototype(every).items():
        value = failure.call.args[name]
        if isinstance(value, TensorDesc):
            arguments.append(f"{name}_tensor")
        elif KINDS[kind].family == "list" and value is not None:
            inside = [
                "nullptr" if tensor is None else f"{tensor}_tensor"
                for tensor in in_list(failure, name)
            ]
            lists += [
                f"const aclTensor* const {name}_tensors[] = {{{', '.join(inside) or 'nullptr'}}};",
                f"auto* {name}_list = aclCreateTensorList({name}_tensors, {len(inside)});",
            ]
            arguments.append(f"{name}_list")
        elif isinstance(value, AclScalar):
            bits, dtype = scalar_of(value)
            lines += [
                f"alignas(8) unsigned char {name}_value[] = {{{', '.join(map(hex, bits))}}};"
                f"  // {c_literal(value.value)}",
                f"auto* {name}_scalar = aclCreateScalar({name}_value, {dtype});",
            ]
            arguments.append(f"{name}_scalar")
        elif isinstance(value, tuple):
            items = ", ".join(map(c_literal, value)) or "0"
            lines += [
                f"const {KINDS[kind].item} {name}_values[] = {{{items}}};",
                f"auto* {name}_array = aclCreate{KINDS[kind].noun}({name}_values, {len(value)});",
            ]
            arguments.append(f"{name}_array")
        else:
            arguments.append(c_literal(value))
    return lines + lists, arguments


def _tensor(tensor: AbiTensor, data: bool) -> list[str]:
    name, desc = tensor.word, tensor.desc
    size = desc.storage_elements * tensor.itemsize
    if not data:
        address = f"void* {name} = nullptr;  // the first phase looks at descriptors only"
    else:
        words = f"{name}_data" if size else "nullptr"
        if tensor.bits is None:
            pattern = ", ".join(map(hex, memory.pattern(desc.dtype)))
            words = f"filled({{{pattern}}}, {desc.storage_elements}).data()"
        output = str(tensor.output).lower()
        address = f'void* {name} = lay("{tensor.name}", {output}, {words}, {size});'
    extents = {"shape": desc.shape, "strides": desc.strides, "storage": desc.storage_extents}
    steps = "nullptr" if desc.strides is None else f"{name}_strides"
    return [
        address,
        *(
            f"const int64_t {name}_{what}[] = {{{', '.join(map(str, values)) or '0'}}};"
            for what, values in extents.items()
            if values is not None
        ),
        f"auto* {name}_tensor = aclCreateTensor({name}_shape, {len(desc.shape)}, {tensor.dtype},"
        f" {steps}, {desc.offset}, {tensor.format}, {name}_storage, {len(desc.storage_extents)},"
        f" {name});",
    ]


def _checks(position: int, tensor: AbiTensor, failure: Failure) -> list[str]:
    """Lines that look at an output: where it was written and, if it is asked for, its numbers."""
    name, desc = tensor.word, tensor.desc
    shape, strides = (", ".join(map(str, values)) for values in (desc.shape, desc.steps))
    asked = tensor.name in failure.golden
    unread = str(asked and tensor.bits is None).lower()
    lines = [
        f"const View {name}_view{{{{{shape}}}, {{{strides}}}, {desc.offset}, {tensor.itemsize}}};",
        f"wrong |= misplaced({position}, {name}_view, {unread}) > 0;",
    ]
    if not asked:
        return lines
    expected = [
        f"const std::vector<double> {name}_{what} ="
        f" {{\n{folded(map(c_literal, parts(values)), '        ')}\n    }};"
        for what, values in (
            ("golden", failure.golden[tensor.name]),
            ("bound", failure.bound[tensor.name]),
        )
    ]
    number_parts = 2 if desc.dtype.startswith("COMPLEX") else 1
    decode = _DECODE[DTYPES[desc.dtype].part.name]
    return [
        *lines,
        *expected,
        f"wrong |= compare({position}, {name}_view, {number_parts}, {decode}, {name}_golden,"
        f" {name}_bound) > 0;",
    ]
