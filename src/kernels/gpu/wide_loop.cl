/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of wide tiles, behind wide.cl and a text that defines a copier as pipeline.cl wants it. */

/* Products of a stage that are not done when the next one's begin; tiles that are on their way. */
#define IN_FLIGHT (LOADED ? 0 : 1)
#define AHEAD     (STAGES - 1 - IN_FLIGHT)

/* Behind the stages lies a barrier for each, at which its weights arrive. */
#define BARRIER_SIZE 8

FUNCTION target target_of(TO_LOCAL uchar *stages, uint address, int stage, int aligned)
{
    const int place = stage * STAGE_SIZE, column = COPY_COLUMN(0),
              x = BLOCK_W * CHUNK + column * ROW_X + (ITEM % CHUNKS_X ^ column % 8) * CHUNK;
    target to;
    to.x = stages + place + x;
    to.x_address = address + (uint)(place + x);
    to.w_address = address + (uint)place;
    to.barrier = address + (uint)(STAGES * STAGE_SIZE + stage * BARRIER_SIZE);
    to.aligned = aligned;
    return to;
}

/* Sums `tiles` tiles. While one is multiplied, AHEAD others are on their way. */
FUNCTION void sum_copied(SUM *sum, TO_LOCAL uchar *stages, copier *c, int tiles, int aligned)
{
    const uint address = local_address(stages);
    UNROLL
    for (int stage = 0; stage < AHEAD; stage++) {
        if (stage < tiles) {
            copy_tiles(target_of(stages, address, stage, aligned), c);
        }
        COMMIT_COPIES
    }
    int at = 0, next = AHEAD;
    uint turn = 0; /* the barriers': 0 and 1 */
    ROLLED
    for (int left = tiles; left > 0; left--) {
        WAIT_COPIES(AHEAD - 1)
        SHOW_COPIES
        BARRIER;
        wait_for_bytes(address + (uint)(STAGES * STAGE_SIZE + at * BARRIER_SIZE), turn);
        TO_LOCAL uchar *stage = stages + at * STAGE_SIZE;
        multiply_stage(sum, stage, wide_rows(stage + RIGHT_TILE));
        if (left > AHEAD) {
            copy_tiles(target_of(stages, address, next, aligned), c);
        }
        COMMIT_COPIES
        WAIT_PRODUCTS(IN_FLIGHT)
        turn ^= at == STAGES - 1;
        at = at == STAGES - 1 ? 0 : at + 1;
        next = next == STAGES - 1 ? 0 : next + 1;
    }
    WAIT_PRODUCTS(0)
}

KERNEL(run)(ARGUMENTS)
{
    TO_LOCAL uchar *room = given_room();
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), tiles = (END_TERM(t) - begin + TILE_K - 1) / TILE_K;
    if (ITEM == 0) { /* others wait at the barriers behind the loop's first BARRIER */
        UNROLL
        for (int stage = 0; stage < STAGES; stage++) {
            begin_barrier(local_address(room) + STAGES * STAGE_SIZE + stage * BARRIER_SIZE);
        }
        SHOW_COPIES
    }
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
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        take_product(&sum[l]);
    }
    END_SUMS(sum)
}
