/* aclnnHeldBackward of tests/support/held.py: gradOutput times factor is added to what gradInputRef holds. */
#include "loopback.h"
#include <stdlib.h>
static const char *const API = "aclnnHeldBackward";

static int check(const aclTensor *dy, const aclTensor *dx, double factor) {
    CHECK(dy && dx, PARAM_NULLPTR, "a null pointer");
    CHECK(dy->dtype == FLOAT && (dx->dtype == FLOAT || dx->dtype == FLOAT16), PARAM_INVALID, "dtype %d, %d", dy->dtype, dx->dtype);
    CHECK(dy->format == ND && dx->format == ND && dy->rank == 2 && numel(dy) > 0, PARAM_INVALID, "gradOutput");
    CHECK(same_shape(dy, dx), PARAM_INVALID, "the shape of gradInputRef");
    CHECK(factor >= 0.5 && factor <= 4, PARAM_INVALID, "factor is %a", factor);
    return 0;
}

static void run(aclOpExecutor *e, double *const *sums) {
    double *g = dense(&e->input[0], 0, DOUBLE), *held = dense(&e->input[1], 0, DOUBLE);
    for (int64_t i = 0; i < numel(&e->input[0]); i++) sums[0][2 * i] = held[i] + g[i] * e->factor;
    free(g), free(held);
}

int aclnnHeldBackwardGetWorkspaceSize(const aclTensor *dy, aclTensor *dx, double factor, uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    int status = check(dy, dx, factor);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    e->factor = factor;
    take(e, 0, dy), take(e, 1, dx), give(e, 0, dx, true);
    return finish(e, 0, workspace, out);
}

int aclnnHeldBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
