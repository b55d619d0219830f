/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor that owns its memory, the target of file readers. */
#ifndef CLI_HELD_TENSOR_H
#define CLI_HELD_TENSOR_H

#include "element.h"
#include "failure.h"

typedef struct cli_tensor {
    rynd_tensor view; /* any strides; dtype NONE: nothing held */
    void *memory;     /* free() it; may begin before view.data */
    char *name;       /* the name in the file, or NULL; free() it */
} cli_tensor;

void cli_tensor_free(cli_tensor *tensor);
/* A row-major tensor of zeros. */
bool cli_tensor_make(cli_tensor *tensor, rynd_dtype dtype, int rank, const int64_t *dim,
                     cli_failure *failure);

/* Elements of a shape times `size`, or -1 on overflow of int64. A 0 anywhere gives 0. */
int64_t cli_shape_bytes(int rank, const int64_t *dim, size_t size);
bool cli_is_row_major(const rynd_tensor *tensor);
/* A row-major copy, dtype kept. */
bool cli_tensor_copy_of(const rynd_tensor *from, cli_tensor *copy, cli_failure *failure);

/* Steps through all elements in row-major order:
 *   for (cli_walk w = cli_walk_begin(t); w.left > 0; cli_walk_next(&w, t)) use(w.offset) */
typedef struct cli_walk {
    /* elements left, including the current; its offset from data in elements */
    int64_t left, offset;
    int64_t index[RYND_MAX_RANK];
} cli_walk;

cli_walk cli_walk_begin(const rynd_tensor *tensor);
void cli_walk_next(cli_walk *walk, const rynd_tensor *tensor);

typedef enum cli_conversion {
    CLI_CONVERSION_NONE,    /* the dtype was right */
    CLI_CONVERSION_EXACT,   /* every value is kept */
    CLI_CONVERSION_ROUNDED, /* floats became floats of less precision */
} cli_conversion;

/* Converts to a dtype when no value is lost but by rounding of floats. Otherwise fails, naming the
 * first value that does not fit, and where. */
bool cli_tensor_convert(cli_tensor *tensor, rynd_dtype dtype, cli_conversion *done,
                        cli_failure *failure);

typedef struct cli_summary {
    double min, mean, max; /* over the finite elements; NaN without any */
    int64_t nans, infinities;
} cli_summary;

cli_summary cli_tensor_summary(const rynd_tensor *tensor);

#endif
