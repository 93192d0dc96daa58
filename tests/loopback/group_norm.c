/* aclnnGroupNormBackward: the page's checks, and the definition. */
#include "loopback.h"
#include <stdlib.h>
static const char *const API = "aclnnGroupNormBackward";

static int check(const aclTensor *const in[5], const int64_t n[4], const aclBoolArray *mask, aclTensor *const dx[3]) {
    enum product on = loopback_product();
    CHECK(on == ASCEND910 || on == ASCEND910B, PARAM_INVALID, "the product is not listed");
    for (int i = 0; i < 5; i++) CHECK(in[i], PARAM_NULLPTR, "input %d is null", i);
    CHECK(mask, PARAM_NULLPTR, "outputMask is null");
    CHECK(mask->length == 3, PARAM_INVALID, "len(outputMask)");
    for (int i = 0; i < 3; i++) CHECK(dx[i] || !mask->values[i], PARAM_NULLPTR, "output %d is null", i);
    for (int i = 0; i < 8; i++) {
        const aclTensor *t = i < 5 ? in[i] : dx[i - 5];
        if (!t || (i >= 5 && !mask->values[i - 5])) continue;
        CHECK(t->dtype == FLOAT || t->dtype == FLOAT16 || (on == ASCEND910B && t->dtype == BFLOAT16), PARAM_INVALID, "dtype %d", t->dtype);
        CHECK(t->dtype == in[0]->dtype && t->format == ND, PARAM_INVALID, "dtype %d, format %d", t->dtype, t->format);
        CHECK(t->rank <= 8, PARAM_INVALID, "rank %d", (int)t->rank);
    }
    int64_t N = n[0], C = n[1], area = n[2], group = n[3];
    CHECK(N >= 1 && C >= 1 && area >= 1 && group >= 1, PARAM_INVALID, "a number below 1");
    CHECK(C % group == 0, PARAM_INVALID, "group does not divide C");
    CHECK(on != ASCEND910B || C / group <= 8000, PARAM_INVALID, "more than 8000 channels a group");
    CHECK(numel(in[0]) == N * C * area && numel(in[1]) == N * C * area, PARAM_INVALID, "elements of gradOut or input");
    CHECK(numel(in[2]) == N * group && numel(in[3]) == N * group, PARAM_INVALID, "elements of mean or rstd");
    CHECK(numel(in[4]) == C, PARAM_INVALID, "elements of gamma");
    CHECK(!mask->values[0] || same_shape(dx[0], in[1]), PARAM_INVALID, "the shape of gradInput");
    for (int i = 1; i < 3; i++) CHECK(!mask->values[i] || same_shape(dx[i], in[4]), PARAM_INVALID, "the shape of output %d", i);
    return 0;
}

static void run(aclOpExecutor *e, double *const *sums) {
    int64_t N = e->number[0], C = e->number[1], area = e->number[2], G = e->number[3], D = C / G;
    double *v[5];
    for (int i = 0; i < 5; i++) v[i] = dense(&e->input[i], 0, DOUBLE);
    const double *dy = v[0], *x = v[1], *mean = v[2], *rstd = v[3], *gamma = v[4];
    for (int64_t ng = 0; ng < N * G; ng++) {
        double sum = 0, moment = 0;
        for (int64_t k = ng * D * area; k < (ng + 1) * D * area; k++) {
            int64_t c = k / area % C;
            double xhat = (x[k] - mean[ng]) * rstd[ng];
            sum += dy[k] * gamma[c], moment += dy[k] * gamma[c] * xhat;
            if (sums[1]) sums[1][2 * c] += dy[k] * xhat;
            if (sums[2]) sums[2][2 * c] += dy[k];
        }
        for (int64_t k = ng * D * area; sums[0] && k < (ng + 1) * D * area; k++) {
            double xhat = (x[k] - mean[ng]) * rstd[ng], m = (double)(D * area);
            sums[0][2 * k] = rstd[ng] * (dy[k] * gamma[k / area % C] - sum / m - xhat * moment / m);
        }
    }
    for (int i = 0; i < 5; i++) free(v[i]);
}

int aclnnGroupNormBackwardGetWorkspaceSize(const aclTensor *dy, const aclTensor *x, const aclTensor *mean, const aclTensor *rstd,
                                           const aclTensor *gamma, int64_t N, int64_t C, int64_t area, int64_t group, const aclBoolArray *mask,
                                           aclTensor *dx, aclTensor *dgamma, aclTensor *dbeta, uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    const aclTensor *in[5] = {dy, x, mean, rstd, gamma};
    aclTensor *outputs[3] = {dx, dgamma, dbeta};
    int64_t numbers[4] = {N, C, area, group};
    int status = check(in, numbers, mask, outputs);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    for (int i = 0; i < 4; i++) e->number[i] = numbers[i];
    for (int i = 0; i < 5; i++) take(e, i, in[i]);
    for (int i = 0; i < 3; i++) give(e, i, outputs[i], mask->values[i]);
    return finish(e, 0, workspace, out);
}

int aclnnGroupNormBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
