/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format, versions 1 to 3 (numpy.lib.format): both byte orders, C and Fortran
 * order, every dtype that rynd and NumPy share. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "bytes.h"
#include "receiver.h"
#include "stream.h"

/* Reads one array, and nothing behind it. The receiver (NULL: none) is asked whether it fits,
 * once the header is read; it is not given the tensor. */
bool cli_npy_read(cli_stream *stream, const cli_receiver *receiver, cli_tensor *tensor,
                  cli_failure *failure);
/* The same of a stream that must end behind the array. */
bool cli_npy_read_whole(cli_stream *stream, const cli_receiver *receiver, cli_tensor *tensor,
                        cli_failure *failure);
/* What is written of a tensor of any strides; bf16, which NumPy lacks, becomes f32. The data is the
 * tensor's own where that can be written as it is, else a copy. */
typedef struct cli_npy {
    char head[1088]; /* 16 dims of 20 digits, and padding */
    size_t head_size;
    const void *data;
    size_t data_size;
    cli_tensor packed;
} cli_npy;

bool cli_npy_open(const rynd_tensor *tensor, cli_npy *array, cli_failure *failure);
void cli_npy_free(cli_npy *array);
/* All of it in memory. The caller frees bytes->data. */
bool cli_npy_write(const rynd_tensor *tensor, cli_bytes *bytes, cli_failure *failure);

#endif
