/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz format: a zip archive with one .npy for each array. */
#ifndef CLI_NPZ_H
#define CLI_NPZ_H

#include "npy.h"

/* Reads every array; a tensor's name is the entry's without ".npy". The caller frees *tensors, each with cli_tensor_free. */
bool cli_npz_read(const cli_bytes *bytes, const char *name, cli_tensor **tensors, size_t *count, cli_failure *failure);
/* Not compressed, as numpy.savez does. The caller frees bytes->data. */
bool cli_npz_write(const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes, cli_failure *failure);

#endif
