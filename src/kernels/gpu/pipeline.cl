/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of copied tiles: while one tile is multiplied, STAGES - 1 are on their way. Behind copied.cl and
 * a text that defines a copier: BEGIN_COPIES(t, begin) declares it as `c`, ALIGNED_COPIES says whether all of its
 * addresses are multiples of 16 bytes, and copy_tiles begins to copy the next tiles. */
FUNCTION void sum_copied(SUM *sum, TO_LOCAL uint4 *room, copier *c, int tiles, int aligned)
{
    TO_LOCAL uchar *stages = (TO_LOCAL uchar *)room;
    const uint address = local_address(room);
    int w_place[PLACES], x_place[PLACES], at = 0;
    find_places(w_place, 0);
    find_places(x_place, 1);
    UNROLL
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < tiles) {
            const int place = stage * STAGE_SIZE;
            const target to = {stages + place, address + (uint)place, aligned};
            copy_tiles(to, c);
        }
        COMMIT_COPIES
    }
    int next = (STAGES - 1) * STAGE_SIZE;
    ROLLED
    for (int left = tiles; left > 0; left--) {
        WAIT_COPIES(STAGES - 2)
        BARRIER;
        if (left >= STAGES) {
            const target to = {stages + next, address + (uint)next, aligned};
            copy_tiles(to, c);
        }
        COMMIT_COPIES
        multiply_stage(sum, stages + at, w_place, x_place);
        next = at;
        at = at == (STAGES - 1) * STAGE_SIZE ? 0 : at + STAGE_SIZE;
    }
}

KERNEL(run)(ARGUMENTS)
{
    LOCAL uint4 room[STAGES * STAGE_SIZE / CHUNK];
    SUM_ROW_IN((TO_LOCAL float *)room)
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), tiles = (END_TERM(t) - begin + TILE_K - 1) / TILE_K;
    SUM sum[ITEM_M * ITEM_N];
    BEGIN_COPIES(t, begin)
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0;
    }
    if (ALIGNED_COPIES) {
        sum_copied(sum, room, &c, tiles, 1);
    } else {
        sum_copied(sum, room, &c, tiles, 0);
    }
    END_SUMS(sum)
}
