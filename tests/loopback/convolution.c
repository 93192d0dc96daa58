/* aclnnConvolutionBackward: the checks of both pages by product, and the definition. */
#include "loopback.h"
#include <stdlib.h>
#include <string.h>
static const char *const API = "aclnnConvolutionBackward";

typedef struct {
    const aclTensor *dy, *x, *w, *dx, *dw, *db;
    const aclIntArray *bias, *stride, *padding, *dilation, *extra;
    const aclBoolArray *mask;
    bool transposed;
    int32_t groups;
    int8_t cube;
} Call;

static int64_t before(const Call *c, int axis) { return c->padding->values[c->padding->length == 4 ? 2 * axis : axis]; }
static int64_t after(const Call *c, int axis) { return c->padding->values[c->padding->length == 4 ? 2 * axis + 1 : axis]; }
static int type_of(const Call *c) { return promoted(promoted(c->dy->dtype, c->x->dtype), c->w->dtype); }
static int higher(int a, int b) { return a == b ? a : FLOAT; }

static bool all(const aclIntArray *a, int64_t low, int64_t high) {
    for (int64_t i = 0; i < a->length; i++) if (a->values[i] < low || a->values[i] > high) return false;
    return true;
}

static int nulls(const Call *c, bool newer) {
    CHECK(c->dy && c->x && c->w && c->stride && c->padding && c->dilation && c->extra && c->mask, PARAM_NULLPTR, "a null pointer");
    CHECK(c->mask->length == 3, PARAM_INVALID, "len(outputMask)");
    const bool *m = c->mask->values;
    if (newer) CHECK(c->bias && c->dx && c->dw, PARAM_NULLPTR, "a null pointer");
    CHECK(c->bias || !(m[2] && !numel(c->x)), PARAM_NULLPTR, "biasSizes is null");
    CHECK((c->dx || !m[0]) && (c->dw || !m[1]) && (c->db || !m[2]), PARAM_NULLPTR, "an output that is asked for is null");
    return 0;
}

static int shapes(const Call *c) {
    int64_t n = c->x->rank - 2, in = numel(c->x);
    const int64_t *dy = c->dy->shape, *x = c->x->shape, *w = c->w->shape;
    for (int64_t i = 0; i < n + 2; i++) {
        CHECK(dy[i] >= 0 && x[i] >= 0 && w[i] >= 0, PARAM_INVALID, "a negative extent");
        CHECK(i < 2 || x[i] != 0, PARAM_INVALID, "input without extent %d", (int)i);
    }
    CHECK(!in || (numel(c->dy) && numel(c->w)), PARAM_INVALID, "an empty tensor");
    CHECK(w[0] == (c->transposed ? x[1] : dy[1]), PARAM_INVALID, "channels of weight");
    CHECK(dy[0] == x[0], PARAM_INVALID, "N differs");
    CHECK(c->stride->length == n && c->dilation->length == n && c->extra->length == n, PARAM_INVALID, "length of an array");
    CHECK(c->padding->length == n || (n == 2 && c->padding->length == 4), PARAM_INVALID, "len(padding)");
    CHECK(!c->bias || c->bias->length == 1, PARAM_INVALID, "len(biasSizes)");
    CHECK(c->groups >= 1 && all(c->stride, 1, INT64_MAX) && all(c->dilation, 1, INT64_MAX), PARAM_INVALID, "groups, stride or dilation below 1");
    CHECK((c->transposed ? dy[1] : x[1]) == c->groups * w[1], PARAM_INVALID, "channels and groups");
    for (int i = 0; i < n; i++) {
        int64_t k = w[i + 2], s = c->stride->values[i], reach = c->dilation->values[i] * (k - 1), pads = before(c, i) + after(c, i), expected;
        if (c->transposed) expected = (x[i + 2] - 1) * s - pads + reach + c->extra->values[i] + 1;
        else {
            int64_t span = x[i + 2] + pads - reach - 1;
            expected = (span >= 0 ? span / s : -((s - 1 - span) / s)) + 1;
        }
        CHECK(dy[i + 2] == expected, PARAM_INVALID, "extent %d of gradOutput is %d, not %d", i + 2, (int)dy[i + 2], (int)expected);
    }
    return 0;
}

static int limits(const Call *c) {
    int64_t n = c->x->rank - 2;
    const int64_t *w = c->w->shape, *s = c->stride->values;
    if (c->transposed) return 0;
    for (int64_t i = n == 1 ? 2 : n; i < n + 2; i++) CHECK(w[i] <= 255, PARAM_INVALID, "a kernel beyond 255");
    if (n == 3) CHECK(s[1] <= 63 && s[2] <= 63, INNER_NULLPTR, "a stride beyond 63");
    CHECK(n == 3 ? before(c, 1) <= 255 && before(c, 2) <= 255 : all(c->padding, INT64_MIN, 255), INNER_NULLPTR, "padding beyond 255");
    CHECK(all(c->dilation, INT64_MIN, 255), INNER_NULLPTR, "dilation beyond 255");
    CHECK(c->groups <= 65535, INNER_NULLPTR, "groups beyond 65535");
    return 0;
}

static int outputs(const Call *c, bool newer) {
    const aclTensor *like[2] = {c->x, c->w}, *out[2] = {c->dx, c->dw};
    for (int i = 0; i < 2; i++) {
        if (!out[i]) continue;
        int dtype = newer ? like[i]->dtype : higher(like[i]->dtype, c->dy->dtype);
        CHECK(out[i]->dtype == dtype && out[i]->format == c->x->format, PARAM_INVALID, "dtype or format of output %d", i);
        CHECK(same_shape(out[i], like[i]), PARAM_INVALID, "the shape of output %d", i);
    }
    if (c->db) {
        CHECK(c->db->dtype == c->dy->dtype && c->db->format == ND, PARAM_INVALID, "dtype or format of gradBias");
        CHECK(c->db->rank == 1 && c->db->shape[0] == c->dy->shape[1], PARAM_INVALID, "the shape of gradBias");
    }
    return 0;
}

static int check(const Call *c) {
    enum product on = loopback_product();
    bool newer = on == ASCEND910B || on == ASCEND910_93;
    int status = nulls(c, newer);
    if (status) return status;
    const aclTensor *in[3] = {c->dy, c->x, c->w};
    for (int i = 0; i < 3; i++) {
        int dtype = in[i]->dtype;
        CHECK(dtype == FLOAT || dtype == FLOAT16 || (newer && dtype == BFLOAT16), PARAM_INVALID, "dtype %d", dtype);
        CHECK(one_of(in[i]->format, 3, NCL, NCHW, NCDHW), PARAM_INVALID, "format %d", in[i]->format);
        CHECK(in[i]->rank >= 3 && in[i]->rank <= 5 && in[i]->rank == c->dy->rank, PARAM_INVALID, "rank %d", (int)in[i]->rank);
    }
    CHECK(newer || c->x->rank < 5, PARAM_INVALID, "no 3D on this product");
    if ((status = shapes(c)) || (newer && (status = limits(c)))) return status;
    if ((status = outputs(c, newer))) return status;
    CHECK(c->dy->format == (c->x->rank == 3 ? NCL : c->x->rank == 4 ? NCHW : NCDHW), PARAM_INVALID, "format and rank");
    CHECK(c->x->format == c->dy->format && c->w->format == c->dy->format, PARAM_INVALID, "formats differ");
    CHECK(all(c->padding, 0, INT64_MAX) && all(c->extra, 0, INT64_MAX), PARAM_INVALID, "padding below 0");
    CHECK(c->cube >= 0 && c->cube <= 3, PARAM_INVALID, "cubeMathType %d", c->cube);
    CHECK((c->transposed ? c->x : c->dy)->shape[1] % c->groups == 0, PARAM_INVALID, "groups do not divide the channels");
    CHECK(!c->bias || (!c->mask->values[2] && c->bias->values[0] == 0) || c->bias->values[0] == (c->transposed ? c->w->shape[1] * c->groups : c->w->shape[0]), PARAM_INVALID, "biasSizes");
    for (int64_t i = 0; i < c->extra->length; i++)
        CHECK(c->extra->values[i] <= (c->transposed ? c->stride->values[i] - 1 : 0), PARAM_INVALID, "outputPadding");
    CHECK(type_of(c) != BFLOAT16 || c->cube < 2, PARAM_INVALID, "cubeMathType %d for BFLOAT16", c->cube);
    CHECK(newer || type_of(c) != FLOAT || (c->cube != 0 && c->cube != 3), PARAM_INVALID, "cubeMathType %d for FLOAT", c->cube);
    return 0;
}

/* numbers: transposed, groups, then stride, dilation and padding of three axes; missing axes have extent 1 */
static void spatial(const aclTensor *t, int64_t s[3]) {
    for (int i = 0; i < 3; i++) s[i] = i + t->rank - 3 >= 2 ? t->shape[i + t->rank - 3] : 1;
}

static void run(aclOpExecutor *e, double *const *sums) {
    const aclTensor *tdy = &e->input[0], *tx = &e->input[1], *tw = &e->input[2];
    const int64_t *n = e->number, N = tx->shape[0], Ci = tx->shape[1], Co = tdy->shape[1], groups = n[1];
    int64_t a[3], b[3], k[3];
    double *dy = dense(tdy, 0, e->compute), *x = dense(tx, 0, e->compute), *w = dense(tw, 0, e->compute), *exact = dense(tdy, 0, DOUBLE);
    /* the weight joins a wide tensor (channels Cw) with a narrow one (Cn), which has an element a window */
    bool T = n[0];
    int64_t Cw = T ? Co : Ci, Cn = T ? Ci : Co, perw = Cw / groups, pern = Cn / groups;
    spatial(T ? tdy : tx, a), spatial(T ? tx : tdy, b), spatial(tw, k);
    int64_t wide = a[0] * a[1] * a[2], narrow = b[0] * b[1] * b[2], taps = k[0] * k[1] * k[2];
    for (int64_t m = 0; m < N * Cn * narrow; m++) {
        int64_t at = m % narrow, c = m / narrow % Cn, sample = m / narrow / Cn, o[3] = {at / (b[1] * b[2]), at / b[2] % b[1], at % b[2]};
        for (int64_t q = 0; q < perw * taps; q++) {
            int64_t tap = q % taps, d = c / pern * perw + q / taps, p[3], t[3] = {tap / (k[1] * k[2]), tap / k[2] % k[1], tap % k[2]};
            bool inside = true;
            for (int i = 0; i < 3; i++) p[i] = o[i] * n[2 + i] + t[i] * n[5 + i] - n[8 + i], inside &= p[i] >= 0 && p[i] < a[i];
            if (!inside) continue;
            int64_t far = (sample * Cw + d) * wide + (p[0] * a[1] + p[1]) * a[2] + p[2], weight = c * perw * taps + q;
            int64_t iy = T ? far : m, ix = T ? m : far;
            if (sums[0]) sums[0][2 * ix] += dy[iy] * w[weight];
            if (sums[1]) sums[1][2 * weight] += dy[iy] * x[ix];
        }
    }
    int64_t each = numel(tdy) / (N * Co > 0 ? N * Co : 1);
    for (int64_t i = 0; sums[2] && i < numel(tdy); i++) sums[2][2 * (i / each % Co)] += exact[i];
    free(dy), free(x), free(w), free(exact);
}

int aclnnConvolutionBackwardGetWorkspaceSize(const aclTensor *dy, const aclTensor *x, const aclTensor *w, const aclIntArray *bias,
                                             const aclIntArray *stride, const aclIntArray *padding, const aclIntArray *dilation, bool transposed,
                                             const aclIntArray *extra, int groups, const aclBoolArray *mask, int8_t cube, aclTensor *dx,
                                             aclTensor *dw, aclTensor *db, uint64_t *workspace, aclOpExecutor **out) {
    int lost = loopback_count(API);
    if (lost) return lost;
    Call c = {dy, x, w, dx, dw, db, bias, stride, padding, dilation, extra, mask, transposed, groups, cube};
    int status = check(&c);
    if (status) return loopback_fault("accept", API) ? 0 : status;
    aclOpExecutor *e = executor(API, run);
    int skip = 5 - (int)x->rank;
    e->number[0] = transposed, e->number[1] = groups;
    for (int i = 0; i < 3; i++) {
        e->number[2 + i] = i < skip ? 1 : stride->values[i - skip];
        e->number[5 + i] = i < skip ? 1 : dilation->values[i - skip];
        e->number[8 + i] = i < skip ? 0 : before(&c, i - skip);
    }
    enum product on = loopback_product();
    bool older = on == ASCEND910 || on == ASCEND310P;
    e->compute = type_of(&c) != FLOAT || cube == 0 ? DOUBLE : cube == 2 || (cube == 1 && older) ? FLOAT16 : HFLOAT32;
    take(e, 0, dy), take(e, 1, x), take(e, 2, w);
    give(e, 0, dx, mask->values[0]), give(e, 1, dw, mask->values[1]), give(e, 2, db, mask->values[2]);
    return finish(e, 0, workspace, out);
}

int aclnnConvolutionBackward(void *workspace, uint64_t size, aclOpExecutor *e, void *stream) { return execute(workspace, size, e, stream); }
