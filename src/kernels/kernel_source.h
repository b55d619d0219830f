/* SPDX-License-Identifier: Apache-2.0 */
/* Hash of a kernel's source. Measurements are valid for this source only. */
#ifndef RY_KERNELS_KERNEL_SOURCE_H
#define RY_KERNELS_KERNEL_SOURCE_H

#include "kernels/kernel.h"

/* A hash of the texts of the kernel's method and of what they include, of the compiler and of the
 * kind of build (cmake/kernel_sources.cmake): a change of another method leaves it as it is. Never
 * 0. */
uint64_t ry_kernel_source(const ry_kernel *kernel);

/* Made by the build: a row for each file with rows of kernels, sorted by name. */
typedef struct ry_source_row {
    const char *file;
    uint64_t hash;
} ry_source_row;
extern const ry_source_row ry_source_rows[];
extern const size_t ry_source_row_count;

#endif
