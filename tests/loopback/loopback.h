/* A device that is plain host memory: the vendor's ABI, so that a runner's marshalling can be seen to be right.
   It says nothing about the vendor's device. */
#ifndef LOOPBACK_H
#define LOOPBACK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_RANK 32
enum { FLOAT = 0, FLOAT16 = 1, INT32 = 3, DOUBLE = 11, COMPLEX64 = 16, COMPLEX128 = 17, BFLOAT16 = 27, HFLOAT32 = 1000 };
enum { NCHW = 0, ND = 2, NCDHW = 30, NCL = 47 };
enum { PARAM_NULLPTR = 161001, PARAM_INVALID = 161002, RUNTIME_ERROR = 361001, INNER = 561000, INNER_NULLPTR = 561103 };
enum product { ASCEND310P, ASCEND910, ASCEND910B, ASCEND910_93 };

typedef struct { int64_t rank, shape[MAX_RANK], strides[MAX_RANK], offset, storage; int32_t dtype, format; char *data; } aclTensor;
typedef struct { int64_t length; int64_t *values; } aclIntArray;
typedef struct { int64_t length; bool *values; } aclBoolArray;
typedef struct { int64_t length; float *values; } aclFloatArray;
typedef struct { int32_t dtype; _Alignas(8) char value[16]; } aclScalar;
typedef struct { int64_t length; aclTensor **tensors; } aclTensorList;
typedef struct aclOpExecutor aclOpExecutor;

/* libascendcl: what operators use of it */
int loopback_refuse(int code, const char *format, ...);
enum product loopback_product(void);
bool loopback_fault(const char *name, const char *api);
int loopback_count(const char *api);
void loopback_stream_error(int code);

/* numbers.c */
int64_t numel(const aclTensor *t);
int itemsize(int dtype);
double rounded(double value, int dtype);
double *dense(const aclTensor *t, int part, int compute);
void put(const aclTensor *t, int64_t index, double real, double imag);
int64_t place(const aclTensor *t, int64_t index);
bool one_of(int64_t value, int count, ...);
bool same_shape(const aclTensor *a, const aclTensor *b);
int promoted(int a, int b);

/* executor.c */
enum { INPUTS = 5, OUTPUTS = 3 };
struct aclOpExecutor {
    const char *api;
    aclTensor input[INPUTS], output[OUTPUTS];
    bool has[OUTPUTS], wanted[OUTPUTS];
    int64_t number[32];
    double factor;
    int compute;
    void (*run)(aclOpExecutor *, double *const *sums);
};
aclOpExecutor *executor(const char *api, void (*run)(aclOpExecutor *, double *const *));
void take(aclOpExecutor *e, int at, const aclTensor *t);
void give(aclOpExecutor *e, int at, const aclTensor *t, bool wanted);
int finish(aclOpExecutor *e, int status, uint64_t *workspace, aclOpExecutor **out);
int execute(void *workspace, uint64_t size, aclOpExecutor *e, void *stream);

#define CHECK(condition, code, ...) do { if (!(condition)) return loopback_refuse(code, __VA_ARGS__); } while (0)
#endif
