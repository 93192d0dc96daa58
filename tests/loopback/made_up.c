/* aclnnMadeUpBackward of tests/support/made_up.py: gradInput = gradOutput * (p + eps + beta + weights), divided by count for a mean. */
#include "loopback.h"
#include <stdlib.h>
#include <string.h>
static const char *const API = "aclnnMadeUpBackward";

static double number(const aclScalar *s) {
    float single;
    int32_t whole;
    memcpy(&single, s->value, 4), memcpy(&whole, s->value, 4);
    return s->dtype == FLOAT ? (double)single : s->dtype == INT32 ? whole : *(const double *)s->value;
}

static int check(const aclTensor *dy, double p, float eps, uint64_t count, const char *reduction, const aclFloatArray *weights,
                 const aclScalar *beta, const aclTensor *dx) {
    CHECK(dy && dx && reduction, PARAM_NULLPTR, "a null pointer");
    CHECK(dy->dtype == FLOAT && dx->dtype == FLOAT, PARAM_INVALID, "dtype %d, %d", dy->dtype, dx->dtype);
    CHECK(dy->format == ND && dx->format == ND && dy->rank == 2 && numel(dy) > 0, PARAM_INVALID, "gradOutput");
    CHECK(same_shape(dy, dx), PARAM_INVALID, "the shape of gradInput");
    CHECK(p >= 0 && p <= 1, PARAM_INVALID, "p is %a", p);
    CHECK(count >= 1, PARAM_INVALID, "count is 0");
    CHECK(!strcmp(reduction, "none") || !strcmp(reduction, "mean"), PARAM_INVALID, "reduction is %s", reduction);
    CHECK(strcmp(reduction, "mean") || count < UINT64_MAX, PARAM_INVALID, "a mean of so many");
    CHECK(!weights || weights->length == 0 || weights->length == 2, PARAM_INVALID, "len(weights)");
    for (int64_t i = 0; weights && i < weights->length; i++) CHECK(weights->values[i] >= 0.25f, PARAM_INVALID, "a weight");
    CHECK(!beta || beta->dtype == FLOAT || beta->dtype == DOUBLE || beta->dtype == INT32, PARAM_INVALID, "the dtype of beta");
    CHECK(!beta || (number(beta) >= 0 && number(beta) <= 2), PARAM_INVALID, "beta is %a", number(beta));
    CHECK(!beta || beta->dtype != INT32 || number(beta) != 0, PARAM_INVALID, "beta is 0");
    CHECK(eps > 0, PARAM_INVALID, "eps is %a", (double)eps);
    return 0;
}

static void run(aclOpExecutor *e, double *const *sums) {
    double *g = dense(&e->input[0], 0, DOUBLE);
    for (int64_t i = 0; i < numel(&e->input[0]); i++) sums[0][2 * i] = g[i] * e->factor;
    free(g);
}

int aclnnMadeUpBackwardGetWorkspaceSize(const aclTensor *dy, double p, float eps, uint64_t count, const char *reduction,
                                        const aclFloatArray *weights, const aclScalar *beta, aclTensor *dx, uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    int status = check(dy, p, eps, count, reduction, weights, beta, dx);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    e->factor = p + (double)eps + (beta ? number(beta) : 0);
    for (int64_t i = 0; weights && i < weights->length; i++) e->factor += (double)weights->values[i];
    if (!strcmp(reduction, "mean")) e->factor /= (double)count;
    take(e, 0, dy), give(e, 0, dx, true);
    return finish(e, 0, workspace, out);
}

int aclnnMadeUpBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
