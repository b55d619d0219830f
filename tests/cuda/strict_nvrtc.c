/* SPDX-License-Identifier: Apache-2.0 */
/* Hands every call to NVRTC; reads the log of each that compiles. */
#include "strict_nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK, COMPILATION = 6 };

EXPORT strict_nvrtc_state strict_nvrtc;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

static void open_library(void)
{
    const char *file = getenv("STRICT_NVRTC");
    library = dlopen(file ? file : "libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
}

static void *symbol(const char *name)
{
    pthread_once(&once, open_library);
    return dlsym(library, name);
}

#define HAND_ON(result, name, parameters, arguments) \
    EXPORT result name parameters                    \
    {                                                \
        result(*function) parameters;                \
        void *found = symbol(#name);                 \
        memcpy(&function, &found, sizeof found);     \
        return function arguments;                   \
    }

HAND_ON(int, nvrtcVersion, (int *major, int *minor), (major, minor))
HAND_ON(const char *, nvrtcGetErrorString, (int code), (code))
HAND_ON(int, nvrtcGetNumSupportedArchs, (int *count), (count))
HAND_ON(int, nvrtcGetSupportedArchs, (int *to), (to))
HAND_ON(int, nvrtcCreateProgram,
        (void **program, const char *text, const char *name, int headers, const char *const *header,
         const char *const *include),
        (program, text, name, headers, header, include))
HAND_ON(int, nvrtcDestroyProgram, (void **program), (program))
HAND_ON(int, nvrtcGetProgramLogSize, (void *program, size_t *size), (program, size))
HAND_ON(int, nvrtcGetProgramLog, (void *program, char *log), (program, log))
HAND_ON(int, nvrtcGetCUBINSize, (void *program, size_t *size), (program, size))
HAND_ON(int, nvrtcGetPTXSize, (void *program, size_t *size), (program, size))
HAND_ON(int, nvrtcGetPTX, (void *program, char *to), (program, to))

EXPORT int nvrtcGetCUBIN(void *program, char *to)
{
    int (*function)(void *, char *);
    void *found = symbol("nvrtcGetCUBIN");
    size_t size = 0;
    memcpy(&function, &found, sizeof found);
    const int code = function(program, to);
    if (code == OK && *strict_nvrtc.cubin && nvrtcGetCUBINSize(program, &size) == OK) {
        FILE *file = fopen(strict_nvrtc.cubin, "wb");
        if (!file || fwrite(to, size, 1, file) != 1 || fclose(file) != 0) {
            return COMPILATION;
        }
    }
    return code;
}

static int number_before(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    while (at && at > line && at[-1] == ' ') {
        at--;
    }
    while (at && at > line && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at ? atoi(at) : 0;
}

static void take_line(const char *line)
{
    strict_nvrtc_state *s = &strict_nvrtc;
    const char *name = strstr(line, "Compiling entry function '");
    if (name && s->count < STRICT_ENTRIES) {
        struct strict_entry *e = &s->entry[s->count++];
        *e = (struct strict_entry){.name = ""};
        sscanf(strchr(name, '\'') + 1, "%63[^']", e->name);
    } else if (s->count > 0) {
        struct strict_entry *e = &s->entry[s->count - 1];
        e->spilled += number_before(line, "bytes spill stores");
        e->shared += number_before(line, "bytes smem");
        if (strstr(line, "Used ")) {
            e->registers = atoi(strstr(line, "Used ") + 5);
        }
    }
}

/* Is the line empty, ptxas's resource report, or NVRTC's note about a deprecated architecture? Not its
 * report that products of warp groups (wgmma) wait for each other. */
static int is_welcome(const char *line)
{
    if (strstr(line, "serialized")) {
        return 0;
    }
    return strstr(line, "Architectures prior to") != NULL || strncmp(line, "ptxas info", 10) == 0 ||
           strncmp(line, "ptxas         .", 15) == 0 || line[strspn(line, " \t\r")] == 0;
}

static int read_log(void *program)
{
    size_t size = 0;
    int code = OK;
    nvrtcGetProgramLogSize(program, &size);
    char *log = calloc(1, size + 1), *rest = NULL;
    nvrtcGetProgramLog(program, log);
    strict_nvrtc.count = 0;
    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        take_line(line);
        code = is_welcome(line) ? code : COMPILATION;
    }
    free(log);
    return code;
}

EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    int (*function)(void *, int, const char *const *);
    void *found = symbol("nvrtcCompileProgram");
    memcpy(&function, &found, sizeof found);
    const int code = function(program, count, options);
    strict_nvrtc.compiled++;
    return code ? code : read_log(program);
}
