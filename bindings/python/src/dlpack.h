/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's binary interface, as its specification 1.3 describes it
 * (https://dmlc.github.io/dlpack/latest/c_api.html): what is needed of it here. */
#ifndef RYND_PYTHON_DLPACK_H
#define RYND_PYTHON_DLPACK_H

#include <stdint.h>

enum {
    DLPACK_CPU = 1,
    DLPACK_CUDA_HOST = 3, /* page-locked memory of the host */
};

enum { DLPACK_INT, DLPACK_UINT, DLPACK_FLOAT, DLPACK_BFLOAT = 4, DLPACK_BOOL = 6 };

enum { DLPACK_READ_ONLY = 1 };

typedef struct dlpack_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *dim;
    int64_t *stride; /* in elements; NULL: row-major */
    uint64_t offset; /* bytes */
} dlpack_tensor;

/* In a capsule named "dltensor". */
typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *owner;
    void (*release)(struct dlpack_managed *self);
} dlpack_managed;

/* In a capsule named "dltensor_versioned". */
typedef struct dlpack_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *owner;
    void (*release)(struct dlpack_versioned *self);
    uint64_t flags;
    dlpack_tensor tensor;
} dlpack_versioned;

/* In the capsule that a type has as __dlpack_c_exchange_api__: an object is described without a
 * capsule of its own. */
typedef struct dlpack_exchange {
    struct {
        uint32_t major, minor;
    } version;
    void *previous;
    void *allocate, *from_object, *to_object; /* not used here */
    int (*describe)(void *object, dlpack_tensor *tensor);
    void *current_stream;
} dlpack_exchange;

#endif
