/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one element type as sums and back (each_type.h), for resize_isa.c. */

static void LANE(load)(void *restrict sums, const void *restrict elements, int64_t n)
{
    const ELEMENT *x = elements;
    SUM *y = sums;
    for (int64_t i = 0; i < n; i++) {
        y[i] = LOAD(x[i]);
    }
}

static void LANE(store)(void *restrict elements, const void *restrict sums, int64_t n)
{
    const SUM *x = sums;
    ELEMENT *y = elements;
    for (int64_t i = 0; i < n; i++) {
        y[i] = STORE(x[i]);
    }
}

#undef LANE
#undef ELEMENT
#undef SUM
#undef LOAD
#undef LOAD_ONE
#undef STORE
