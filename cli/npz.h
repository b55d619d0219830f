/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz format: a zip archive with one .npy for each array. */
#ifndef CLI_NPZ_H
#define CLI_NPZ_H

#include "npy.h"

/* Gives each array that the receiver wants to it, under the entry's name without ".npy". Of one
 * that it does not want nothing is unpacked, and of one that does not fit the header only. */
bool cli_npz_read(const cli_bytes *bytes, const char *name, const cli_receiver *receiver,
                  cli_failure *failure);
#endif
