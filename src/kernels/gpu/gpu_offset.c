/* SPDX-License-Identifier: Apache-2.0 */
/* Writes offsets of elements for texts of GPUs. */
#include "kernels/gpu/gpu_offset.h"

#include <inttypes.h>

void ry_gpu_dims_add(ry_gpu_dims *dims, int64_t dim, int64_t stride)
{
    const int last = dims->rank - 1;
    if (dim <= 1) { /* nobody asks for an element of none */
        return;
    }
    if (last >= 0 && dims->stride[last] == dim * stride) {
        dims->dim[last] *= dim;
        dims->stride[last] = stride;
        return;
    }
    dims->dim[dims->rank] = dim;
    dims->stride[dims->rank++] = stride;
}

void ry_gpu_define_offset(ry_text *text, const char *name, const ry_gpu_dims *dims)
{
    ry_text_add(text, "FUNCTION INDEX %s(INDEX i)\n{\n    INDEX at = 0;\n", name);
    for (int d = dims->rank - 1; d >= 0; d--) {
        if (d > 0) {
            ry_text_add(text, "    at += i %% %" PRId64 " * (INDEX)(%" PRId64 ");\n", dims->dim[d],
                        dims->stride[d]);
            ry_text_add(text, "    i /= %" PRId64 ";\n", dims->dim[d]);
        } else {
            ry_text_add(text, "    at += i * (INDEX)(%" PRId64 ");\n", dims->stride[d]);
        }
    }
    ry_text_add(text, "    return at;\n}\n");
}
