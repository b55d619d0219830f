/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the elements of each row. */
#include "top_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const cli_top_value *x = a, *y = b;
    double u = isnan(x->value) ? -INFINITY : x->value, v = isnan(y->value) ? -INFINITY : y->value;
    return u != v ? (u < v) - (u > v) : (x->index > y->index) - (x->index < y->index);
}

bool cli_top_values_make(cli_top_values *values, const rynd_tensor *tensor, int64_t top,
                         cli_failure *failure)
{
    int64_t count = rynd_tensor_elements(tensor);
    *values = (cli_top_values){.rows = tensor->rank >= 2 ? tensor->dim[0] : 1};
    values->row = values->rows ? count / values->rows : 0;
    values->top = top < values->row ? top : values->row;
    values->items = calloc((size_t)(values->rows * values->top) + 1, sizeof *values->items);
    cli_top_value *all = calloc((size_t)values->row + 1, sizeof *all);
    if (!values->items || !all) {
        free(all);
        cli_top_values_free(values);
        return cli_fail_memory(failure);
    }
    cli_walk walk = cli_walk_begin(tensor);
    for (int64_t r = 0; r < values->rows && values->top > 0; r++) {
        for (int64_t i = 0; i < values->row; i++, cli_walk_next(&walk, tensor)) {
            all[i] = (cli_top_value){
                i, (double)cli_element_get(tensor->dtype, tensor->data, walk.offset)};
        }
        qsort(all, (size_t)values->row, sizeof *all, compare);
        memcpy(values->items + r * values->top, all, (size_t)values->top * sizeof *all);
    }
    free(all);
    return true;
}

void cli_top_values_free(cli_top_values *values)
{
    free(values->items);
    values->items = NULL;
}
