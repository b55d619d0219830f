/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that rynd calls. Objects are malloc'ed, so that sanitizers watch them. */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include "emulation.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500
};

EXPORT fake_cuda_state fake_cuda = {
    .devices = 1, .capability = 90, .version = 12090, .memory = (size_t)1 << 30};

static _Thread_local int depth; /* of the thread's stack of contexts */
static int context, other_context;

/* A launch that was captured. */
typedef struct node {
    struct node *next;
    const struct object *function;
    void *values[64];
    unsigned grid, block;
} node;

typedef struct object {
    char kind;              /* 's', 'e', 'm', 'f', 'b', 'g', 'x' */
    bool capturing, spoilt; /* of a stream: something came that cannot be captured */
    node *first, **last;    /* of a stream that captures, a graph, an executable one */
    struct timespec time;
    size_t bytes;
    void *library, *image;
    size_t image_size;
    struct object *module;
    void *entry;
} object;

/* Shall this call fail? */
static int outcome(const char *name)
{
    fake_cuda_state *f = &fake_cuda;
    if (f->lost) {
        return f->lost;
    }
    if (f->fail_name && strcmp(f->fail_name, name) == 0 && f->fail_after-- == 0) {
        f->lost = f->fail_sticky ? f->fail_code : 0;
        return f->fail_code;
    }
    return OK;
}

static int outcome_in_context(const char *name)
{
    if (depth == 0) {
        atomic_fetch_add(&fake_cuda.misused, 1);
        return INVALID_CONTEXT;
    }
    return outcome(name);
}

#define BEGIN(name)                      \
    do {                                 \
        const int code_ = outcome(name); \
        if (code_) {                     \
            return code_;                \
        }                                \
    } while (0)

#define BEGIN_IN_CONTEXT(name)                      \
    do {                                            \
        const int code_ = outcome_in_context(name); \
        if (code_) {                                \
            return code_;                           \
        }                                           \
    } while (0)

static object *make(char kind, atomic_int *alive)
{
    object *o = calloc(1, sizeof *o);
    o->kind = kind;
    atomic_fetch_add(alive, 1);
    return o;
}

static bool is(const object *o, char kind)
{
    const bool good = o && o->kind == kind;
    atomic_fetch_add(&fake_cuda.misused, !good);
    return good;
}

/* A copy or a wait in a stream: none may come into a capture. */
static bool is_open(object *stream)
{
    if (!is(stream, 's')) {
        return false;
    }
    stream->spoilt = stream->spoilt || stream->capturing;
    return !stream->capturing;
}

static int drop(object *o, char kind, atomic_int *alive)
{
    if (!is(o, kind)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_sub(alive, 1);
    free(o);
    return OK;
}

EXPORT int cuInit(unsigned flags)
{
    const char *capability = getenv("FAKE_CUDA_CAPABILITY");
    fake_cuda.capability = capability ? atoi(capability) : fake_cuda.capability;
    (void)flags;
    BEGIN("cuInit");
    return OK;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = fake_cuda.version;
    return OK;
}

static const struct {
    int code;
    const char *name, *text;
} codes[] = {{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
             {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
             {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
             {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
             {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
             {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
             {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
             {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}};

static int word_of(int code, bool name, const char **word)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == code) {
            *word = name ? codes[i].name : codes[i].text;
            return OK;
        }
    }
    *word = NULL;
    return INVALID_VALUE;
}

EXPORT int cuGetErrorName(int code, const char **name)
{
    return word_of(code, true, name);
}

EXPORT int cuGetErrorString(int code, const char **text)
{
    return word_of(code, false, text);
}

EXPORT int cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount");
    *count = fake_cuda.devices;
    return OK;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    BEGIN("cuDeviceGet");
    *device = ordinal;
    return ordinal < fake_cuda.devices ? OK : INVALID_VALUE;
}

EXPORT int cuDeviceGetName(char *name, int room, int device)
{
    snprintf(name, (size_t)room, "Fake GPU %d", device);
    return OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = fake_cuda.memory;
    return OK;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int values[][2] = {{1, 1024},    {8, 49152},    {13, 1755000}, {16, 132},
                                    {18, 0},      {36, 2619000}, {37, 5120},    {38, 52428800},
                                    {81, 233472}, {82, 65536}};
    (void)device;
    *value = 0;
    if (attribute == 75 || attribute == 76) {
        *value = attribute == 75 ? fake_cuda.capability / 10 : fake_cuda.capability % 10;
        return OK;
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return OK;
        }
    }
    return INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRetain(void **made, int device)
{
    (void)device;
    BEGIN("cuDevicePrimaryCtxRetain");
    atomic_fetch_add(&fake_cuda.contexts, 1);
    *made = &context;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    atomic_fetch_sub(&fake_cuda.contexts, 1);
    return OK;
}

EXPORT int cuCtxPushCurrent_v2(void *pushed)
{
    BEGIN("cuCtxPushCurrent");
    atomic_fetch_add(&fake_cuda.misused, pushed != &context);
    depth++;
    return OK;
}

EXPORT int cuCtxPopCurrent_v2(void **popped)
{
    atomic_fetch_add(&fake_cuda.misused, depth <= 0);
    depth--;
    *popped = depth ? &other_context : &context;
    return OK;
}

EXPORT int cuCtxSynchronize(void)
{
    BEGIN_IN_CONTEXT("cuCtxSynchronize");
    return OK;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    enum { HEAD = 256 };
    BEGIN_IN_CONTEXT("cuMemAlloc");
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    if (bytes > fake_cuda.memory - atomic_load(&fake_cuda.bytes)) {
        return OUT_OF_MEMORY;
    }
    char *memory = aligned_alloc(HEAD, HEAD + (bytes + HEAD - 1) / HEAD * HEAD);
    if (!memory) {
        return OUT_OF_MEMORY;
    }
    object *head = (object *)memory;
    *head = (object){.kind = 'b', .bytes = bytes};
    atomic_fetch_add(&fake_cuda.buffers, 1);
    atomic_fetch_add(&fake_cuda.bytes, bytes);
    *address = (uint64_t)(uintptr_t)(memory + HEAD);
    return OK;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
    BEGIN_IN_CONTEXT("cuMemFree");
    object *head = (object *)((char *)(uintptr_t)address - 256);
    atomic_fetch_sub(&fake_cuda.bytes, head->bytes);
    return drop(head, 'b', &fake_cuda.buffers);
}

/* What is pinned. */
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *memory;
    size_t bytes;
} pinned[256];

/* Without bytes: no longer. */
static bool keep_pinned(char *memory, size_t bytes)
{
    bool kept = false;
    pthread_mutex_lock(&pinned_lock);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && !kept; i++) {
        if (pinned[i].memory == (bytes ? NULL : memory)) {
            pinned[i].memory = bytes ? memory : NULL;
            pinned[i].bytes = bytes;
            kept = true;
        }
    }
    pthread_mutex_unlock(&pinned_lock);
    return kept;
}

static bool is_pinned(const char *at)
{
    bool found = false;
    pthread_mutex_lock(&pinned_lock);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        found = found || (pinned[i].memory && at >= pinned[i].memory &&
                          at < pinned[i].memory + pinned[i].bytes);
    }
    pthread_mutex_unlock(&pinned_lock);
    return found;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    BEGIN_IN_CONTEXT("cuMemHostAlloc");
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    atomic_fetch_add(&fake_cuda.pinned, 1);
    return *memory && keep_pinned(*memory, bytes) ? OK : OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
    atomic_fetch_sub(&fake_cuda.pinned, 1);
    keep_pinned(memory, 0);
    free(memory);
    return OK;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync");
    if (!is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.uploads, 1);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync");
    if (!is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.downloads, 1);
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoDAsync");
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD8Async");
    memset((void *)(uintptr_t)to, value, bytes);
    return is_open(stream) ? OK : INVALID_HANDLE;
}

/* Of the first address of what cuMemAlloc gave. */
EXPORT int cuMemGetAddressRange_v2(uint64_t *first, size_t *bytes, uint64_t address)
{
    BEGIN_IN_CONTEXT("cuMemGetAddressRange");
    const object *head = (const object *)((const char *)(uintptr_t)address - 256);
    if (!is(head, 'b')) {
        return INVALID_VALUE;
    }
    *first = address;
    *bytes = head->bytes;
    return OK;
}

EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer)
{
    enum { MEMORY_TYPE = 2, HOST = 1 };
    if (attribute != MEMORY_TYPE || !is_pinned((const char *)(uintptr_t)pointer)) {
        return INVALID_VALUE;
    }
    *(unsigned *)value = HOST;
    return OK;
}

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamWaitEvent");
    return flags == 0 && is_open(stream) && is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuEventQuery(void *event)
{
    BEGIN_IN_CONTEXT("cuEventQuery");
    return is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamCreate");
    atomic_fetch_add(&fake_cuda.misused, flags != 1); /* one that waits for others */
    *stream = make('s', &fake_cuda.streams);
    return OK;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    return drop(stream, 's', &fake_cuda.streams);
}

EXPORT int cuStreamSynchronize(void *stream)
{
    BEGIN_IN_CONTEXT("cuStreamSynchronize");
    return is_open(stream) ? OK : INVALID_HANDLE;
}

EXPORT int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    BEGIN_IN_CONTEXT("cuEventCreate");
    *event = make('e', &fake_cuda.events);
    return OK;
}

EXPORT int cuEventDestroy_v2(void *event)
{
    return drop(event, 'e', &fake_cuda.events);
}

EXPORT int cuEventRecord(void *event, void *stream)
{
    BEGIN_IN_CONTEXT("cuEventRecord");
    if (!is(event, 'e') || !is_open(stream)) {
        return INVALID_HANDLE;
    }
    clock_gettime(CLOCK_MONOTONIC, &((object *)event)->time);
    return OK;
}

EXPORT int cuEventSynchronize(void *event)
{
    BEGIN_IN_CONTEXT("cuEventSynchronize");
    return is(event, 'e') ? OK : INVALID_HANDLE;
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    BEGIN_IN_CONTEXT("cuEventElapsedTime");
    if (!is(from, 'e') || !is(to, 'e')) {
        return INVALID_HANDLE;
    }
    const struct timespec a = ((object *)from)->time, b = ((object *)to)->time;
    *milliseconds =
        (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
    return OK;
}

/* The whole file, by its headers. */
static size_t size_of_elf(const Elf64_Ehdr *elf)
{
    return elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
}

/* Under a name of its own: a name that is loaded is not loaded again. */
static void *open_image(const void *image, size_t size)
{
    char path[] = "/tmp/fake_cuda_XXXXXX";
    const int file = mkstemp(path);
    const bool written = file >= 0 && write(file, image, size) == (ssize_t)size;
    void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return library;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                              void **values)
{
    enum { CUDA_MACHINE = 190 };
    BEGIN_IN_CONTEXT("cuModuleLoadDataEx");
    atomic_fetch_add(&fake_cuda.misused, count != 2 || options[0] != 5 || options[1] != 6);
    object made = {.kind = 'm'};
    if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        const Elf64_Ehdr *elf = image;
        made.image_size = size_of_elf(elf);
        if (elf->e_machine != CUDA_MACHINE) {
            made.library = open_image(image, made.image_size);
            if (!made.library) {
                snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", dlerror());
                return INVALID_IMAGE;
            }
        }
    } else if (strstr(image, ".version") == NULL) {
        snprintf(values[0], (size_t)(uintptr_t)values[1], "neither ELF nor PTX");
        return INVALID_IMAGE;
    } else {
        made.image_size = strlen(image);
    }
    made.image = malloc(made.image_size);
    memcpy(made.image, image, made.image_size);
    object *o = make('m', &fake_cuda.modules);
    *o = made;
    *module = o;
    return OK;
}

EXPORT int cuModuleUnload(void *module)
{
    object *m = module;
    if (!is(m, 'm')) {
        return INVALID_HANDLE;
    }
    while (m->module) { /* its functions */
        object *function = m->module;
        m->module = function->module;
        free(function);
    }
    free(m->image);
    if (m->library) {
        dlclose(m->library);
    }
    return drop(m, 'm', &fake_cuda.modules);
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    object *m = module;
    BEGIN_IN_CONTEXT("cuModuleGetFunction");
    if (!is(m, 'm')) {
        return INVALID_HANDLE;
    }
    void *entry = m->library ? dlsym(m->library, name) : NULL;
    char word[128];
    snprintf(word, sizeof word, ".text.%s", name); /* of NVRTC's: the section of its code */
    if (m->library ? !entry
                   : !memmem(m->image, m->image_size, word, strlen(word)) &&
                         !memmem(m->image, m->image_size, name, strlen(name))) {
        return NOT_FOUND;
    }
    object *f = calloc(1, sizeof *f);
    *f = (object){.kind = 'f', .library = m->library, .entry = entry, .module = m->module};
    m->module = f;
    *function = f;
    return OK;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    BEGIN_IN_CONTEXT("cuFuncGetAttribute");
    if (!is(function, 'f')) {
        return INVALID_HANDLE;
    }
    const int items = fake_cuda.function_items ? fake_cuda.function_items : 1024;
    *value = attribute == 0 ? items : 0;
    return OK;
}

static void run_node(const node *launch)
{
    void *values[64];
    memcpy(values, launch->values, sizeof values);
    atomic_fetch_add(&fake_cuda.launches, 1);
    if (launch->function->entry) {
        emulation_run(launch->function->library, launch->function->entry, values, launch->grid,
                      launch->block);
    }
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra)
{
    fake_cuda_state *f = &fake_cuda;
    BEGIN_IN_CONTEXT("cuLaunchKernel");
    if (!is(function, 'f') || !is(stream, 's')) {
        return INVALID_HANDLE;
    }
    if (grid_x == 0 || grid_x > 0x7fffffffu || grid_y != 1 || grid_z != 1 || block_x == 0 ||
        block_x > 1024 || block_y != 1 || block_z != 1 || shared_bytes != 0 || arguments) {
        return INVALID_VALUE;
    }
    size_t size = 0;
    void *block = NULL;
    for (; *extra != (void *)0; extra += 2) {
        if (*extra == (void *)1) {
            block = extra[1];
        } else {
            size = *(size_t *)extra[1];
        }
    }
    void *values[64] = {0};
    if (size > sizeof values || size % sizeof *values) {
        return INVALID_VALUE;
    }
    memcpy(values, block, size);
    f->groups = grid_x;
    f->group = block_x;
    f->argument_bytes = size;
    memcpy(f->arguments, values, sizeof values);
    node launch = {.function = function, .grid = grid_x, .block = block_x};
    memcpy(launch.values, values, sizeof values);
    object *s = stream;
    if (s->capturing) {
        node *kept = malloc(sizeof *kept);
        *kept = launch;
        *s->last = kept;
        s->last = &kept->next;
    } else {
        run_node(&launch);
    }
    return OK;
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode)
{
    enum { THREAD_LOCAL = 1 };
    object *s = stream;
    BEGIN_IN_CONTEXT("cuStreamBeginCapture");
    if (mode != THREAD_LOCAL || !is_open(s)) {
        return INVALID_VALUE;
    }
    s->capturing = true;
    s->spoilt = false;
    s->first = NULL;
    s->last = &s->first;
    return OK;
}

static void free_nodes(object *o)
{
    while (o->first) {
        node *next = o->first->next;
        free(o->first);
        o->first = next;
    }
}

EXPORT int cuStreamEndCapture(void *stream, void **graph)
{
    enum { INVALIDATED = 901 };
    object *s = stream;
    const int code =
        is(s, 's') && s->capturing ? outcome_in_context("cuStreamEndCapture") : INVALID_HANDLE;
    *graph = NULL;
    s->capturing = false;
    if (code || s->spoilt) {
        free_nodes(s);
        return code ? code : INVALIDATED;
    }
    object *made = make('g', &fake_cuda.graphs);
    made->first = s->first;
    s->first = NULL;
    *graph = made;
    return OK;
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags)
{
    BEGIN_IN_CONTEXT("cuGraphInstantiate");
    if (flags != 0 || !is(graph, 'g')) {
        return INVALID_VALUE;
    }
    object *made = make('x', &fake_cuda.graphs);
    node **last = &made->first;
    for (const node *n = ((object *)graph)->first; n; n = n->next) {
        *last = malloc(sizeof **last);
        **last = *n;
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    *executable = made;
    return OK;
}

EXPORT int cuGraphLaunch(void *executable, void *stream)
{
    BEGIN_IN_CONTEXT("cuGraphLaunch");
    if (!is(executable, 'x') || !is_open(stream)) {
        return INVALID_HANDLE;
    }
    atomic_fetch_add(&fake_cuda.replays, 1);
    for (const node *n = ((object *)executable)->first; n; n = n->next) {
        run_node(n);
    }
    return OK;
}

EXPORT int cuGraphExecDestroy(void *executable)
{
    free_nodes(executable);
    return drop(executable, 'x', &fake_cuda.graphs);
}

EXPORT int cuGraphDestroy(void *graph)
{
    free_nodes(graph);
    return drop(graph, 'g', &fake_cuda.graphs);
}
