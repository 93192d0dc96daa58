/* libnnopbase.so: descriptors. What is passed is copied, as the vendor's library does. */
#include "loopback.h"
#include <stdlib.h>
#include <string.h>

aclTensor *aclCreateTensor(const int64_t *shape, uint64_t rank, int32_t dtype, const int64_t *strides, int64_t offset,
                           int32_t format, const int64_t *storage, uint64_t storage_rank, void *data) {
    if (rank > MAX_RANK || storage_rank > MAX_RANK || (rank && !shape)) return NULL;
    aclTensor *t = calloc(1, sizeof *t);
    t->rank = (int64_t)rank, t->dtype = dtype, t->format = format, t->offset = offset, t->data = data, t->storage = 1;
    int64_t step = 1;
    for (int64_t i = t->rank - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = strides ? strides[i] : step;
        step = (int64_t)((uint64_t)step * (uint64_t)shape[i]);
    }
    for (uint64_t i = 0; i < storage_rank; i++) t->storage = (int64_t)((uint64_t)t->storage * (uint64_t)storage[i]);
    return t;
}

aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t length) {
    aclIntArray *a = calloc(1, sizeof *a);
    a->length = (int64_t)length;
    a->values = calloc(length + 1, sizeof *values);
    if (length) memcpy(a->values, values, length * sizeof *values);
    return a;
}

aclBoolArray *aclCreateBoolArray(const bool *values, uint64_t length) {
    aclBoolArray *a = calloc(1, sizeof *a);
    a->length = (int64_t)length;
    a->values = calloc(length + 1, sizeof *values);
    if (length) memcpy(a->values, values, length * sizeof *values);
    return a;
}

aclFloatArray *aclCreateFloatArray(const float *values, uint64_t length) {
    aclFloatArray *a = calloc(1, sizeof *a);
    a->length = (int64_t)length;
    a->values = calloc(length + 1, sizeof *values);
    if (length) memcpy(a->values, values, length * sizeof *values);
    return a;
}

aclScalar *aclCreateScalar(const void *value, int32_t dtype) {
    aclScalar *s = calloc(1, sizeof *s);
    s->dtype = dtype;
    memcpy(s->value, value, dtype == DOUBLE ? 8 : 4);
    return s;
}

aclTensorList *aclCreateTensorList(const aclTensor *const *tensors, uint64_t length) {
    aclTensorList *l = calloc(1, sizeof *l);
    l->length = (int64_t)length;
    l->tensors = calloc(length + 1, sizeof *l->tensors);
    if (length) memcpy(l->tensors, tensors, length * sizeof *l->tensors);
    return l;
}

int aclDestroyTensor(const aclTensor *t) { free((void *)t); return 0; }
int aclDestroyIntArray(const aclIntArray *a) { free(a->values); free((void *)a); return 0; }
int aclDestroyBoolArray(const aclBoolArray *a) { free(a->values); free((void *)a); return 0; }
int aclDestroyFloatArray(const aclFloatArray *a) { free(a->values); free((void *)a); return 0; }
int aclDestroyScalar(const aclScalar *s) { free((void *)s); return 0; }
int aclDestroyTensorList(const aclTensorList *l) {
    for (int64_t i = 0; i < l->length; i++) free(l->tensors[i]);
    free(l->tensors), free((void *)l);
    return 0;
}
int aclnnInit(const char *config) { (void)config; return 0; }
