/* SPDX-License-Identifier: Apache-2.0 */
/* Writes .npz archives array by array, in no more memory than one array's. */
#ifndef CLI_NPZ_WRITE_H
#define CLI_NPZ_WRITE_H

#include "npy.h"
#include "output_file.h"

#include <stdint.h>

/* Zeroed before the first array; freed by cli_npz_end. */
typedef struct cli_npz_writer {
    cli_output *output;
    uint64_t offset; /* bytes so far */
    struct cli_npz_entry *entries;
    size_t count, room;
} cli_npz_writer;

/* Not compressed, as numpy.savez does; the same arrays give the same bytes. The name is a plain one
 * (file_names.h), without ".npy". */
bool cli_npz_add(cli_npz_writer *writer, const char *name, const rynd_tensor *tensor,
                 cli_failure *failure);
/* Writes the directory where `done` is true. What fails in writing cli_output_end tells. */
bool cli_npz_end(cli_npz_writer *writer, bool done);

/* An archive of all arrays, whole or not at all. */
bool cli_npz_write(const char *path, const rynd_tensor *tensors, const char *const *names,
                   size_t count, cli_failure *failure);

#endif
