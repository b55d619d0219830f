/* SPDX-License-Identifier: Apache-2.0 */
/* Noting what is illegal in the content of an input (kernels/fault.h): put before texts that read
 * indices. */

/* ry_fault */
typedef struct {
    uint64_t found;
    int64_t value, least, most;
    int32_t input, axis;
    uint32_t busy;
} fault_record;

/* Number `found` - 1 of the input. The first one stays. A wave's items may wait for each other, so
 * that who has the lock gives it back in the same turn of the loop. */
FUNCTION void note_fault(GLOBAL fault_record *to, uint64_t found, int64_t value, int64_t least,
                         int64_t most, int input, int axis)
{
    volatile GLOBAL fault_record *fault = to;
    for (int done = fault->found - 1 <= found - 1; !done;) {
        if (COMPARE_SWAP(&fault->busy, 0u, 1u) == 0u) {
            FENCE;
            if (found - 1 < fault->found - 1) { /* 0, nothing yet, is above all */
                fault->value = value;
                fault->least = least;
                fault->most = most;
                fault->input = input;
                fault->axis = axis;
                fault->found = found;
            }
            FENCE;
            COMPARE_SWAP(&fault->busy, 1u, 0u);
            done = 1;
        }
    }
}
