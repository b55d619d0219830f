/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the stand-in for CUDA's driver: its objects, and how its functions begin. Objects are
 * malloc'ed, so that sanitizers watch them. */
#ifndef FAKE_CUDA_INSIDE_H
#define FAKE_CUDA_INSIDE_H

#include "fake_cuda.h"

#include <stdbool.h>
#include <time.h>

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

extern fake_cuda_state fake_cuda;

/* A launch that was captured. */
typedef struct node {
    struct node *next;
    const struct object *function;
    void *values[64];
    unsigned grid, block, given; /* given: bytes of local memory */
} node;

typedef struct object {
    char kind;              /* 's', 'e', 'm', 'f', 'b', 'g', 'x' */
    bool capturing, spoilt; /* stream: a call that cannot be captured spoilt the capture */
    node *first, **last;    /* nodes of a capturing stream, a graph or an executable graph */
    struct timespec time;
    size_t bytes;
    void *library, *image;
    size_t image_size;
    struct object *module;
    void *entry;
} object;

/* Returns the code with which this call fails, or OK. */
int fake_outcome(const char *name);
/* Fails without a current context, too. */
int fake_outcome_in_context(const char *name);

#define BEGIN(name)                           \
    do {                                      \
        const int code_ = fake_outcome(name); \
        if (code_) {                          \
            return code_;                     \
        }                                     \
    } while (0)

#define BEGIN_IN_CONTEXT(name)                           \
    do {                                                 \
        const int code_ = fake_outcome_in_context(name); \
        if (code_) {                                     \
            return code_;                                \
        }                                                \
    } while (0)

/* Makes an object and counts it in `alive`. */
object *fake_make(char kind, atomic_int *alive);
/* Is the object of this kind? Counts a misuse if not. */
bool fake_is(const object *o, char kind);
/* May a copy or a wait enter the stream? During a capture it may not, and spoils the capture. */
bool fake_is_open(object *stream);
/* Frees the object and subtracts it from `alive`. Refuses an object of another kind. */
int fake_drop(object *o, char kind, atomic_int *alive);

/* fake_cuda_modules.c: runs a launch. */
void fake_run_node(const node *launch);

#endif
