/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a kernel's row in the table that the build made. */
#include "kernels/kernel_source.h"

#include <assert.h>
#include <string.h>

uint64_t ry_kernel_source(const ry_kernel *kernel)
{
    const char *slash = strrchr(kernel->file, '/'), *name = slash ? slash + 1 : kernel->file;
    size_t low = 0, high = ry_source_row_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(name, ry_source_rows[middle].file);
        if (order == 0) {
            return ry_source_rows[middle].hash;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    assert(!"a file with a row of a kernel that cmake/kernel_sources.cmake does not find");
    return 1;
}
