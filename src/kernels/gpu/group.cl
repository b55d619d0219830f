/* SPDX-License-Identifier: Apache-2.0 */
/* What the items of a group have, together: put before texts that are compiled for GROUP_ITEMS, a
 * power of two. */

/* `own` and `other` become one. */
#define OF_GROUP(name, one)                                     \
    FUNCTION float name(float mine, TO_LOCAL float *room)       \
    {                                                           \
        room[ITEM] = mine;                                      \
        BARRIER;                                                \
        for (int span = GROUP_ITEMS / 2; span > 0; span /= 2) { \
            if (ITEM < span) {                                  \
                const float own = room[ITEM];                   \
                const float other = room[ITEM + span];          \
                room[ITEM] = (one);                             \
            }                                                   \
            BARRIER;                                            \
        }                                                       \
        const float all = room[0];                              \
        BARRIER;                                                \
        return all;                                             \
    }

OF_GROUP(sum_of_group, own + other)
/* a NaN is above all */
OF_GROUP(max_of_group, other > own || other != other ? other : own)
