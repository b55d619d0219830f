/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements and gather_nd: a work-item moves one unit, which is an element or some
 * neighbours. Items that are neighbours write neighbouring memory.
 *
 * Defined for it: gpu_gather.c's numbers; fault.cl; for unit i the offsets y_at(i), x_at(i) of the
 * dims that no index chooses, index_at(i), and order_at(i), the index's number in row-major order;
 * COMPONENTS, which is CHOOSE(k, first, last, extent, stride) for each component of an index. */

/* Returns the place that an index names; negative ones count from the end. An index outside `first`
 * to `last` is noted, and gives 0. Indices are compared in COMPARED_TYPE, which never widens an
 * int: Mesa's rusticl 22.3 computes (long)i < 0 as false. */
FUNCTION INDEX chosen(COMPARED_TYPE given, COMPARED_TYPE first, COMPARED_TYPE last, int64_t extent,
                      INDEX number, int axis, GLOBAL fault_record *fault)
{
    if (given >= first && given <= last) {
#if COUNTS_BACK
        return given < 0 ? (INDEX)((int64_t)given + extent) : (INDEX)given;
#else
        return (INDEX)given;
#endif
    }
    note_fault(fault, (uint32_t)number + 1u, (int64_t)given, -extent, extent - 1, 1, axis);
    return 0;
}

#define CHOOSE(k, first, last, extent, stride)                                                \
    from += chosen((COMPARED_TYPE)index[(k) * COMPONENT_STRIDE], (COMPARED_TYPE)(first),      \
                   (COMPARED_TYPE)(last), extent, order_at(i) + (k), AXIS + (k),              \
                   FAULT(fault_record)) *                                                     \
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
