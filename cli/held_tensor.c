/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates, copies, converts and summarises tensors. */
#include "held_tensor.h"

#include "wording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

void cli_tensor_free(cli_tensor *tensor)
{
    free(tensor->memory);
    free(tensor->name);
    *tensor = (cli_tensor){0};
}

int64_t cli_shape_bytes(int rank, const int64_t *dim, size_t size)
{
    int64_t bytes = (int64_t)size;
    bool empty = false, overflow = false;
    for (int i = 0; i < rank; i++) {
        empty = empty || dim[i] == 0;
        overflow = overflow || __builtin_mul_overflow(bytes, dim[i], &bytes);
    }
    return empty ? 0 : overflow ? -1 : bytes;
}

bool cli_tensor_make(cli_tensor *tensor, rynd_dtype dtype, int rank, const int64_t *dim,
                     cli_failure *failure)
{
    *tensor = (cli_tensor){0};
    int64_t bytes = rank > RYND_MAX_RANK ? -1 : cli_shape_bytes(rank, dim, rynd_dtype_size(dtype));
    if (bytes < 0 || bytes > INT64_MAX - ALIGNMENT) {
        return cli_fail(failure, "a tensor of rank %d is too large for memory", rank);
    }
    size_t room = ((size_t)bytes / ALIGNMENT + 1) * ALIGNMENT;
    tensor->memory = aligned_alloc(ALIGNMENT, room);
    if (!tensor->memory) {
        return cli_fail(failure, "out of memory for a tensor of %s",
                        cli_word_bytes((double)bytes).text);
    }
    memset(tensor->memory, 0, room);
    tensor->view = rynd_tensor_of(tensor->memory, dtype, rank, dim);
    return true;
}

bool cli_is_row_major(const rynd_tensor *tensor)
{
    int64_t expected = 1;
    if (rynd_tensor_elements(tensor) == 0) {
        return true; /* and its other dims may be of any size */
    }
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->dim[i] != 1 && tensor->stride[i] != expected) {
            return false;
        }
        expected *= tensor->dim[i];
    }
    return true;
}

cli_walk cli_walk_begin(const rynd_tensor *tensor)
{
    return (cli_walk){.left = rynd_tensor_elements(tensor)};
}

void cli_walk_next(cli_walk *walk, const rynd_tensor *tensor)
{
    walk->left--;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        walk->offset += tensor->stride[i];
        if (++walk->index[i] < tensor->dim[i]) {
            return;
        }
        walk->offset -= tensor->stride[i] * tensor->dim[i];
        walk->index[i] = 0;
    }
}

bool cli_tensor_copy_of(const rynd_tensor *from, cli_tensor *copy, cli_failure *failure)
{
    if (!cli_tensor_make(copy, from->dtype, from->rank, from->dim, failure)) {
        return false;
    }
    size_t size = rynd_dtype_size(from->dtype);
    char *to = copy->view.data;
    if (cli_is_row_major(from) && rynd_tensor_elements(from) > 0) {
        memcpy(to, from->data, (size_t)rynd_tensor_elements(from) * size);
        return true;
    }
    for (cli_walk w = cli_walk_begin(from); w.left > 0; cli_walk_next(&w, from), to += size) {
        memcpy(to, (const char *)from->data + w.offset * (int64_t)size, size);
    }
    return true;
}

static bool fail_value(const rynd_tensor *from, const cli_walk *walk, cli_number value,
                       rynd_dtype dtype, cli_failure *failure)
{
    rynd_tensor place = {.rank = from->rank};
    memcpy(place.dim, walk->index, sizeof place.dim);
    return cli_fail(failure, "value %.17Lg at %s does not fit dtype %s", value,
                    cli_shape_of_tensor(&place).text, rynd_dtype_name(dtype));
}

bool cli_tensor_convert(cli_tensor *tensor, rynd_dtype dtype, cli_conversion *done,
                        cli_failure *failure)
{
    const rynd_tensor *from = &tensor->view;
    *done = CLI_CONVERSION_NONE;
    if (from->dtype == dtype) {
        return true;
    }
    cli_tensor to;
    if (!cli_tensor_make(&to, dtype, from->rank, from->dim, failure)) {
        return false;
    }
    bool floats = cli_dtype_is_float(from->dtype) && cli_dtype_is_float(dtype);
    *done = CLI_CONVERSION_EXACT;
    int64_t position = 0;
    for (cli_walk w = cli_walk_begin(from); w.left > 0; cli_walk_next(&w, from), position++) {
        cli_number value = cli_element_get(from->dtype, from->data, w.offset);
        cli_element_set(dtype, to.view.data, position, value);
        cli_number stored = cli_element_get(dtype, to.view.data, position);
        bool same = stored == value || (floats && isnan(value));
        if (!same && (!floats || isinf(stored))) {
            fail_value(from, &w, value, dtype, failure);
            cli_tensor_free(&to);
            return false;
        }
        *done = same ? *done : CLI_CONVERSION_ROUNDED;
    }
    to.name = tensor->name;
    tensor->name = NULL;
    cli_tensor_free(tensor);
    *tensor = to;
    return true;
}

cli_summary cli_tensor_summary(const rynd_tensor *tensor)
{
    cli_summary s = {.min = NAN, .mean = NAN, .max = NAN};
    double sum = 0;
    int64_t finite = 0;
    for (cli_walk w = cli_walk_begin(tensor); w.left > 0; cli_walk_next(&w, tensor)) {
        double value = tensor->dtype == RYND_DTYPE_F32
                           ? (double)((const float *)tensor->data)[w.offset]
                           : (double)cli_element_get(tensor->dtype, tensor->data, w.offset);
        s.nans += isnan(value);
        s.infinities += isinf(value);
        if (isfinite(value)) {
            s.min = finite == 0 || value < s.min ? value : s.min;
            s.max = finite == 0 || value > s.max ? value : s.max;
            sum += value;
            finite++;
        }
    }
    if (finite > 0) {
        s.mean = sum / (double)finite;
    }
    return s;
}
