/* SPDX-License-Identifier: Apache-2.0 */
/* The items of a group as rows of LANES, a power of two, each of which sums for itself: put before
 * texts that are compiled for GROUP_ITEMS. */
#define LANE       (ITEM % LANES)
#define ROW        (ITEM / LANES)
#define GROUP_ROWS (GROUP_ITEMS / LANES)

/* What the items of a lane have, together. */
FUNCTION float sum_of_lane(float mine, TO_LOCAL float *room)
{
    room[ITEM] = mine;
    BARRIER;
    for (int span = GROUP_ITEMS / 2; span >= LANES; span /= 2) {
        if (ITEM < span) {
            room[ITEM] += room[ITEM + span];
        }
        BARRIER;
    }
    const float all = room[LANE];
    BARRIER;
    return all;
}
