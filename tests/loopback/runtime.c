/* libascendcl.so: memory, streams and messages on the host, and the faults that a test asks for. */
#include "loopback.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[512];
static int stream_error, inits;
static const char *last = "runtime"; /* the operator that was called last */
static struct { const char *api; int calls; } counted[16];

int loopback_refuse(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(message, sizeof message, "E%d: ", code);
    vsnprintf(message + used, sizeof message - used, format, arguments);
    va_end(arguments);
    return code;
}

enum product loopback_product(void) {
    const char *soc = getenv("LOOPBACK_SOC");
    if (soc && !strncmp(soc, "Ascend310P", 10)) return ASCEND310P;
    if (soc && !strncmp(soc, "Ascend910_93", 12)) return ASCEND910_93;
    if (soc && !strncmp(soc, "Ascend910A", 10)) return ASCEND910;
    return ASCEND910B;
}

static void count(const char *api) {
    for (int i = 0; i < 16; i++) {
        if (!counted[i].api) counted[i].api = api;
        if (!strcmp(counted[i].api, api)) { counted[i].calls++; return; }
    }
}

/* Counts a call; returns what a device that is lost answers to it. */
int loopback_count(const char *api) {
    last = api;
    count(api), count("any");
    if (loopback_fault("minus", "any")) return loopback_refuse(-1, "failed");
    return loopback_fault("lost", "any") ? loopback_refuse(507899, "the device is lost") : 0;
}

/* LOOPBACK_FAULT: name[@operator][#call[+]], several with commas; without an operator or call, all of them; with +, that call and all
   later ones. "any" is an operator that counts all calls. */
bool loopback_fault(const char *name, const char *api) {
    const char *at = getenv("LOOPBACK_FAULT");
    while (at && *at) {
        char word[128] = "";
        size_t length = strcspn(at, ",");
        memcpy(word, at, length < sizeof word ? length : sizeof word - 1);
        at += length + (at[length] == ',');
        char *call = strchr(word, '#'), *op = strchr(word, '@');
        if (call) *call++ = 0;
        if (op) *op++ = 0;
        if (strcmp(word, name) || (op && strcmp(op, api))) continue;
        if (!call) return true;
        for (int i = 0; i < 16 && counted[i].api; i++)
            if (!strcmp(counted[i].api, api) && (strchr(call, '+') ? counted[i].calls >= atoi(call) : counted[i].calls == atoi(call))) return true;
    }
    return false;
}

void loopback_stream_error(int code) { stream_error = code; }

static int asked(const char *name) { return loopback_fault(name, "runtime") ? loopback_refuse(507000, "asked to refuse") : 0; }

int aclInit(const char *config) { (void)config; return inits++ ? 100002 : asked("init"); }
int aclFinalize(void) { return 0; }
int aclrtGetDeviceCount(uint32_t *count) { const char *n = getenv("LOOPBACK_DEVICES"); *count = n ? atoi(n) : 1; return 0; }
int aclrtSetDevice(int32_t index) { return index == 0 ? asked("open") : loopback_refuse(107001, "no device %d", index); }
int aclrtResetDevice(int32_t index) { (void)index; return 0; }
int aclrtCreateStream(void **stream) { *stream = &stream_error; return asked("stream"); }
int aclrtDestroyStream(void *stream) { (void)stream; return 0; }

int aclrtSynchronizeStream(void *stream) {
    if (stream != &stream_error) return loopback_refuse(107003, "not the stream that was created");
    int code = stream_error;
    stream_error = 0;
    return code ? loopback_refuse(code, "the kernel failed on the device") : 0;
}

int aclrtMalloc(void **pointer, size_t size, int policy) {
    if (policy != 0 || !size) return loopback_refuse(107000, "policy %d, size %zu", policy, size);
    *pointer = asked("memory") ? NULL : malloc(size);
    if (!*pointer) return loopback_refuse(207001, "no memory for %zu bytes", size);
    memset(*pointer, 0xCD, size);
    return 0;
}

int aclrtFree(void *pointer) {
    if (loopback_fault("free", last)) raise(SIGSEGV);
    free(pointer);
    return 0;
}

int aclrtMemcpy(void *to, size_t most, const void *from, size_t size, int kind) {
    if (size > most || (kind != 1 && kind != 2)) return loopback_refuse(107000, "copy of %zu into %zu, kind %d", size, most, kind);
    memcpy(to, from, size);
    return kind == 2 ? asked("fetch") : 0;
}

const char *aclrtGetSocName(void) { const char *soc = getenv("LOOPBACK_SOC"); return soc ? soc : "Ascend910B3"; }
const char *aclGetRecentErrMsg(void) { return message; }

int aclsysGetVersionStr(char *package, char *out) {
    if (strcmp(package, "runtime")) return 500000;
    strcpy(out, "loopback-1");
    return 0;
}
