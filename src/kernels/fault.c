/* SPDX-License-Identifier: Apache-2.0 */
/* Noting a fault, and telling of it. */
#include "kernels/fault.h"

#include <inttypes.h>
#include <stdio.h>

/* The compilers' atomic builtins: the record's members stay plain numbers. A thread walks its
 * numbers upwards, so it takes the lock once or twice, whatever it finds. */
void ry_fault_note(ry_fault *fault, const ry_fault *bad)
{
    if (!fault || __atomic_load_n(&fault->found, __ATOMIC_RELAXED) - 1 <= bad->found - 1) {
        return;
    }
    while (__atomic_exchange_n(&fault->busy, 1, __ATOMIC_ACQUIRE)) {
    }
    if (bad->found - 1 < fault->found - 1) { /* 0, nothing yet, is above all */
        fault->value = bad->value;
        fault->least = bad->least;
        fault->most = bad->most;
        fault->input = bad->input;
        fault->axis = bad->axis;
        __atomic_store_n(&fault->found, bad->found, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&fault->busy, 0, __ATOMIC_RELEASE);
}

/* ", at [0, 2]"; "" for a scalar. */
static void print_position(const ry_tensor *tensor, uint64_t position, char *text, size_t size)
{
    int64_t index[RY_MAX_RANK];
    for (int i = tensor->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(position % (uint64_t)tensor->dim[i]);
        position /= (uint64_t)tensor->dim[i];
    }
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < tensor->rank && used < size; i++) {
        int written =
            snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : ", at [", index[i]);
        used += written > 0 ? (size_t)written : 0;
    }
    if (tensor->rank > 0 && used < size) {
        snprintf(text + used, size - used, "]");
    }
}

rynd_status ry_fault_check(const ry_fault *fault, const ry_problem *problem, ry_error *error)
{
    if (fault->found == 0) {
        return RYND_OK;
    }
    const ry_tensor *input = &problem->in[fault->input];
    char position[24 * RY_MAX_RANK], value[24], axis[48] = "";
    print_position(input, fault->found - 1, position, sizeof position);
    if (input->dtype == RYND_DTYPE_U64) {
        snprintf(value, sizeof value, "%" PRIu64, (uint64_t)fault->value);
    } else {
        snprintf(value, sizeof value, "%" PRId64, fault->value);
    }
    if (fault->axis >= 0) {
        snprintf(axis, sizeof axis, " (axis %d of input 0)", (int)fault->axis);
    }
    return ry_fail(error, RYND_ERROR_SHAPE,
                   "input %d%s, is %s, expected %" PRId64 " to %" PRId64 "%s", (int)fault->input,
                   position, value, fault->least, fault->most, axis);
}
