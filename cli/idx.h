/* SPDX-License-Identifier: Apache-2.0 */
/* IDX, the format of MNIST and its like: bytes 0, 0, type, rank; dims of 4 bytes, the highest
 * first; data. (http://yann.lecun.com/exdb/mnist) */
#ifndef CLI_IDX_H
#define CLI_IDX_H

#include "stream.h"

#define CLI_IDX_RANK 4

typedef struct cli_idx {
    int rank;
    int64_t dim[CLI_IDX_RANK];
    unsigned char *data; /* row-major; free() it */
} cli_idx;

/* Unsigned bytes of rank 1 to 4 only: what pictures and their classes are. */
bool cli_idx_read(cli_stream *stream, cli_idx *idx, cli_failure *failure);

#endif
