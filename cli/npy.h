/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format, versions 1 to 3 (numpy.lib.format): both byte orders, C and Fortran order, every dtype that rynd and NumPy share. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "held_tensor.h"
#include "whole_file.h"

/* Takes over bytes->data, also when it fails; the tensor lies in it where possible. `name`: of the file, for messages. */
bool cli_npy_read(cli_bytes *bytes, const char *name, cli_tensor *tensor, cli_failure *failure);
/* Any strides. bf16, which NumPy lacks, becomes f32. The caller frees bytes->data. */
bool cli_npy_write(const rynd_tensor *tensor, cli_bytes *bytes, cli_failure *failure);

#endif
