/* What lies between the phases, and the ways in which a device may go wrong. */
#include "loopback.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void crash(void) { raise(SIGSEGV); }
static void hang(void) { for (;;) sleep(1000); }

aclOpExecutor *executor(const char *api, void (*run)(aclOpExecutor *, double *const *)) {
    aclOpExecutor *e = calloc(1, sizeof *e);
    e->api = api, e->run = run, e->compute = DOUBLE;
    return e;
}

void take(aclOpExecutor *e, int at, const aclTensor *t) { e->input[at] = *t; }

void give(aclOpExecutor *e, int at, const aclTensor *t, bool wanted) {
    e->has[at] = t != NULL, e->wanted[at] = t && wanted;
    if (t) e->output[at] = *t;
}

/* The end of every first phase: `status` is what the checks found, `e` is there if they found nothing. */
int finish(aclOpExecutor *e, int status, uint64_t *workspace, aclOpExecutor **out) {
    if (status) return status;
    if (loopback_fault("code", e->api)) return loopback_refuse(INNER, "asked to return a wrong code");
    if (loopback_fault("crash1", e->api)) crash();
    if (loopback_fault("hang1", e->api)) hang();
    *workspace = 0;
    for (int i = 0; i < OUTPUTS; i++)
        if (e->has[i]) *workspace += 16 * (uint64_t)numel(&e->output[i]);
    *out = e;
    return 0;
}

static void store(const aclOpExecutor *e, int at, const double *sums) {
    const aclTensor *t = &e->output[at];
    int64_t count = numel(t);
    for (int64_t i = 0; i < count - loopback_fault("partly", e->api); i++) {
        double real = sums[2 * i], imag = sums[2 * i + 1];
        if (loopback_fault("nan", e->api) && i == count / 2) real = NAN;
        if (loopback_fault("element", e->api) && i == count - 1) real = real * 1.5 + 1;
        put(t, loopback_fault("reversed", e->api) ? count - 1 - i : i, real, imag);
    }
}

/* Wrong without being asked by an operator: foreign memory, outputs that nobody wants, bits of another dtype. */
static void disturb(const aclOpExecutor *e) {
    for (int i = 0; i < OUTPUTS; i++) {
        const aclTensor *t = &e->output[i];
        if (!e->has[i] || !t->data) continue;
        int size = itemsize(t->dtype);
        if (loopback_fault("mask", e->api) && !e->wanted[i])
            for (int64_t k = 0; k < numel(t); k++) put(t, k, 1, 0);
        if (loopback_fault("gaps", e->api) && t->storage != numel(t))
            memset(t->data + (place(t, 0) > 0 ? 0 : t->strides[t->rank - 1] > 1 ? 1 : t->storage - 1) * size, 0, (size_t)size);
        if (loopback_fault("beyond", e->api)) memset(t->data + t->storage * size, 0, (size_t)size);
        if (loopback_fault("before", e->api)) t->data[-1] ^= 1;
        if (loopback_fault("far", e->api)) t->data[t->storage * size + 512] ^= 1;
        if (loopback_fault("dtype", e->api) && size == 2 && e->wanted[i])
            for (int64_t k = 0; k < numel(t); k++) {
                uint16_t bits;
                memcpy(&bits, t->data + place(t, k) * 2, 2);
                bits = t->dtype == FLOAT16 ? (uint16_t)(bits >> 3) : (uint16_t)(bits << 3);
                memcpy(t->data + place(t, k) * 2, &bits, 2);
            }
    }
    const aclTensor *in = &e->input[0];
    if (loopback_fault("input", e->api) && numel(in)) put(in, 0, 77, 77);
    if (loopback_fault("behind_input", e->api)) in->data[in->storage * itemsize(in->dtype)] ^= 1;
}

/* Second phase of every operator: sums lie in the workspace, two doubles an element. */
int execute(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) {
    if (!e || !stream) return loopback_refuse(PARAM_NULLPTR, "second phase without executor or stream");
    if (loopback_fault("crash", e->api)) crash();
    if (loopback_fault("hang", e->api)) hang();
    if (loopback_fault("runtime", e->api)) return loopback_refuse(RUNTIME_ERROR, "asked to fail in the second phase");
    if (loopback_fault("kernel", e->api)) loopback_stream_error(507011);
    double *sums[OUTPUTS] = {0}, *next = workspace;
    if (size && !loopback_fault("workspace", e->api)) memset(workspace, 0, size);
    for (int i = 0; i < OUTPUTS; i++)
        if (e->wanted[i]) sums[i] = next, next += 2 * numel(&e->output[i]);  /* what is not wanted may be too small */
    e->run(e, sums);
    for (int i = 0; i < OUTPUTS; i++)
        if (e->wanted[i] && !loopback_fault("stale", e->api)) store(e, i, sums[i]);
    disturb(e);
    if (size && loopback_fault("scratch", e->api))
        for (int i = 0; i < 16; i++) ((char *)workspace)[size + i] ^= 1;
    free(e);
    return 0;
}
