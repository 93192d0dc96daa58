"""A failing call as one C++ file on the vendor's C ABI: both phases, data inline, no header of the
vendor's needed.
"""

from __future__ import annotations

from opgen.calls.kinds import KINDS, c_literal, prototype
from opgen.devices import memory
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
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

extern "C" {{
struct aclTensor; struct aclIntArray; struct aclBoolArray; struct aclFloatArray; struct aclScalar;
struct aclTensorList; struct aclOpExecutor;
int aclInit(const char*); int aclrtSetDevice(int32_t); int aclrtCreateStream(void**); int aclrtSynchronizeStream(void*);
int aclrtMalloc(void**, size_t, int); int aclrtMemcpy(void*, size_t, const void*, size_t, int); const char* aclGetRecentErrMsg();
aclTensor* aclCreateTensor(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t, void*);
aclIntArray* aclCreateIntArray(const int64_t*, uint64_t); aclBoolArray* aclCreateBoolArray(const bool*, uint64_t);
aclFloatArray* aclCreateFloatArray(const float*, uint64_t); aclScalar* aclCreateScalar(void*, int);
aclTensorList* aclCreateTensorList(const aclTensor* const*, uint64_t);
int {api}GetWorkspaceSize({signature}, uint64_t*, aclOpExecutor**);
int {api}(void*, uint64_t, aclOpExecutor*, void*);
}}

static void ok(int status, const char* what) {{
    if (status) {{ std::printf("%s returned %d: %s\\n", what, status, aclGetRecentErrMsg()); std::exit(2); }}
}}
struct View {{ std::vector<int64_t> shape, strides; int64_t offset; int size; }};  // size: bytes of an element
using Bytes = std::vector<unsigned char>;
struct Buffer {{ std::string name; bool output; Bytes held, now; char* device; }};
static constexpr size_t GUARD = {guard};
static std::deque<Buffer> buffers;

// Lay bytes on the device, between two guards of noise.
[[maybe_unused]] static void* lay(const char* name, bool output, const void* data, size_t size) {{
    static std::minstd_rand noise;
    Buffer buffer{{name, output, Bytes(size + 2 * GUARD), {{}}, nullptr}};
    for (auto& byte : buffer.held) byte = (unsigned char)(noise() >> 8);
    if (size) std::memcpy(buffer.held.data() + GUARD, data, size);
    void* device = nullptr;
    ok(aclrtMalloc(&device, buffer.held.size(), 0), "aclrtMalloc");
    ok(aclrtMemcpy(device, buffer.held.size(), buffer.held.data(), buffer.held.size(), 1), "aclrtMemcpy");
    buffer.device = (char*)device;
    buffers.push_back(buffer);
    return buffer.device + GUARD;
}}
// Read everything back; how many bytes were written that are not the device's: inputs, and all guards.
[[maybe_unused]] static size_t overwritten() {{
    size_t all = 0;
    for (Buffer& buffer : buffers) {{
        size_t count = 0, size = buffer.held.size();
        buffer.now.resize(size);
        ok(aclrtMemcpy(buffer.now.data(), size, buffer.device, size, 2), "aclrtMemcpy");
        for (size_t i = 0; i < size; i++)
            if (!buffer.output || i < GUARD || i >= size - GUARD) count += buffer.now[i] != buffer.held[i];
        if (count) std::printf("%s: %zu bytes in or around it were overwritten\\n", buffer.name.c_str(), count);
        all += count;
    }}
    return all;
}}
[[maybe_unused]] static Bytes filled(const Bytes& pattern, size_t count) {{
    Bytes result;
    while (count-- > 0) result.insert(result.end(), pattern.begin(), pattern.end());
    return result;
}}
static int64_t place(const View& view, int64_t index) {{
    int64_t at = view.offset;
    for (size_t i = view.shape.size(); i-- > 0; index /= view.shape[i]) at += index % view.shape[i] * view.strides[i];
    return at;
}}
// How many elements of an output were not written, or were outside its view.
[[maybe_unused]] static int misplaced(size_t position, const View& view, bool wanted) {{
    const Buffer& buffer = buffers[position];
    size_t count = 1, size = size_t(view.size), elements = (buffer.held.size() - 2 * GUARD) / size;
    for (int64_t extent : view.shape) count *= size_t(extent);
    std::vector<bool> inside(elements);
    for (size_t i = 0; i < count; i++) inside[size_t(place(view, int64_t(i)))] = true;
    int unwritten = 0, gaps = 0;
    for (size_t i = 0; i < elements; i++) {{
        bool kept = !std::memcmp(&buffer.now[GUARD + i * size], &buffer.held[GUARD + i * size], size);
        unwritten += wanted && inside[i] && kept;
        gaps += !inside[i] && !kept;
    }}
    if (unwritten) std::printf("%s: %d elements were not written\\n", buffer.name.c_str(), unwritten);
    if (gaps) std::printf("%s: %d elements outside its view were overwritten\\n", buffer.name.c_str(), gaps);
    return unwritten + gaps;
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
[[maybe_unused]] static int compare(size_t position, const View& view, int parts, double (*decode)(const char*),
                                    const std::vector<double>& golden, const std::vector<double>& bound) {{
    const Buffer& buffer = buffers[position];
    const char *name = buffer.name.c_str(), *host = (const char*)buffer.now.data() + GUARD;
    int wrong = 0;
    for (size_t i = 0; i < golden.size(); i++) {{
        double value = decode(host + place(view, int64_t(i) / parts) * view.size + int(i) % parts * (view.size / parts));
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
        if tensor.bits is None:
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
        output = str(tensor.bits is None).lower()
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
    lines = [
        f"const View {name}_view{{{{{shape}}}, {{{strides}}}, {desc.offset}, {tensor.itemsize}}};",
        f"wrong |= misplaced({position}, {name}_view, {str(asked).lower()}) > 0;",
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
