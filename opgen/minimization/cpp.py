"""A failing call as one C++ file on the vendor's C ABI: both phases, data inline, no header of the
vendor's needed.
"""

from __future__ import annotations

from math import isfinite, isnan

from opgen.minimization.described import Tensor, folded, kinds, parts, summary, tensors
from opgen.minimization.failing import Failing
from opgen.model import ANY_ERROR, TensorDesc
from opgen.numerics.formats import DTYPES
from opgen.spec.spec import C_TYPES

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


def program(failing: Failing) -> str:
    """The whole file."""
    kind, held = kinds(failing), tensors(failing)
    signature = ", ".join(C_TYPES[one] for one in kind.values())
    head = _HEAD.format(
        summary="\n// ".join(summary(failing)), api=failing.call.api, signature=signature
    )
    data = "".join(_data(tensor) for tensor in held.values())
    return f"{head}\n{data}\nint main() {{\n{_main(failing, kind, held)}}}\n"


def _data(tensor: Tensor) -> str:
    if tensor.bits is None or not len(tensor.bits):
        return ""
    digits = 2 * tensor.bits.itemsize
    literals = folded(
        (f"0x{int(word):0{digits}X}{'ull' if digits == 16 else ''}" for word in tensor.bits), "    "
    )
    what = f"{tensor.desc.dtype} {list(tensor.desc.shape)}"
    return (
        f"static const uint{8 * tensor.bits.itemsize}_t {tensor.name}_data[] = {{  //"
        f" {what}\n{literals}\n}};\n"
    )


def _main(failing: Failing, kind: dict[str, str], held: dict[str, Tensor]) -> str:
    api, data = failing.call.api, bool(failing.storage)
    lines = [
        'ok(aclInit(nullptr), "aclInit");',
        'ok(aclrtSetDevice(0), "aclrtSetDevice");',
        "void* stream = nullptr;",
        'ok(aclrtCreateStream(&stream), "aclrtCreateStream");',
    ]
    arguments = []
    for name, value in failing.call.args.items():
        if isinstance(value, TensorDesc):
            lines += _tensor(held[name], data)
            arguments.append(f"{name}_tensor")
        elif value is None:
            arguments.append("nullptr")
        elif isinstance(value, tuple):
            boolean = kind[name] == "bool_array"
            items = ", ".join(str(v).lower() for v in value) or "0"
            lines.append(f"const {'bool' if boolean else 'int64_t'} {name}_values[] = {{{items}}};")
            lines.append(
                f"auto* {name}_array = aclCreate{'Bool' if boolean else 'Int'}Array({name}_values,"
                f" {len(value)});"
            )
            arguments.append(f"{name}_array")
        else:
            arguments.append(str(value).lower() if kind[name] == "bool" else f"{value}")
    lines += ["uint64_t size = 0;", "aclOpExecutor* executor = nullptr;"]
    lines.append(
        f"int status = {api}GetWorkspaceSize(\n{folded(arguments, '        ')}\n        &size,"
        " &executor);"
    )
    lines.append(
        'std::printf("first phase: %d %s\\n", status, status ? aclGetRecentErrMsg() : "");'
    )
    admitted = " || ".join(
        "status != 0" if code == ANY_ERROR else f"status == {code}" for code in failing.codes
    )
    lines.append(f"if (!({admitted})) return 1;")
    if not data:
        return _indented([*lines, "return 0;"])
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
    for name in failing.golden:
        lines += _comparison(held[name], parts(failing.golden[name]), parts(failing.bound[name]))
    return _indented([*lines, "return wrong != 0;"])


def _tensor(tensor: Tensor, data: bool) -> list[str]:
    name, size = tensor.name, tensor.desc.storage_elements * tensor.itemsize
    lines = []
    if data and tensor.bits is not None:
        lines.append(
            f"void* {name} = upload({f'{name}_data' if len(tensor.bits) else 'nullptr'}, {size});"
        )
    elif data:
        lines.append(
            f"void* {name} = upload(std::vector<char>({size + 1}, char(0xFF)).data(), {size});  //"
            " NaN until it is written"
        )
    else:
        lines.append(f"void* {name} = nullptr;  // the first phase looks at descriptors only")
    steps = "nullptr" if tensor.desc.strides is None else f"{name}_strides"
    for what, values in (
        ("shape", tensor.desc.shape),
        ("strides", tensor.desc.strides),
        ("storage", tensor.desc.storage_extents),
    ):
        if values is not None:
            lines.append(
                f"const int64_t {name}_{what}[] = {{{', '.join(map(str, values)) or '0'}}};"
            )
    lines.append(
        f"auto* {name}_tensor = aclCreateTensor({name}_shape, {len(tensor.desc.shape)},"
        f" {tensor.dtype}, {steps}, {tensor.desc.offset}, {tensor.format}, {name}_storage,"
        f" {len(tensor.desc.storage_extents)}, {name});"
    )
    return lines


def _comparison(tensor: Tensor, golden: list[float], bound: list[float]) -> list[str]:
    name, complex_ = tensor.name, 2 if tensor.desc.dtype.startswith("COMPLEX") else 1
    shape, strides = (
        ", ".join(map(str, values)) for values in (tensor.desc.shape, tensor.desc.steps)
    )
    view = f"{{{{{shape}}}, {{{strides}}}, {tensor.desc.offset}, {tensor.itemsize}}}"
    expected = [
        f"const std::vector<double> {name}_{what} ="
        f" {{\n{folded(map(_literal, values), '        ')}\n    }};"
        for what, values in (("golden", golden), ("bound", bound))
    ]
    decode = _DECODE[DTYPES[tensor.desc.dtype].part.name]
    where = (
        f'"{name}", {name}, {tensor.desc.storage_elements * tensor.itemsize}, {view}, {complex_},'
        f" {decode}"
    )
    return [*expected, f"wrong += compare({where}, {name}_golden, {name}_bound);"]


def _literal(value: float) -> str:
    if isfinite(value):
        text = f"{value:.17g}"
        return text if set(text) & set(".e") else f"{text}.0"
    return "NAN" if isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


def _indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
