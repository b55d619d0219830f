/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that warp groups of 128 work-items multiply from local memory (CUDA: wgmma, of
 * compute capability 9.0): how tiles lie there, and how they are multiplied. Behind it come a text that says what is
 * copied (wide_window.cl, wide_matrix.cl) and wide_loop.cl, the loop.
 *
 * STAGES tiles of both matrices lie in local memory. w is packed as it lies there, so that one item copies a
 * tile at once; x has neighbouring terms in chunks of 16 bytes, which items copy one by one. A row has 128
 * bytes, x's 256 where two floats become a word of bf16. The chunks of row r are exchanged, c with
 * c ^ r % 8, as wide units read them.
 *
 * A group of items sums 64 rows of the left matrix (y's, so that an item has neighbours in memory along
 * the other side), of which LEFT_PARTS follow each other after 64 * GROUPS rows, by all rows of the right
 * one. Floats are rounded in registers, which x is taken to as the left matrix: to tf32, or in pairs to
 * bf16. Weights are rounded where they are packed, in the order in which PAIRED takes floats: those of
 * words c and c + 4 are a pair.
 *
 * Defined for it: what gpu_tile.c defines of tiles, BYTES_X, LOADED (is x taken to registers?), PAIRED, and RIGHT_ROWS,
 * rows of the right matrix's tile: a number that is a part of a name. */
#define CHUNK       16
#define GROUP_ITEMS 128
#define GROUPS      (ITEMS / GROUP_ITEMS)
#define ROW_W       128
#define ROW_X       (TILE_K * BYTES_X)
#define LANES_W     (CHUNK / (int)sizeof(STAGED))
#define LANES_X     (CHUNK / BYTES_X)
#define CHUNKS_W    (ROW_W / CHUNK)
#define CHUNKS_X    (ROW_X / CHUNK)
#define BLOCK_W     (TILE_M * CHUNKS_W) /* chunks of a tile of w */
#define COPIES_X    (TILE_N * CHUNKS_X / ITEMS)
#define STAGE_SIZE  (BLOCK_W * CHUNK + TILE_N * ROW_X)
#define STEPS       4 /* in a row: 32 bytes each */

/* Column and first term of an item's copies of x; an item's columns are the same modulo 8. */
#define COPY_COLUMN(l) ((ITEM + (l) * ITEMS) / CHUNKS_X)
#define COPY_TERM      (ITEM % CHUNKS_X * LANES_X)

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
#define SUM_M(i)           RIGHT_ROW(i)
#define SUM_N(j)           LEFT_ROW(j)
#define SUM_OF(sum, i, j)  ((sum)[SUM_AT(j, i)])
#define LEFT_TILE          (BLOCK_W * CHUNK)
#define RIGHT_TILE         0
#else
#define LEFT_PARTS        (ITEM_M / 2)
#define SUM_M(i)          LEFT_ROW(i)
#define SUM_N(j)          RIGHT_ROW(j)
#define SUM_OF(sum, i, j) ((sum)[SUM_AT(i, j)])
#define LEFT_TILE         0
#define RIGHT_TILE        (BLOCK_W * CHUNK)
#endif

/* Bytes of w are signed. X_BEYOND: what lies outside x. */
#if !QUADS
#define X_BEYOND 0
WIDE_PRODUCTS(RIGHT_ROWS)
#else
#define X_BEYOND X_ZERO
#if Y_ALONG_M
WIDE_BYTES_OF(u8, s8, RIGHT_ROWS)
#else
WIDE_BYTES_OF(s8, u8, RIGHT_ROWS)
#endif
#endif

/* The term of an element of a packed row. */
FUNCTION int packed_term(int row, int at)
{
    const int k = ((at / LANES_W) ^ row % 8) * LANES_W + at % LANES_W;
    return PAIRED ? k / 16 * 16 + k % 16 / 8 * 8 + k % 8 / 2 + k % 2 * 4 : k;
}

/* A stage that is copied to. */
typedef struct target {
    TO_LOCAL uchar *x; /* where the item's first chunk of x lies */
    uint x_address, w_address, barrier; /* barrier: of the copy of w */
    int aligned; /* are the sources in x multiples of CHUNK? */
} target;

/* The first `bytes` bytes of the item's chunk l of x, then X_BEYOND (copied: zeros). */
FUNCTION void copy_chunk(target to, int l, GLOBAL const TYPE_0 *from, int bytes)
{
    if (to.aligned) {
        copy_async(to.x_address + (uint)(l * (ITEMS * CHUNK)), from, bytes);
        return;
    }
    const int elements = CHUNK / (int)sizeof(TYPE_0), word = elements / 4;
    uint words[4] = {0, 0, 0, 0};
    UNROLL
    for (int i = 0; i < elements; i++) {
        const TYPE_0 element = i * (int)sizeof(TYPE_0) < bytes ? from[i] : (TYPE_0)X_BEYOND;
        words[i / word] |= (X_FLOATS ? f32_bits((float)element) : (uint)element)
                           << i % word * (8 * (int)sizeof(TYPE_0));
    }
    keep_chunk(to.x + l * (ITEMS * CHUNK), words);
}

/* One item copies a tile of w. */
FUNCTION void copy_weights(target to, GLOBAL const uint4 *weights)
{
    if (ITEM == 0) {
        expect_bytes(to.barrier, BLOCK_W * CHUNK);
        copy_bulk(to.w_address, weights, BLOCK_W * CHUNK, to.barrier);
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

FUNCTION void multiply_stage(SUM *sum, TO_LOCAL const uchar *stage, ulong right)
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
FUNCTION void multiply_stage(SUM *sum, TO_LOCAL const uchar *stage, ulong right)
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
