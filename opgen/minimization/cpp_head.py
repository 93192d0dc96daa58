"""What every C++ program of a failing call begins with: the vendor's ABI, buffers, comparisons."""

from __future__ import annotations

HEAD = """\
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
"""A format: the ``summary``, the ``api``, its ``signature``, and the bytes of the ``guard``."""
