/* aclnnChainBackward of tests/support/chain.py: each of gradInputs is gradOutput times the factor at its place, once for each layer. */
#include "loopback.h"
#include <stdlib.h>
static const char *const API = "aclnnChainBackward";

static int check(const aclTensor *dy, const aclTensorList *factors, int64_t layers, const aclTensorList *dx) {
    CHECK(dy && factors && dx, PARAM_NULLPTR, "a null pointer");
    for (int64_t i = 0; i < factors->length; i++) CHECK(factors->tensors[i], PARAM_NULLPTR, "factor %d is null", (int)i);
    for (int64_t i = 0; i < dx->length; i++) CHECK(dx->tensors[i], PARAM_NULLPTR, "output %d is null", (int)i);
    CHECK(dy->dtype == FLOAT && dy->format == ND && dy->rank == 2, PARAM_INVALID, "gradOutput");
    CHECK(layers == 1 || layers == 2, PARAM_INVALID, "layers");
    CHECK(factors->length == layers && dx->length == layers, PARAM_INVALID, "%d factors, %d outputs", (int)factors->length, (int)dx->length);
    for (int64_t i = 0; i < layers; i++) {
        const aclTensor *f = factors->tensors[i], *d = dx->tensors[i];
        CHECK((f->dtype == FLOAT || f->dtype == FLOAT16) && f->format == ND && same_shape(f, dy), PARAM_INVALID, "factor %d", (int)i);
        CHECK(f->dtype == factors->tensors[0]->dtype, PARAM_INVALID, "the dtype of factor %d", (int)i);
        CHECK(d->dtype == FLOAT && d->format == ND && same_shape(d, dy), PARAM_INVALID, "output %d", (int)i);
    }
    return 0;
}

static void run(aclOpExecutor *e, double *const *sums) {
    double *g = dense(&e->input[0], 0, DOUBLE);
    for (int64_t k = 0; k < e->number[0]; k++) {
        double *f = dense(&e->input[1 + k], 0, DOUBLE);
        for (int64_t i = 0; i < numel(&e->input[0]); i++) sums[k][2 * i] = g[i] * f[i];
        free(f);
    }
    free(g);
}

int aclnnChainBackwardGetWorkspaceSize(const aclTensor *dy, const aclTensorList *factors, int64_t layers, const aclTensorList *dx,
                                       uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    int status = check(dy, factors, layers, dx);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    e->number[0] = layers;
    take(e, 0, dy);
    for (int64_t i = 0; i < layers; i++) take(e, 1 + (int)i, factors->tensors[i]), give(e, (int)i, dx->tensors[i], true);
    return finish(e, 0, workspace, out);
}

int aclnnChainBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
