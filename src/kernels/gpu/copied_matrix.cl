/* SPDX-License-Identifier: Apache-2.0 */
/* What copied tiles copy for matrix products: both matrices as they are, terms, or rows or columns,
 * beside each other, in chunks of 16 bytes. Beyond the last row, column or term are zeros.
 *
 * Defined for it: NEXT_A and NEXT_B, elements to the next row or column; or across, to the next term. */
#define NEXT_OF(side)  OF(side, NEXT_A, NEXT_B)
#define COUNT_OF(side) OF(side, ROWS, N)
#define WHOLE_TERMS    (TERMS % TILE_K == 0)

/* What an item copies of a matrix next. */
typedef struct matrix_copies {
    GLOBAL const uchar *from;
    int bytes; /* across: of a chunk that are inside the matrix */
    uint there; /* else: its rows or columns inside, a bit each */
} matrix_copies;

typedef struct copier {
    matrix_copies a, b;
    int left; /* terms */
} copier;

/* Bytes of a chunk that has so many elements left. */
FUNCTION int bytes_inside(int left, int side)
{
    return min(max(left, 0), LANES_OF(side)) * BYTES_OF(side);
}

FUNCTION matrix_copies matrix_copies_at(GLOBAL const uchar *matrix, int first, int begin, int side)
{
    const int chunk = ITEM_CHUNK(side) * LANES_OF(side), row = ITEM_ROW(side),
              across = ACROSS(side), side_at = first + (across ? chunk : row),
              term = begin + (across ? row : chunk);
    matrix_copies c;
    c.from = matrix + (across ? (INDEX)term * NEXT_OF(side) + side_at
                              : (INDEX)side_at * NEXT_OF(side) + term) *
                          BYTES_OF(side);
    c.bytes = bytes_inside(COUNT_OF(side) - side_at, side);
    c.there = 0;
    UNROLL
    for (int l = 0; l < COPIES_OF(side); l++) {
        c.there |= side_at + l * ROWS_OF(side) < COUNT_OF(side) ? 1u << l : 0u;
    }
    return c;
}

#define BEGIN_COPIES(t, begin)                                                              \
    copier c;                                                                               \
    c.a = matrix_copies_at((GLOBAL const uchar *)(MATRIX_A + AT_0(t.batch)), t.m, begin, 0); \
    c.b = matrix_copies_at((GLOBAL const uchar *)(MATRIX_B + AT_1(t.batch)), t.n, begin, 1); \
    c.left = END_TERM(t) - begin;
#define ALIGNED_COPIES (((ulong)MATRIX_A | (ulong)MATRIX_B) % CHUNK == 0)

FUNCTION void copy_matrix(target to, matrix_copies *c, int left, int side)
{
    const int whole = COUNT_OF(side) % LENGTH_OF(side) == 0;
    const int terms = WHOLE_TERMS || ACROSS(side)
                          ? CHUNK
                          : bytes_inside(left - ITEM_CHUNK(side) * LANES_OF(side), side);
    UNROLL
    for (int l = 0; l < COPIES_OF(side); l++) {
        const int next = l * ROWS_OF(side);
        const int bytes = !ACROSS(side) ? (whole || c->there >> l & 1u ? terms : 0)
                          : WHOLE_TERMS || ITEM_ROW(side) + next < left ? (whole ? CHUNK : c->bytes)
                                                                        : 0;
        copy_chunk(to, copy_place(l, side), c->from + (INDEX)next * NEXT_OF(side) * BYTES_OF(side),
                   bytes, side);
    }
    c->from += (INDEX)TILE_K * (ACROSS(side) ? NEXT_OF(side) : 1) * BYTES_OF(side);
}

FUNCTION void copy_tiles(target to, copier *c)
{
    copy_matrix(to, &c->a, c->left, 0);
    copy_matrix(to, &c->b, c->left, 1);
    c->left -= TILE_K;
}
