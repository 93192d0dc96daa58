/* aclnnReflectionPad2dBackward: the page's checks, and the definition. */
#include "loopback.h"
#include <stdlib.h>
static const char *const API = "aclnnReflectionPad2dBackward";

static int check(const aclTensor *dy, const aclTensor *x, const aclIntArray *padding, const aclTensor *dx) {
    CHECK(dy && x && padding && dx, PARAM_NULLPTR, "a null pointer");
    for (int i = 0; i < 3; i++) {
        const aclTensor *t = (const aclTensor *[]){dy, x, dx}[i];
        CHECK(one_of(t->dtype, 5, FLOAT, FLOAT16, DOUBLE, COMPLEX64, COMPLEX128), PARAM_INVALID, "dtype %d", t->dtype);
        CHECK(t->format == ND && t->dtype == x->dtype, PARAM_INVALID, "format %d, dtype %d", t->format, t->dtype);
        CHECK((t->rank == 3 || t->rank == 4) && t->rank == x->rank, PARAM_INVALID, "rank %d", (int)t->rank);
        for (int64_t k = 0; k < t->rank; k++) CHECK(t->shape[k] >= 1, PARAM_INVALID, "an extent below 1");
    }
    CHECK(padding->length == 4 && same_shape(x, dx), PARAM_INVALID, "len(padding), or the shape of gradInput");
    const int64_t *p = padding->values, r = x->rank, H = x->shape[r - 2], W = x->shape[r - 1];
    for (int64_t i = 0; i < r - 2; i++) CHECK(dy->shape[i] == x->shape[i], PARAM_INVALID, "N or C differ");
    for (int i = 0; i < 4; i++) CHECK(p[i] >= 0 && p[i] < (i < 2 ? W : H), PARAM_INVALID, "padding[%d] is %d", i, (int)p[i]);
    CHECK(dy->shape[r - 1] == W + p[0] + p[1] && dy->shape[r - 2] == H + p[2] + p[3], PARAM_INVALID, "the extents of gradOutput");
    return 0;
}

static int64_t mirror(int64_t at, int64_t extent) { return at < 0 ? -at : at >= extent ? 2 * extent - 2 - at : at; }

static void run(aclOpExecutor *e, double *const *sums) {
    const aclTensor *dy = &e->input[0], *dx = &e->output[0];
    int64_t r = dy->rank, H = dx->shape[r - 2], W = dx->shape[r - 1], h = dy->shape[r - 2], w = dy->shape[r - 1];
    bool complex_ = dy->dtype == COMPLEX64 || dy->dtype == COMPLEX128;
    for (int part = 0; part <= complex_; part++) {
        double *g = dense(dy, part, DOUBLE);
        for (int64_t at = 0; at < numel(dy); at++) {
            int64_t y = mirror(at / w % h - e->number[2], H), x = mirror(at % w - e->number[0], W);
            sums[0][2 * ((at / (h * w) * H + y) * W + x) + part] += g[at];
        }
        free(g);
    }
}

int aclnnReflectionPad2dBackwardGetWorkspaceSize(const aclTensor *dy, const aclTensor *x, const aclIntArray *padding, aclTensor *dx,
                                                 uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    int status = check(dy, x, padding, dx);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    for (int i = 0; i < 4; i++) e->number[i] = padding->values[i];
    take(e, 0, dy), give(e, 0, dx, true);
    return finish(e, 0, workspace, out);
}

int aclnnReflectionPad2dBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
