/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements and gather_nd: a work-item moves one unit, which is an element or some
 * neighbours. Items that are neighbours write neighbouring memory.
 *
 * Defined for it: gpu_gather.c's numbers; fault.cl; for unit i the offsets y_at(i), x_at(i), of
 * what no index chooses, index_at(i), and order_at(i), the index's number in row-major order;
 * COMPONENTS, CHOOSE(k, extent, stride) for each of an index. */

/* A legal index as it is or counted from the end; an illegal one is noted, and 0. */
FUNCTION INDEX chosen(INDEX_TYPE given, int64_t extent, INDEX number, int axis,
                      GLOBAL fault_record *fault)
{
    const int64_t value = (int64_t)given;
    const int64_t place = value < 0 && INDEX_COUNTS_BACK ? value + extent : value;
    if ((uint64_t)place < (uint64_t)extent) {
        return (INDEX)place;
    }
    note_fault(fault, (uint64_t)number + 1, value, -extent, extent - 1, 1, axis);
    return 0;
}

#define CHOOSE(k, extent, stride)                                                            \
    from += chosen(index[(k) * COMPONENT_STRIDE], extent, order_at(i) + (k), AXIS + (k),     \
                   FAULT(fault_record)) *                                                    \
            (INDEX)(stride);

KERNEL(run)(ARGUMENTS)
{
    const INDEX i = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (i < UNITS) {
        GLOBAL const INDEX_TYPE *index = IN(INDEX_TYPE, 1) + index_at(i);
        INDEX from = x_at(i);
        COMPONENTS
        OUT(UNIT, 0)[y_at(i)] = IN(UNIT, 0)[from];
    }
}
