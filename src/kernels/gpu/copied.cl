/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl that the device copies to local memory while matrix units multiply others (CUDA: cp.async,
 * ldmatrix): how tiles lie there, and how items read and multiply them. Behind it come a text that says
 * what is copied (copied_window.cl, copied_matrix.cl) and pipeline.cl, the loop.
 *
 * STAGES tiles of both matrices lie in local memory, in rows of chunks of 16 bytes. Rows are rows or
 * columns of the matrix, whose chunks are terms; where a side is ACROSS rows are terms, whose chunks are
 * rows or columns. A row's chunks are turned by its number, so that what is read at once lies in all banks.
 *
 * Sides are numbered: 0 is w, 1 is x.
 *
 * Defined for it: what gpu_tile.c defines of tiles, W_ACROSS, X_ACROSS, BYTES_W and BYTES_X, the size of an
 * element in local memory, and LOADED_W and LOADED_X, how such an element becomes an operand. */
#define LOADED_AS_KEPT 0 /* kept as it is multiplied */
#define LOADED_ROUNDED 1 /* floats, rounded to tf32 */
#define LOADED_PAIRS   2 /* floats, two of them a word of bf16 */
#define LOADED_SPLIT   3 /* floats, as the sum of two of tf32: three products, in floats' accuracy */

/* How units multiply: bytes of w are signed. */
#if !QUADS
#define MULTIPLY_WORDS MULTIPLY_UNITS
#elif Y_ALONG_M
#define MULTIPLY_WORDS multiply_u8_s8
#else
#define MULTIPLY_WORDS multiply_s8_u8
#endif

#define CHUNK            16
#define OF(side, w, x)   ((side) ? (x) : (w))
#define LENGTH_OF(side)  OF(side, TILE_M, TILE_N)
#define ACROSS(side)     OF(side, W_ACROSS, X_ACROSS)
#define BYTES_OF(side)   OF(side, BYTES_W, BYTES_X)
#define LOADED(side)     OF(side, LOADED_W, LOADED_X)
#define LANES_OF(side)   (CHUNK / BYTES_OF(side))
#define CHUNKS_OF(side)  ((ACROSS(side) ? LENGTH_OF(side) : TILE_K) / LANES_OF(side))
#define BLOCK_OF(side)   (LENGTH_OF(side) * TILE_K / LANES_OF(side)) /* chunks of a tile */
#define COPIES_OF(side)  (BLOCK_OF(side) / ITEMS)
#define BEGIN_OF(side)   OF(side, 0, BLOCK_OF(0) * CHUNK)
#define STAGE_SIZE       ((BLOCK_OF(0) + BLOCK_OF(1)) * CHUNK)
/* An item copies a chunk of each of the rows ITEM_ROW, ITEM_ROW + ROWS_OF, ... */
#define ROWS_OF(side)    (ITEMS / CHUNKS_OF(side))
#define ITEM_ROW(side)   (ITEM / CHUNKS_OF(side))
#define ITEM_CHUNK(side) (ITEM % CHUNKS_OF(side))

/* By how much a row's chunks are turned. Read at once are the same chunk of 8 rows; or across, of words
 * of four bytes, two chunks of 4 rows. Rows turn alike every 8. */
FUNCTION int turn_of(int row, int side)
{
    const int chunks = CHUNKS_OF(side);
    return !ACROSS(side)         ? row / (8 / chunks) % chunks
           : BYTES_OF(side) == 4 ? row % 4 * 2
                                 : row % 8;
}

/* Where an item's copy l lies in a stage. */
FUNCTION int copy_place(int l, int side)
{
    const int turn = turn_of(ITEM_ROW(side) + ROWS_OF(side) * l % 8, side);
    return BEGIN_OF(side) +
           (ITEM_ROW(side) * CHUNKS_OF(side) + (ITEM_CHUNK(side) ^ turn) + l * ITEMS) * CHUNK;
}

/* A stage that is copied to. */
typedef struct target {
    TO_LOCAL uchar *stage;
    uint address; /* the stage's */
    int aligned;  /* are the copies' sources multiples of CHUNK? */
} target;

/* The first `bytes` bytes of a chunk, then zeros. */
FUNCTION void copy_chunk(target to, int place, GLOBAL const uchar *from, int bytes, int side)
{
    if (to.aligned) {
        copy_async(to.address + (uint)place, from, bytes);
        return;
    }
    ROLLED
    for (int i = 0; i < LANES_OF(side); i++) {
        const int inside = i * BYTES_OF(side) < bytes;
        if (BYTES_OF(side) == 2) {
            ((TO_LOCAL ushort *)(to.stage + place))[i] = inside ? ((GLOBAL const ushort *)from)[i] : (ushort)0;
        } else {
            ((TO_LOCAL uint *)(to.stage + place))[i] = inside ? ((GLOBAL const uint *)from)[i] : 0u;
        }
    }
}

/* Row and column of an item's sum (i, j), and the first ones of what 32 items sum together, in PARTS of
 * 16. A unit has 16 by 8 sums, an item two neighbours in two of its rows. Units' rows are columns of
 * the tile where rows of y are beside each other, so that an item has neighbours in memory.
 *
 * A part's rows or columns are beside each other. Across, of words of four bytes, FOURS are read at once,
 * which four units take: unit i has every fourth one of 32, from i on. Floats that are rounded are read as
 * their registers lie (SINGLES): columns one by one, rows by twos, of which a unit takes both. */
#define LANE_8 (ITEM % 32 / 4)
#define LANE_4 (ITEM % 4)
#define SINGLES(side) (ACROSS(side) && LOADED(side) == LOADED_ROUNDED)
#define FOURS(side)   (ACROSS(side) && BYTES_OF(side) == 4 && !SINGLES(side))
#define UNITS_ROW(i, side)                                     \
    (FOURS(side)     ? (i) / 4 * 32 + LANE_8 * 4 + (i) % 4     \
     : SINGLES(side) ? (i) / 2 * 16 + LANE_8 * 2 + (i) % 2     \
                     : (i) * 8 + LANE_8)
#define UNITS_COLUMN(i, side)                                              \
    (FOURS(side) ? (i) / 8 * 32 + (LANE_4 * 2 + (i) % 2) * 4 + (i) / 2 % 4 \
                 : (i) / 2 * 8 + LANE_4 * 2 + (i) % 2)
#if Y_ALONG_M
#define UNITS            (TILE_N / ITEM_N / 8)
#define PARTS_M          (ITEM_M / 4)
#define PARTS_N          (ITEM_N / 2)
#define PART_M           (ITEM / 32 / UNITS * (ITEM_M * 4))
#define PART_N           (ITEM / 32 % UNITS * (ITEM_N * 8))
#define SUM_M(i)         (PART_M + UNITS_COLUMN(i, 0))
#define SUM_N(j)         (PART_N + UNITS_ROW(j, 1))
#define SUM_OF(sum, i, j) ((sum)[(j) * ITEM_M + (i)])
#else
#define UNITS    (TILE_M / ITEM_M / 8)
#define PARTS_M  (ITEM_M / 2)
#define PARTS_N  (ITEM_N / 4)
#define PART_M   (ITEM / 32 % UNITS * (ITEM_M * 8))
#define PART_N   (ITEM / 32 / UNITS * (ITEM_N * 4))
#define SUM_M(i) (PART_M + UNITS_ROW(i, 0))
#define SUM_N(j) (PART_N + UNITS_COLUMN(j, 1))
#define SUM_OF(sum, i, j) ((sum)[(i) * ITEM_N + (j)])
#endif
#define MOST_PARTS    (PARTS_M > PARTS_N ? PARTS_M : PARTS_N)
#define STEPS         (TILE_K / PAIR / 8)
#define PARTS_OF(side)   OF(side, PARTS_M, PARTS_N)
#define COLUMNS_OF(side) OF(side, Y_ALONG_M, !Y_ALONG_M) /* is the side the units' columns? */

/* Where an item finds operands in a stage: along, of each step, and 8 words behind; across, of each part;
 * fours of the first part, singles of the first columns or parts of 32. A part of units' rows lies in a word's fragments as four matrices
 * of 8 rows and 4 words: those 8 rows below come second. A part of their columns is two operands: the
 * words 4 behind come second. */
enum { PLACES = 4 };

FUNCTION void find_places(int *place, int side)
{
    const int item = ITEM % 32, columns = COLUMNS_OF(side), chunks = CHUNKS_OF(side),
              part = OF(side, PART_M, PART_N), half = item / 8 % 2, far = item / 16;
    if (FOURS(side)) {
        place[0] = BEGIN_OF(side) +
                   (LANE_4 * chunks + ((part / 4 + LANE_8) ^ turn_of(LANE_4, side))) * CHUNK;
    } else if (SINGLES(side)) {
        const int words = columns ? LANE_8 : LANE_8 * 2,
                  chunk = (part / 4 + words / 4) ^ turn_of(LANE_4, side);
        UNROLL
        for (int i = 0; i < PLACES; i++) {
            place[i] = BEGIN_OF(side) + words % 4 * 4 +
                       (LANE_4 * chunks + (chunk ^ (columns ? i * 2 : i % 2 * 4))) * CHUNK;
        }
    } else if (ACROSS(side)) {
        const int row = (columns ? half : far) * 8 + item % 8,
                  chunk = (part / 8 + (columns ? far : half)) ^ turn_of(row, side);
        UNROLL
        for (int i = 0; i < PARTS_OF(side); i++) {
            place[i] = BEGIN_OF(side) + (row * chunks + (chunk ^ i * 2)) * CHUNK;
        }
    } else {
        const int row = columns ? far * 8 + item % 8 : item % 16, behind = columns ? half : far;
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            const int chunk = step * (LOADED(side) == LOADED_PAIRS ? 4 : 2) + behind,
                      at = (row * chunks + (chunk ^ turn_of(row, side))) * CHUNK;
            place[step * 2] = BEGIN_OF(side) + part * chunks * CHUNK + at;
            place[step * 2 + 1] = BEGIN_OF(side) + part * chunks * CHUNK + (at ^ 2 * CHUNK);
        }
    }
}

/* The operands of a part whose terms are beside each other, of floats that are rounded where they lie so;
 * of pairs with the place of the words 8 behind. */
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

/* Four words, `row` rows below the item's. */
FUNCTION void load_fours(uint *to, TO_LOCAL const uchar *first, int row, int side)
{
    const uint4 four =
        *(TO_LOCAL const uint4 *)(first + row * (CHUNKS_OF(side) * CHUNK));
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

/* The operands of two parts, across, of words of four bytes: the near ones and those 4 words behind. */
FUNCTION void load_two_parts(uint *parts, TO_LOCAL const uchar *first, int step, int side)
{
    const int columns = COLUMNS_OF(side);
    uint word[2][4];
    UNROLL
    for (int i = 0; i < 2; i++) {
        if (LOADED(side) == LOADED_PAIRS) {
            uint low[4], high[4];
            load_fours(low, first, step * 16 + i * 8, side);
            load_fours(high, first, step * 16 + i * 8 + 4, side);
            UNROLL
            for (int j = 0; j < 4; j++) {
                word[i][j] = bf16_pair(f32_of_bits(low[j]), f32_of_bits(high[j]));
            }
        } else {
            load_fours(word[i], first, step * 8 + i * 4, side);
        }
        UNROLL
        for (int j = 0; j < 4; j++) {
            parts[j / 2 * 4 + (columns ? j % 2 * 2 + i : i * 2 + j % 2)] = word[i][j];
        }
    }
}

/* All operands of a side in a step, singles. */
FUNCTION void load_singles(uint *parts, TO_LOCAL const uchar *stage, const int *place, int step,
                           int side)
{
    const int pitch = CHUNKS_OF(side) * CHUNK;
    UNROLL
    for (int l = 0; l < PARTS_OF(side) * 4; l += 2) {
        TO_LOCAL const uchar *from = stage + step * 8 * pitch;
        if (COLUMNS_OF(side)) { /* the near word and the one behind of a column */
            from += place[l / 2 % 4] + l / 8 * 128;
            parts[l] = *(TO_LOCAL const uint *)from;
            parts[l + 1] = *(TO_LOCAL const uint *)(from + 4 * pitch);
        } else { /* near words of two rows, or the ones behind */
            const ulong two = *(TO_LOCAL const ulong *)(from + place[l / 4 % 2] + l / 8 * 128 +
                                                        l / 2 % 2 * 4 * pitch);
            parts[l] = (uint)two;
            parts[l + 1] = (uint)(two >> 32);
        }
        parts[l] = tf32_of(f32_of_bits(parts[l]));
        parts[l + 1] = tf32_of(f32_of_bits(parts[l + 1]));
    }
}

/* All operands of a side in a step. */
FUNCTION void load_side(uint *parts, TO_LOCAL const uchar *stage, const int *place, int step,
                        int side)
{
    const int row = CHUNKS_OF(side) * CHUNK;
    if (SINGLES(side)) {
        load_singles(parts, stage, place, step, side);
        return;
    }
    if (FOURS(side)) {
        UNROLL
        for (int i = 0; i < PARTS_OF(side); i += 2) {
            load_two_parts(parts + i * 4, stage + place[0] + i * 16 * 4, step, side);
        }
        return;
    }
    UNROLL
    for (int i = 0; i < PARTS_OF(side); i++) {
        if (ACROSS(side)) {
            load_turned_matrices(parts + i * 4, stage + place[i] + step * 16 * row);
        } else {
            load_part(parts + i * 4, stage + i * 16 * row, place[step * 2], place[step * 2 + 1],
                      LOADED(side), COLUMNS_OF(side));
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

FUNCTION void multiply_stage(SUM *sum, TO_LOCAL const uchar *stage, const int *w_place,
                             const int *x_place)
{
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        uint w[PARTS_M * 4], x[PARTS_N * 4];
        load_side(w, stage, w_place, step, 0);
        load_side(x, stage, x_place, step, 1);
        MULTIPLY_PARTS(sum, w, x);
    }
}
