/* Elements of tensors as doubles, and the roundings of the vendor's formats. */
#include "loopback.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int64_t numel(const aclTensor *t) {
    int64_t n = 1;
    for (int64_t i = 0; i < t->rank; i++) n = (int64_t)((uint64_t)n * (uint64_t)t->shape[i]);
    return n;
}

int itemsize(int dtype) {
    return dtype == FLOAT16 || dtype == BFLOAT16 ? 2 : dtype == FLOAT ? 4 : dtype == COMPLEX128 ? 16 : 8;
}

/* digits with the hidden one, exponents of the least normal and of the largest value */
static void format(int dtype, int *digits, int *low, int *high) {
    *digits = dtype == FLOAT16 ? 11 : dtype == BFLOAT16 ? 8 : dtype == HFLOAT32 ? 12 : dtype == DOUBLE ? 53 : 24;
    *low = dtype == FLOAT16 ? -14 : dtype == DOUBLE ? -1022 : -126;
    *high = dtype == FLOAT16 ? 15 : dtype == DOUBLE ? 1023 : 127;
}

double rounded(double value, int dtype) {
    int digits, low, high, e;
    format(dtype, &digits, &low, &high);
    if (dtype == DOUBLE || value == 0 || !isfinite(value)) return value;
    frexp(value, &e);
    int unit = (e - 1 > low ? e - 1 : low) - digits + 1;
    double result = ldexp(nearbyint(ldexp(value, -unit)), unit);
    return fabs(result) >= ldexp(1, high + 1) ? copysign(INFINITY, value) : result;
}

static uint16_t encode(double value, int dtype) {
    int digits, low, high;
    format(dtype, &digits, &low, &high);
    int mantissa = digits - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0, exponents = (uint16_t)((0x7FFF >> mantissa) << mantissa);
    if (isnan(value)) return sign | exponents | (uint16_t)(1 << (mantissa - 1));
    value = fabs(rounded(value, dtype));
    if (isinf(value)) return sign | exponents;
    if (value < ldexp(1, low)) return sign | (uint16_t)ldexp(value, mantissa - low);
    int e;
    double fraction = frexp(value, &e) * 2 - 1;
    return sign | (uint16_t)((e - 1 - low + 1) << mantissa) | (uint16_t)ldexp(fraction, mantissa);
}

static double decode(uint16_t bits, int dtype) {
    int digits, low, high;
    format(dtype, &digits, &low, &high);
    int mantissa = digits - 1, exponent = (bits & 0x7FFF) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double value = exponent == 0x7FFF >> mantissa ? (fraction ? NAN : INFINITY)
                 : exponent ? ldexp(1 + ldexp(fraction, -mantissa), exponent - 1 + low) : ldexp(fraction, low - mantissa);
    return bits & 0x8000 ? -value : value;
}

int64_t place(const aclTensor *t, int64_t index) {
    int64_t at = t->offset;
    for (int64_t i = t->rank - 1; i >= 0; i--) { at += index % t->shape[i] * t->strides[i]; index /= t->shape[i]; }
    return at;
}

static double get(const aclTensor *t, int64_t index, int part) {
    const char *at = t->data + place(t, index) * itemsize(t->dtype);
    double d[2];
    float f[2];
    uint16_t h;
    switch (t->dtype) {
    case FLOAT16: case BFLOAT16: memcpy(&h, at, 2); return decode(h, t->dtype);
    case FLOAT: memcpy(f, at, 4); return f[0];
    case DOUBLE: memcpy(d, at, 8); return d[0];
    case COMPLEX64: memcpy(f, at, 8); return f[part];
    default: memcpy(d, at, 16); return d[part];
    }
}

void put(const aclTensor *t, int64_t index, double real, double imag) {
    char *at = t->data + place(t, index) * itemsize(t->dtype);
    double d[2] = {real, imag};
    float f[2] = {(float)real, (float)imag};
    uint16_t h;
    switch (t->dtype) {
    case FLOAT16: case BFLOAT16: h = encode(real, t->dtype); memcpy(at, &h, 2); break;
    case FLOAT: memcpy(at, f, 4); break;
    case DOUBLE: memcpy(at, d, 8); break;
    case COMPLEX64: memcpy(at, f, 8); break;
    default: memcpy(at, d, 16);
    }
}

double *dense(const aclTensor *t, int part, int compute) {
    int64_t count = numel(t);
    double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = rounded(get(t, i, part), compute);
    return values;
}

bool one_of(int64_t value, int count, ...) {
    va_list arguments;
    bool found = false;
    va_start(arguments, count);
    for (int i = 0; i < count; i++) found |= va_arg(arguments, int) == value;
    va_end(arguments);
    return found;
}

bool same_shape(const aclTensor *a, const aclTensor *b) {
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]);
}

int promoted(int a, int b) { return a == b ? a : FLOAT; }
