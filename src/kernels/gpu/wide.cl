/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that warp groups of 128 work-items multiply from local memory (CUDA: wgmma, of
 * compute capability 9.0). Of convolutions whose x has neighbouring channels in chunks of 16 bytes.
 *
 * STAGES tiles of both matrices lie in local memory, copied as copied.cl's are. A row has 128 bytes, x's
 * 256 where two floats become a word of bf16. The chunks of row r are exchanged, c with c ^ r % 8, as
 * wide units read them.
 *
 * A group of items sums 64 rows of the left matrix (y's, so that an item has neighbours in memory along
 * the other side), of which LEFT_PARTS follow each other after 64 * GROUPS rows, by all rows of the right
 * one. Floats are rounded in registers, which x is taken to as the left matrix: to tf32, or in pairs to
 * bf16. Weights are rounded where they are packed, in the order in which PAIRED takes floats: those of
 * words c and c + 4 are a pair.
 *
 * Defined for it: what gpu_tile.c defines of tiles, LOADED (is x taken to registers?) and PAIRED. */
#define CHUNK       16
#define GROUP_ITEMS 128
#define GROUPS      (ITEMS / GROUP_ITEMS)
#define ROW_W       128
#define ROW_X       (TILE_K * (int)sizeof(TYPE_0))
#define LANES_W     (CHUNK / (int)sizeof(STAGED))
#define LANES_X     (CHUNK / (int)sizeof(TYPE_0))
#define CHUNKS_W    (ROW_W / CHUNK)
#define CHUNKS_X    (ROW_X / CHUNK)
#define BLOCK_W     (TILE_M * CHUNKS_W)
#define TAP_W       (CHANNELS / TILE_K * BLOCK_W)
#define COPIES_W    (BLOCK_W / ITEMS)
#define COPIES_X    (TILE_N * CHUNKS_X / ITEMS)
#define STAGE_SIZE  (BLOCK_W * CHUNK + TILE_N * ROW_X)
#define STEPS       4 /* in a row: 32 bytes each */

/* Row and column of an item's sum (i, j). */
#define WARP   (ITEM / 32)
#define LANE_8 (ITEM % 32 / 4)
#define LANE_4 (ITEM % 4)
#define LEFT_ROW(row)     ((row) / 2 * (64 * GROUPS) + WARP * 16 + (row) % 2 * 8 + LANE_8)
#define RIGHT_ROW(column) ((column) / 2 * 8 + LANE_4 * 2 + (column) % 2)
#define PART_SUMS         (RIGHT_ROWS / 2)
#define SUM_AT(row, column) \
    ((row) / 2 * PART_SUMS + (column) / 2 * 4 + (row) % 2 * 2 + (column) % 2)
#if Y_ALONG_M
#define LEFT_PARTS         (ITEM_N / 2)
#define RIGHT_ROWS         TILE_M
#define SUM_M(i)           RIGHT_ROW(i)
#define SUM_N(j)           LEFT_ROW(j)
#define SUM_OF(sum, i, j)  ((sum)[SUM_AT(j, i)])
#define LEFT_TILE          (BLOCK_W * CHUNK)
#define RIGHT_TILE         0
#else
#define LEFT_PARTS        (ITEM_M / 2)
#define RIGHT_ROWS        TILE_N
#define SUM_M(i)          LEFT_ROW(i)
#define SUM_N(j)          RIGHT_ROW(j)
#define SUM_OF(sum, i, j) ((sum)[SUM_AT(i, j)])
#define LEFT_TILE         0
#define RIGHT_TILE        (BLOCK_W * CHUNK)
#endif

/* Products of a stage that are not done when the next one's begin; tiles that are on their way. */
#define IN_FLIGHT (LOADED ? 0 : 1)
#define AHEAD     (STAGES - 1 - IN_FLIGHT)

WIDE_PRODUCTS(RIGHT_ROWS)

/* The term of an element of a packed row. */
FUNCTION int packed_term(int row, int at)
{
    const int k = ((at / LANES_W) ^ row % 8) * LANES_W + at % LANES_W;
    return PAIRED ? k / 16 * 16 + k % 16 / 8 * 8 + k % 8 / 2 + k % 2 * 4 : k;
}

/* A chunk of x, or zeros; `aligned`: its address is a multiple of CHUNK. */
FUNCTION void copy_chunk(TO_LOCAL uchar *to, uint address, GLOBAL const TYPE_0 *from, int inside,
                         int aligned)
{
    if (aligned) {
        copy_async(address, from, inside ? CHUNK : 0);
        return;
    }
    uint words[4] = {0, 0, 0, 0};
    UNROLL
    for (int i = 0; i < LANES_X; i++) {
        const TYPE_0 element = inside ? from[i] : (TYPE_0)0;
        words[i * 4 / LANES_X] |= (X_FLOATS ? f32_bits((float)element) : (uint)element) << i % (LANES_X / 4) * 16;
    }
    keep_chunk(to, words);
}

FUNCTION void copy_tiles(TO_LOCAL uchar *stage, GLOBAL const uint4 *weights, const INDEX *base,
                         const uint *inside, const cursor *c, int aligned)
{
    const int row = ITEM / CHUNKS_X; /* rows of an item are the same modulo 8 */
    const uint w = local_address(stage + ITEM * CHUNK);
    TO_LOCAL uchar *x = stage + BLOCK_W * CHUNK + row * ROW_X + (ITEM % CHUNKS_X ^ row % 8) * CHUNK;
    const uint x_address = local_address(x);
    UNROLL
    for (int l = 0; l < COPIES_W; l++) {
        copy_async(w + l * (ITEMS * CHUNK), weights + l * ITEMS, CHUNK);
    }
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        copy_chunk(x + l * (ITEMS * CHUNK), x_address + l * (ITEMS * CHUNK), c->x + base[l],
                   (inside[l] & c->tap) != 0, aligned);
    }
}

#if LOADED
/* A step's operands of x in registers: of 16 rows a warp, as fragments of matrix units. `row`: the row
 * that this item names of the part's. */
FUNCTION void load_step(uint *left, TO_LOCAL const uchar *row, int step)
{
    const int item = ITEM % 32, turn = item % 8, behind = item / 16;
#if PAIRED
    uint near[4], far[4];
    load_matrices(near, row + (step * 4 + behind ^ turn) * CHUNK);
    load_matrices(far, row + (step * 4 + 2 + behind ^ turn) * CHUNK);
    UNROLL
    for (int i = 0; i < 2; i++) {
        left[i] = bf16_pair(f32_of_bits(near[i]), f32_of_bits(near[i + 2]));
        left[i + 2] = bf16_pair(f32_of_bits(far[i]), f32_of_bits(far[i + 2]));
    }
#else
    load_matrices(left, row + (step * 2 + behind ^ turn) * CHUNK);
    UNROLL
    for (int i = 0; i < 4; i++) {
        left[i] = tf32_of(f32_of_bits(left[i]));
    }
#endif
}

FUNCTION void multiply_stage(float *sum, TO_LOCAL const uchar *stage, ulong right)
{
    uint left[LEFT_PARTS * STEPS * 4];
    UNROLL
    for (int part = 0; part < LEFT_PARTS; part++) {
        TO_LOCAL const uchar *row =
            stage + LEFT_TILE + (part * 64 * GROUPS + WARP * 16 + ITEM % 16) * ROW_X;
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            load_step(left + (part * STEPS + step) * 4, row, step);
        }
    }
    BEGIN_PRODUCTS
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        UNROLL
        for (int part = 0; part < LEFT_PARTS; part++) {
            multiply_wide(sum + part * PART_SUMS, left + (part * STEPS + step) * 4,
                          right + step * WIDE_STEP);
        }
    }
    END_PRODUCTS
}
#else
FUNCTION void multiply_stage(float *sum, TO_LOCAL const uchar *stage, ulong right)
{
    const ulong left = wide_rows(stage + LEFT_TILE + ITEM / GROUP_ITEMS * (64 * ROW_W));
    BEGIN_PRODUCTS
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        UNROLL
        for (int part = 0; part < LEFT_PARTS; part++) {
            multiply_wide(sum + part * PART_SUMS,
                          left + step * WIDE_STEP + part * (64 * GROUPS * ROW_W >> 4),
                          right + step * WIDE_STEP);
        }
    }
    END_PRODUCTS
}
#endif

/* Sums `tiles` tiles. While one is multiplied, AHEAD others are on their way. */
FUNCTION void sum_copied(float *sum, TO_LOCAL uchar *stages, GLOBAL const uint4 *weights,
                         const INDEX *base, const uint *inside, cursor c, int tiles, int aligned)
{
    UNROLL
    for (int stage = 0; stage < AHEAD; stage++) {
        if (stage < tiles) {
            copy_tiles(stages + stage * STAGE_SIZE, weights, base, inside, &c, aligned);
            advance(&c);
            weights += BLOCK_W + c.skipped * TAP_W;
        }
        COMMIT_COPIES
    }
    int at = 0, next = AHEAD * STAGE_SIZE;
    ROLLED
    for (int left = tiles; left > 0; left--) {
        WAIT_COPIES(AHEAD - 1)
        SHOW_COPIES
        BARRIER;
        multiply_stage(sum, stages + at, wide_rows(stages + at + RIGHT_TILE));
        if (left > AHEAD) {
            copy_tiles(stages + next, weights, base, inside, &c, aligned);
            advance(&c);
            weights += BLOCK_W + c.skipped * TAP_W;
        }
        COMMIT_COPIES
        WAIT_PRODUCTS(IN_FLIGHT)
        at = at == (STAGES - 1) * STAGE_SIZE ? 0 : at + STAGE_SIZE;
        next = next == (STAGES - 1) * STAGE_SIZE ? 0 : next + STAGE_SIZE;
    }
    WAIT_PRODUCTS(0)
}

/* Packs the weights, zeros beyond the last row and term. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM, block = at / (TILE_K * TILE_M);
    const int side = (int)(at / TILE_K % TILE_M),
              row = (int)(block % PACKED_BLOCKS) * TILE_K + packed_term(side, (int)(at % TILE_K)),
              m = (int)(block / PACKED_BLOCKS % TILES_M) * TILE_M + side,
              group = (int)(block / (PACKED_BLOCKS * TILES_M)), channel = row % CHANNELS,
              tap = row / CHANNELS;
    if (group < BATCHES) {
        const INDEX from = (INDEX)group * W_GROUP + (INDEX)m * W_OUT + (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        const int there = m < ROWS && tap < WINDOW;
        PACKED(STAGED)[at] = there ? W_ELEMENT(IN(TYPE_1, 1), from, channel) : (STAGED)0;
    }
}

KERNEL(run)(ARGUMENTS)
{
    TO_LOCAL uchar *room = given_room();
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), tiles = (END_TERM(t) - begin + TILE_K - 1) / TILE_K;
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    const cursor c = cursor_at(begin + ITEM % CHUNKS_X * LANES_X, t, x);
    const INDEX panel = (INDEX)t.batch * TILES_M + t.m / TILE_M,
                block = panel * PACKED_BLOCKS + weights_of(begin, t) / TILE_K;
    GLOBAL const uint4 *weights = (GLOBAL const uint4 *)PACKED(STAGED) + block * BLOCK_W + ITEM;
    float sum[ITEM_M * ITEM_N];
    INDEX base[COPIES_X];
    uint inside[COPIES_X];
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        find_column(t.n + (ITEM + l * ITEMS) / CHUNKS_X, t, &base[l], &inside[l]);
    }
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0;
    }
    if ((ulong)x % CHUNK == 0) {
        sum_copied(sum, room, weights, base, inside, c, tiles, 1);
    } else {
        sum_copied(sum, room, weights, base, inside, c, tiles, 0);
    }
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        take_product(&sum[l]);
    }
    END_SUMS(sum)
}
