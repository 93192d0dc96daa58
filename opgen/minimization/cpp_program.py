"""A failing call as one C++ file on the vendor's C ABI: both phases, data inline, no header of the
vendor's needed.
"""

from __future__ import annotations

from math import isfinite, isnan

from opgen.calls.kinds import KINDS
from opgen.minimization.failure import Failure
from opgen.minimization.program_text import (
    AbiTensor,
    admitted,
    folded,
    kinds,
    parts,
    summary,
    tensors,
)
from opgen.model import TensorDesc
from opgen.numerics.formats import DTYPES

_DECODE = {
    "FLOAT16": "half",
    "BFLOAT16": "bfloat",
    "FLOAT": "plain<float>",
    "DOUBLE": "plain<double>",
}

_HEAD = """\
// {summary}
//
// g++ -std=c++17 repro.cpp -o repro -L$ASCEND_TOOLKIT_HOME/lib64 -lascendcl -lnnopbase -lopapi && ./repro
// (where operators lie in split libraries: -lopapi_nn -lopapi_math). Exit status: 1 the fault shows, 0 it does not, 2 no answer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

extern "C" {{
struct aclTensor; struct aclIntArray; struct aclBoolArray; struct aclOpExecutor;
int aclInit(const char*); int aclrtSetDevice(int32_t); int aclrtCreateStream(void**); int aclrtSynchronizeStream(void*);
int aclrtMalloc(void**, size_t, int); int aclrtMemcpy(void*, size_t, const void*, size_t, int); const char* aclGetRecentErrMsg();
aclTensor* aclCreateTensor(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t, void*);
aclIntArray* aclCreateIntArray(const int64_t*, uint64_t); aclBoolArray* aclCreateBoolArray(const bool*, uint64_t);
int {api}GetWorkspaceSize({signature}, uint64_t*, aclOpExecutor**);
int {api}(void*, uint64_t, aclOpExecutor*, void*);
}}

static void ok(int status, const char* what) {{
    if (status) {{ std::printf("%s returned %d: %s\\n", what, status, aclGetRecentErrMsg()); std::exit(2); }}
}}
[[maybe_unused]] static void* upload(const void* data, size_t size) {{
    void* device = nullptr;
    ok(aclrtMalloc(&device, size ? size : 1, 0), "aclrtMalloc");
    if (size) ok(aclrtMemcpy(device, size, data, size, 1), "aclrtMemcpy");
    return device;
}}
template <class T> [[maybe_unused]] static double plain(const char* at) {{ T value; std::memcpy(&value, at, sizeof value); return value; }}
[[maybe_unused]] static double bfloat(const char* at) {{
    uint16_t bits; std::memcpy(&bits, at, 2);
    uint32_t wide = uint32_t(bits) << 16; float value; std::memcpy(&value, &wide, 4);
    return value;
}}
[[maybe_unused]] static double half(const char* at) {{
    uint16_t bits; std::memcpy(&bits, at, 2);
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}}
struct View {{ std::vector<int64_t> shape, strides; int64_t offset; int size; }};
static int64_t place(const View& view, int64_t index) {{
    int64_t at = view.offset;
    for (size_t i = view.shape.size(); i-- > 0; index /= view.shape[i]) at += index % view.shape[i] * view.strides[i];
    return at;
}}
[[maybe_unused]] static int compare(const char* name, void* device, size_t bytes, const View& view, int parts,
                                    double (*decode)(const char*), const std::vector<double>& golden,
                                    const std::vector<double>& bound) {{
    std::vector<char> host(bytes + 1);
    ok(aclrtMemcpy(host.data(), bytes, device, bytes, 2), "aclrtMemcpy");
    int wrong = 0;
    for (size_t i = 0; i < golden.size(); i++) {{
        double value = decode(host.data() + place(view, int64_t(i) / parts) * view.size + int(i) % parts * (view.size / parts));
        if (value == golden[i] || (std::isnan(value) && std::isnan(golden[i])) || std::fabs(value - golden[i]) <= bound[i]) continue;
        if (wrong++ < 20) std::printf("%s, element %zu: %.9g, expected %.9g within %.3g\\n", name, i, value, golden[i], bound[i]);
    }}
    std::printf("%s: %d of %zu wrong\\n", name, wrong, golden.size());
    return wrong;
}}
"""


def program(failure: Failure) -> str:
    """The whole file."""
    held = tensors(failure)
    head = _HEAD.format(
        summary="\n// ".join(summary(failure)),
        api=failure.call.api,
        signature=", ".join(KINDS[kind].c_type for kind in kinds(failure).values()),
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
        f"static const uint{bits}_t {tensor.name}_data[] = {{"
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
        "std::vector<char> noise(size, char(0xA5));",
        "void* workspace = size ? upload(noise.data(), size) : nullptr;",
        f"status = {api}(workspace, size, executor, stream);",
        "if (!status) status = aclrtSynchronizeStream(stream);",
        'std::printf("second phase: %d %s\\n", status, status ? aclGetRecentErrMsg() : "");',
        "if (status) return 1;",
        "int wrong = 0;",
    ]
    for name in failure.golden:
        lines += _comparison(held[name], parts(failure.golden[name]), parts(failure.bound[name]))
    return [*lines, "return wrong != 0;"]


def _arguments(failure: Failure, held: dict[str, AbiTensor]) -> tuple[list[str], list[str]]:
    """Lines that make the arguments of the call, and the arguments."""
    lines: list[str] = []
    arguments = []
    for (name, value), kind in zip(failure.call.args.items(), kinds(failure).values(), strict=True):
        if isinstance(value, TensorDesc):
            lines += _tensor(held[name], bool(failure.storage))
            arguments.append(f"{name}_tensor")
        elif isinstance(value, tuple):
            c_type, array = ("bool", "Bool") if kind == "bool_array" else ("int64_t", "Int")
            items = ", ".join(str(item).lower() for item in value) or "0"
            lines += [
                f"const {c_type} {name}_values[] = {{{items}}};",
                f"auto* {name}_array = aclCreate{array}Array({name}_values, {len(value)});",
            ]
            arguments.append(f"{name}_array")
        else:
            arguments.append("nullptr" if value is None else str(value).lower())
    return lines, arguments


def _tensor(tensor: AbiTensor, data: bool) -> list[str]:
    name, desc = tensor.name, tensor.desc
    size = desc.storage_elements * tensor.itemsize
    if not data:
        address = f"void* {name} = nullptr;  // the first phase looks at descriptors only"
    elif tensor.bits is not None:
        words = f"{name}_data" if len(tensor.bits) else "nullptr"
        address = f"void* {name} = upload({words}, {size});"
    else:
        unwritten = f"std::vector<char>({size + 1}, char(0xFF)).data()"
        address = f"void* {name} = upload({unwritten}, {size});  // NaN until it is written"
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


def _comparison(tensor: AbiTensor, golden: list[float], bound: list[float]) -> list[str]:
    name, desc = tensor.name, tensor.desc
    shape, strides = (", ".join(map(str, values)) for values in (desc.shape, desc.steps))
    view = f"{{{{{shape}}}, {{{strides}}}, {desc.offset}, {tensor.itemsize}}}"
    expected = [
        f"const std::vector<double> {name}_{what} ="
        f" {{\n{folded(map(_literal, values), '        ')}\n    }};"
        for what, values in (("golden", golden), ("bound", bound))
    ]
    number_parts = 2 if desc.dtype.startswith("COMPLEX") else 1
    size, decode = desc.storage_elements * tensor.itemsize, _DECODE[DTYPES[desc.dtype].part.name]
    return [
        *expected,
        f'wrong += compare("{name}", {name}, {size}, {view}, {number_parts}, {decode},'
        f" {name}_golden, {name}_bound);",
    ]


def _literal(value: float) -> str:
    if isfinite(value):
        text = f"{value:.17g}"
        return text if set(text) & set(".e") else f"{text}.0"
    return "NAN" if isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
