/* SPDX-License-Identifier: Apache-2.0 */
/* Notes illegal content of an input (kernels/fault.h): put before texts that read indices. */

/* ry_fault, as words: the lower half of a number comes first; found[1] stays 0. */
typedef struct {
    uint32_t found[2], value[2], least[2], most[2];
    uint32_t input, axis, busy;
} fault_record;

FUNCTION uint32_t note_long(volatile GLOBAL uint32_t *word, int64_t value)
{
    return ATOMIC_SWAP(word, (uint32_t)(uint64_t)value) |
           ATOMIC_SWAP(word + 1, (uint32_t)((uint64_t)value >> 32));
}

/* Notes number `found` - 1 of the input, below 2^32 - 1; the first one stays. `busy` is the lock of
 * the record, whose words are read and written by atomics alone. An item that has the lock gives it
 * back in the same turn of the loop: items of a wave may wait for each other. It does so with a
 * number (0) made of all that its writes returned, so they are done before. A fence would do, but
 * ends the items of a wave on Mesa's rusticl 22.3. */
FUNCTION void note_fault(GLOBAL fault_record *to, uint32_t found, int64_t value, int64_t least,
                         int64_t most, int input, int axis)
{
    volatile GLOBAL fault_record *fault = to;
    const uint32_t zero = ATOMIC_LOAD(&fault->found[1]);
    /* 0, nothing yet, is above all */
    for (int done = ATOMIC_LOAD(&fault->found[0]) - 1u <= found - 1u; !done;) {
        if (COMPARE_SWAP(&fault->busy, 0u, 1u) == 0u) {
            uint32_t old = 0;
            if (found - 1u < ATOMIC_LOAD(&fault->found[0]) - 1u) {
                old = note_long(fault->value, value) | note_long(fault->least, least) |
                      note_long(fault->most, most);
                old |= ATOMIC_SWAP(&fault->input, (uint32_t)input);
                old |= ATOMIC_SWAP(&fault->axis, (uint32_t)axis);
                old |= ATOMIC_SWAP(&fault->found[0], found);
            }
            ATOMIC_SWAP(&fault->busy, old & zero);
            done = 1;
        }
    }
}
