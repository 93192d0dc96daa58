/* aclnnAvgPool2dBackward: the page's checks, and the definition. */
#include "loopback.h"
#include <stdlib.h>
static const char *const API = "aclnnAvgPool2dBackward";

static int64_t item(const aclIntArray *a, int axis) { return a->values[a->length == 2 ? axis : 0]; }

static int64_t pooled(int64_t size, int64_t k, int64_t s, int64_t pad, bool ceil_mode) {
    int64_t span = size + 2 * pad - k + (ceil_mode ? s - 1 : 0);
    int64_t out = (span >= 0 ? span / s : -((s - 1 - span) / s)) + 1;
    return ceil_mode && (out - 1) * s >= size + pad ? out - 1 : out;
}

static int check(const aclTensor *dy, const aclTensor *x, const aclIntArray *kernel, const aclIntArray *stride, const aclIntArray *padding,
                 bool ceil_mode, int64_t divisor, int8_t cube, const aclTensor *dx) {
    enum product on = loopback_product();
    bool bf16 = on == ASCEND910B;
    CHECK(dy && x && kernel && padding && dx, PARAM_NULLPTR, "a null pointer");
    CHECK(on != ASCEND910_93, PARAM_INVALID, "the product is not listed");
    CHECK(stride, PARAM_NULLPTR, "stride is null");
    for (int i = 0; i < 3; i++) {
        const aclTensor *t = (const aclTensor *[]){dy, dx, x}[i];
        CHECK(t->dtype == FLOAT || t->dtype == FLOAT16 || (bf16 && t->dtype == BFLOAT16), PARAM_INVALID, "dtype %d", t->dtype);
        CHECK(t->format == NCHW || t->format == NCL, PARAM_INVALID, "format %d", t->format);
        CHECK(t->rank == 3 || t->rank == 4, PARAM_INVALID, "rank %d", (int)t->rank);
        for (int64_t k = 0; k < t->rank; k++) CHECK(t->shape[k] >= 0, PARAM_INVALID, "a negative extent");
    }
    CHECK(dx->dtype == x->dtype && dx->format == x->format, PARAM_INVALID, "gradInput is not like self");
    CHECK(kernel->length == 1 || kernel->length == 2, PARAM_INVALID, "len(kernelSize)");
    CHECK(stride->length <= 2, PARAM_INVALID, "len(stride)");
    CHECK(padding->length == 1 || padding->length == 2, PARAM_INVALID, "len(padding)");
    CHECK(cube >= 0 && cube <= 3, PARAM_INVALID, "cubeMathType %d", cube);
    bool keeps = cube == 0 || cube == 3;
    CHECK(!((on == ASCEND910 || on == ASCEND310P) && x->dtype == FLOAT && keeps), PARAM_INVALID, "cubeMathType %d for FLOAT", cube);
    CHECK(divisor >= -255 && divisor <= 255, PARAM_INVALID, "divisorOverride %d", (int)divisor);
    const aclIntArray *step = stride->length ? stride : kernel;
    for (int axis = 0; axis < 2; axis++) {
        CHECK(item(kernel, axis) >= 1 && item(step, axis) >= 1, PARAM_INVALID, "kernelSize or stride below 1");
        CHECK(2 * item(padding, axis) <= item(kernel, axis) && item(padding, axis) >= 0, PARAM_INVALID, "padding beyond half of the kernel");
    }
    int64_t r = x->rank;
    CHECK(dy->rank == r && dx->rank == r, PARAM_INVALID, "ranks differ");
    for (int64_t i = 0; i < r - 2; i++) CHECK(dy->shape[i] == x->shape[i], PARAM_INVALID, "N or C differ");
    CHECK(numel(dy) && x->shape[r - 3] <= 65535, PARAM_INVALID, "empty, or too many channels");
    for (int axis = 0; axis < 2; axis++) {
        int64_t out = pooled(x->shape[r - 2 + axis], item(kernel, axis), item(step, axis), item(padding, axis), ceil_mode);
        CHECK(dy->shape[r - 2 + axis] == out, PARAM_INVALID, "gradOutput has %d, not %d", (int)dy->shape[r - 2 + axis], (int)out);
    }
    CHECK(same_shape(x, dx), PARAM_INVALID, "gradInput has not the shape of self");
    CHECK(x->format == (r == 4 ? NCHW : NCL) && dy->format == x->format && dy->dtype == x->dtype, PARAM_INVALID, "gradOutput is not like self");
    return 0;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void run(aclOpExecutor *e, double *const *sums) {
    const aclTensor *dy = &e->input[0], *dx = &e->output[0];
    const int64_t *n = e->number, r = dy->rank, H = dx->shape[r - 2], W = dx->shape[r - 1], h = dy->shape[r - 2], w = dy->shape[r - 1];
    double *g = dense(dy, 0, e->compute);
    for (int64_t at = 0; at < numel(dy); at++) {
        int64_t plane = at / (h * w), top = at / w % h * n[2] - n[4], left = at % w * n[3] - n[5];
        int64_t bottom = least(top + n[0], H + n[4]), right = least(left + n[1], W + n[5]), area = (bottom - top) * (right - left);
        top = most(top, 0), left = most(left, 0), bottom = least(bottom, H), right = least(right, W);
        double divisor = n[7] ? (double)n[7] : n[6] ? (double)area : (double)((bottom - top) * (right - left));
        for (int64_t y = top; y < bottom; y++)
            for (int64_t x = left; x < right; x++) sums[0][2 * ((plane * H + y) * W + x)] += g[at] / divisor;
    }
    free(g);
}

int aclnnAvgPool2dBackwardGetWorkspaceSize(const aclTensor *dy, const aclTensor *x, const aclIntArray *kernel, const aclIntArray *stride,
                                           const aclIntArray *padding, bool ceil_mode, bool count_pad, int64_t divisor, int8_t cube,
                                           aclTensor *dx, uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    int status = check(dy, x, kernel, stride, padding, ceil_mode, divisor, cube, dx);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    const aclIntArray *step = stride->length ? stride : kernel;
    int64_t numbers[] = {item(kernel, 0), item(kernel, 1), item(step, 0), item(step, 1), item(padding, 0), item(padding, 1), count_pad, divisor};
    for (int i = 0; i < 8; i++) e->number[i] = numbers[i];
    bool older = loopback_product() == ASCEND910 || loopback_product() == ASCEND310P;
    e->compute = x->dtype != FLOAT || cube == 0 ? DOUBLE : cube == 2 || (cube == 1 && older) ? FLOAT16 : HFLOAT32;
    take(e, 0, dy), give(e, 0, dx, true);
    return finish(e, 0, workspace, out);
}

int aclnnAvgPool2dBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
