/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that the device copies to local memory while matrix units multiply others (CUDA: cp.async,
 * ldmatrix). Of convolutions whose x has neighbouring channels in chunks of 16 bytes.
 *
 * STAGES tiles of both matrices lie in local memory. A row of w or x has TILE_K terms. Its chunks are
 * turned by its number, so that the same chunk of eight rows lies in all banks. An item copies one chunk
 * of COPIES_X rows: where they begin and which taps read inside x is known before the loop. Past a tap's
 * channels the item steps to the next tap: nothing is divided.
 *
 * Weights are packed as the tiles lie in local memory. The terms of a row are in the order in which
 * LOADED_PAIRS takes floats: one of words c and c + 4 is a pair.
 *
 * Defined for it: what gpu_tile.c defines of tiles and LOADED_X, how a kept x becomes an operand. */
#define LOADED_AS_KEPT 0 /* kept as it is multiplied */
#define LOADED_ROUNDED 1 /* floats, rounded to tf32 */
#define LOADED_PAIRS   2 /* floats, two of them a word of bf16 */
#define LOADED_SPLIT   3 /* floats, as the sum of two of tf32: three products, in floats' accuracy */

/* Elements of x in a term, what they are outside, whether a chunk of those is copied, and how units
 * multiply: bytes of w are signed. */
#if QUADS
#define TERM_X  4
#define OUTSIDE ((TYPE_0)X_ZERO)
#define FILLED  (X_ZERO != 0)
#if Y_ALONG_M
#define MULTIPLY_WORDS multiply_u8_s8
#else
#define MULTIPLY_WORDS multiply_s8_u8
#endif
#else
#define TERM_X         1
#define OUTSIDE        ((TYPE_0)0)
#define FILLED         0
#define MULTIPLY_WORDS MULTIPLY_UNITS
#endif

#define CHUNK      16
#define LANES_W    (CHUNK / (int)sizeof(STAGED))
#define LANES_X    (CHUNK / (int)sizeof(TYPE_0) / TERM_X)
#define CHUNKS_W   (TILE_K / LANES_W)
#define CHUNKS_X   (TILE_K / LANES_X)
#define COPIES_W   (TILE_M * CHUNKS_W / ITEMS)
#define COPIES_X   (TILE_N * CHUNKS_X / ITEMS)
#define BLOCK_W    (TILE_M * CHUNKS_W)
#define TAP_W      (CHANNELS / TILE_K * BLOCK_W)
#define STAGE_SIZE ((BLOCK_W + TILE_N * CHUNKS_X) * CHUNK)

/* By how much a row's chunks are turned. */
#define TURN(row, chunks) ((row) / (8 / (chunks)) % (chunks))

/* The term of an element of a packed row. */
FUNCTION int packed_term(int row, int at)
{
    const int k = ((at / LANES_W) ^ TURN(row, CHUNKS_W)) * LANES_W + at % LANES_W;
    return LOADED_X == LOADED_PAIRS ? k / 16 * 16 + k % 16 / 8 * 8 + k % 8 / 2 + k % 2 * 4 : k;
}

/* A chunk of x, or what is outside; `aligned`: its address is a multiple of CHUNK. */
FUNCTION void copy_chunk(TO_LOCAL uchar *to, GLOBAL const TYPE_0 *from, const cursor *c, int inside,
                         int aligned)
{
    if (aligned && FILLED) {
        copy_async(to, inside ? from : c->outside, CHUNK);
        return;
    }
    if (aligned) {
        copy_async(to, from, inside ? CHUNK : 0);
        return;
    }
    ROLLED
    for (int i = 0; i < LANES_X * TERM_X; i++) {
        ((TO_LOCAL TYPE_0 *)to)[i] = inside ? from[i] : OUTSIDE;
    }
}

FUNCTION void copy_tiles(TO_LOCAL uchar *stage, GLOBAL const uint4 *weights, const INDEX *base,
                         const uint *inside, const cursor *c, int aligned)
{
    const int row = ITEM / CHUNKS_X;
    TO_LOCAL uchar *w = stage + ITEM * CHUNK, *x = stage + (BLOCK_W + row * CHUNKS_X) * CHUNK;
    UNROLL
    for (int l = 0; l < COPIES_W; l++) {
        copy_async(w + l * (ITEMS * CHUNK), weights + l * ITEMS, CHUNK);
    }
    UNROLL
    for (int l = 0; l < COPIES_X; l++) {
        /* rows turn alike every 8 */
        const int turn = TURN(row + ITEMS / CHUNKS_X * l % 8, CHUNKS_X);
        copy_chunk(x + (ITEM % CHUNKS_X ^ turn) * CHUNK + l * (ITEMS * CHUNK), c->x + base[l], c,
                   (inside[l] & c->tap) != 0, aligned);
    }
}

/* Row and column of an item's sum (i, j), and the first ones of what 32 items sum together, in PARTS of
 * 16. A unit has 16 by 8 sums, an item two neighbours in two of its rows. Units' rows are columns of
 * the tile where rows of y are beside each other, so that an item has neighbours in memory. */
#define LANE_8 (ITEM % 32 / 4)
#define LANE_4 (ITEM % 4)
#if Y_ALONG_M
#define UNITS            (TILE_N / ITEM_N / 8)
#define PARTS_M          (ITEM_M / 4)
#define PARTS_N          (ITEM_N / 2)
#define PART_M           (ITEM / 32 / UNITS * (ITEM_M * 4))
#define PART_N           (ITEM / 32 % UNITS * (ITEM_N * 8))
#define SUM_M(i)         (PART_M + (i) / 2 * 8 + LANE_4 * 2 + (i) % 2)
#define SUM_N(j)         (PART_N + (j) * 8 + LANE_8)
#define SUM_OF(sum, i, j) ((sum)[(j) * ITEM_M + (i)])
#else
#define UNITS    (TILE_M / ITEM_M / 8)
#define PARTS_M  (ITEM_M / 2)
#define PARTS_N  (ITEM_N / 4)
#define PART_M   (ITEM / 32 % UNITS * (ITEM_M * 8))
#define PART_N   (ITEM / 32 / UNITS * (ITEM_N * 4))
#define SUM_M(i) (PART_M + (i) * 8 + LANE_8)
#define SUM_N(j) (PART_N + (j) / 2 * 8 + LANE_4 * 2 + (j) % 2)
#define SUM_OF(sum, i, j) ((sum)[(i) * ITEM_N + (j)])
#endif
#define MOST_PARTS (PARTS_M > PARTS_N ? PARTS_M : PARTS_N)
#define STEPS      (TILE_K / PAIR / 8)

/* Where an item finds the operands of a step in a tile, the first of its part's rows being 0. A part of
 * units' rows lies in a word's fragments as four matrices of 8 rows and 4 words: those 8 rows below come
 * second. A part of their columns is two operands: the words 4 behind come second. */
FUNCTION int place_of(int step, int chunks, int floats, int columns)
{
    const int item = ITEM % 32, row = columns ? item / 16 * 8 + item % 8 : item % 16,
              behind = columns ? item / 8 % 2 : item / 16;
    return (row * chunks + ((step * (floats ? 4 : 2) + behind) ^ TURN(row, chunks))) * CHUNK;
}

/* The operands of a part, of floats that are rounded where they lie so; of pairs with the place of the
 * words 8 behind. */
FUNCTION void load_part(uint *part, TO_LOCAL const uchar *tile, int place, int place_behind,
                        int loaded, int columns)
{
    load_matrices(part, tile + place);
    if (loaded == LOADED_ROUNDED) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            part[i] = tf32_of(f32_of_bits(part[i]));
        }
    } else if (loaded == LOADED_PAIRS) {
        const int other = columns ? 1 : 2;
        uint near[4] = {part[0], part[1], part[2], part[3]}, far[4];
        load_matrices(far, tile + place_behind);
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int at = i * (3 - other);
            part[at] = bf16_pair(f32_of_bits(near[at]), f32_of_bits(near[at + other]));
            part[at + other] = bf16_pair(f32_of_bits(far[at]), f32_of_bits(far[at + other]));
        }
    }
}

FUNCTION void multiply_parts(SUM *sum, const uint *rows, const uint *columns, int row_parts,
                             int column_parts)
{
    UNROLL
    for (int r = 0; r < row_parts; r++) {
        UNROLL
        for (int c = 0; c < column_parts * 2; c++) {
            SUM *above = sum + (r * 2 * column_parts * 2 + c) * 2,
                *below = above + column_parts * 4;
            MULTIPLY_WORDS(above, below, rows + r * 4, columns + c * 2);
        }
    }
}

#if LOADED_X == LOADED_SPLIT
#define MULTIPLY_SIDES multiply_split

/* Splits floats: the bits that tf32 has, and the rest, as large as the float, so that tf32 keeps the rest
 * of the smallest ones, too. */
#define REST_SCALE 0x1p10f

FUNCTION void split_floats(uint *near, uint *rest, int count)
{
    UNROLL
    for (int i = 0; i < count; i++) {
        const uint all = near[i];
        near[i] = all & 0xffffe000u;
        rest[i] = f32_bits((f32_of_bits(all) - f32_of_bits(near[i])) * REST_SCALE);
    }
}

/* Units cut sums to floats: theirs are of few terms, which are added to the item's. Infinities and NaNs are
 * in the near products: the rest's, where an infinity has met a zero, are left out. */
FUNCTION void add_split(float *sum, float near, float rest)
{
    *sum += near;
    if (f32_abs(rest) < INFINITY) {
        *sum = f32_fma(rest, 1 / REST_SCALE, *sum);
    }
}

FUNCTION void multiply_split(float *sum, uint *rows, uint *columns, int row_parts,
                             int column_parts)
{
    uint rows_rest[MOST_PARTS * 4];
    split_floats(rows, rows_rest, row_parts * 4);
    UNROLL
    for (int c = 0; c < column_parts * 2; c++) {
        uint *column = columns + c * 2, column_rest[2];
        split_floats(column, column_rest, 2);
        UNROLL
        for (int r = 0; r < row_parts; r++) {
            float near[4] = {0, 0, 0, 0}, rest[4] = {0, 0, 0, 0},
                  *above = sum + (r * 2 * column_parts * 2 + c) * 2,
                  *below = above + column_parts * 4;
            MULTIPLY_UNITS(rest, rest + 2, rows_rest + r * 4, column);
            MULTIPLY_UNITS(rest, rest + 2, rows + r * 4, column_rest);
            MULTIPLY_UNITS(near, near + 2, rows + r * 4, column);
            UNROLL
            for (int i = 0; i < 2; i++) {
                add_split(&above[i], near[i], rest[i]);
                add_split(&below[i], near[i + 2], rest[i + 2]);
            }
        }
    }
}

#else
#define MULTIPLY_SIDES multiply_parts
#endif
#if Y_ALONG_M
#define MULTIPLY_PARTS(sum, w, x) MULTIPLY_SIDES(sum, x, w, PARTS_N, PARTS_M)
#else
#define MULTIPLY_PARTS(sum, w, x) MULTIPLY_SIDES(sum, w, x, PARTS_M, PARTS_N)
#endif

#define FLOATS_X          (LOADED_X == LOADED_PAIRS)
#define ROW_PITCH(chunks) (16 * (chunks) * CHUNK)

/* places: of w and of x in each step, and of x 8 words behind. */
FUNCTION void multiply_stage(SUM *sum, TO_LOCAL const uchar *stage, const int *places)
{
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        uint w[PARTS_M * 4], x[PARTS_N * 4];
        const int *place = places + step * 3;
        UNROLL
        for (int i = 0; i < PARTS_M; i++) {
            load_part(w + i * 4, stage + i * ROW_PITCH(CHUNKS_W), place[0], 0, LOADED_AS_KEPT,
                      Y_ALONG_M);
        }
        UNROLL
        for (int j = 0; j < PARTS_N; j++) {
            load_part(x + j * 4, stage + j * ROW_PITCH(CHUNKS_X), place[1], place[2], LOADED_X,
                      !Y_ALONG_M);
        }
        MULTIPLY_PARTS(sum, w, x);
    }
}

/* Sums `tiles` tiles. While one is multiplied, STAGES - 1 are on their way. */
FUNCTION void sum_copied(SUM *sum, TO_LOCAL uint4 *room, GLOBAL const uint4 *weights,
                         const INDEX *base, const uint *inside, cursor c, int tiles, int aligned)
{
    TO_LOCAL uchar *stages = (TO_LOCAL uchar *)room;
    int places[STEPS * 3], at = 0;
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        const int x = (PART_N * CHUNKS_X + BLOCK_W) * CHUNK,
                  place = place_of(step, CHUNKS_X, FLOATS_X, !Y_ALONG_M);
        places[step * 3] = PART_M * CHUNKS_W * CHUNK + place_of(step, CHUNKS_W, 0, Y_ALONG_M);
        places[step * 3 + 1] = x + place;
        places[step * 3 + 2] = x + (place ^ 2 * CHUNK);
    }
    UNROLL
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < tiles) {
            copy_tiles(stages + stage * STAGE_SIZE, weights, base, inside, &c, aligned);
            advance(&c);
            weights += BLOCK_W + c.skipped * TAP_W;
        }
        COMMIT_COPIES
    }
    int next = (STAGES - 1) * STAGE_SIZE;
    ROLLED
    for (int left = tiles; left > 0; left--) {
        WAIT_COPIES(STAGES - 2)
        BARRIER;
        if (left >= STAGES) {
            copy_tiles(stages + next, weights, base, inside, &c, aligned);
            advance(&c);
            weights += BLOCK_W + c.skipped * TAP_W;
        }
        COMMIT_COPIES
        multiply_stage(sum, stages + at, places);
        next = at;
        at = at == (STAGES - 1) * STAGE_SIZE ? 0 : at + STAGE_SIZE;
    }
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
    PACK_STARTS(at)
}

KERNEL(run)(ARGUMENTS)
{
    LOCAL uint4 room[STAGES * STAGE_SIZE / CHUNK];
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), tiles = (END_TERM(t) - begin + TILE_K - 1) / TILE_K;
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    cursor c = cursor_at(begin + ITEM % CHUNKS_X * LANES_X, t, x);
    const INDEX panel = (INDEX)t.batch * TILES_M + t.m / TILE_M,
                block = panel * PACKED_BLOCKS + weights_of(begin, t) / TILE_K;
    GLOBAL const uint4 *weights = (GLOBAL const uint4 *)PACKED(STAGED) + block * BLOCK_W + ITEM;
    SUM sum[ITEM_M * ITEM_N];
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
#if FILLED
    c.outside = (GLOBAL const TYPE_0 *)(PACKED(STAGED) + (STARTS - OUTSIDE_QUADS));
#endif
    if ((ulong)x % CHUNK == 0) {
        sum_copied(sum, room, weights, base, inside, c, tiles, 1);
    } else {
        sum_copied(sum, room, weights, base, inside, c, tiles, 0);
    }
    END_SUMS(sum)
}
