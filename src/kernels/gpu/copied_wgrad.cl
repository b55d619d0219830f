/* SPDX-License-Identifier: Apache-2.0 */
/* What copied tiles copy for weight gradients of tensors with neighbouring channels: y's gradient, packed
 * (copied_weights.cl), and x across. Terms are positions of y and images; columns are channels of x, of one
 * tap after the other.
 *
 * An item copies one chunk of channels of COPIES_OF(1) terms at a time, and steps from one to the next by
 * additions: nothing is divided. */
#define POSITIONS (COUNT_1(0) * COUNT_2(0))
/* An item's step, in images, rows and positions; and theirs in x. */
#define SKIP_2 (ROWS_OF(1) % COUNT_2(0))
#define SKIP_1 (ROWS_OF(1) / COUNT_2(0) % COUNT_1(0))
#define SKIP_0 (ROWS_OF(1) / POSITIONS)
#define NEXT_2 ((INDEX)STEP_2 * X_STEP_2)
#define NEXT_1 ((INDEX)STEP_1 * X_STEP_1)
#define NEXT_0 ((INDEX)X_CHANNEL)

/* What an item copies next. */
typedef struct copier {
    GLOBAL const TYPE_0 *x; /* the term's, of the item's tap and channels */
    GLOBAL const uint4 *weights;
    int end_1, end_2; /* behind the last position's, in x */
    int left;         /* terms; none beyond the last column */
    int at_1, at_2;   /* the term's */
} copier;

FUNCTION copier copier_at(int begin, tile t, GLOBAL const TYPE_0 *x, GLOBAL const STAGED *packed)
{
    const int n = t.n + ITEM_CHUNK(1) * LANES_OF(1), there = n < columns_of(t);
    const position p = position_of(there ? n : 0, t);
    const int at_1 = p.at_1 * STRIDE_1 + FIRST_1(0), at_2 = p.at_2 * STRIDE_2 + FIRST_2(0);
    const int k = begin + ITEM_ROW(1);
    copier c;
    c.weights = weights_at(begin, t, packed);
    c.end_1 = at_1 + COUNT_1(0) * STEP_1;
    c.end_2 = at_2 + COUNT_2(0) * STEP_2;
    c.left = there ? END_TERM(t) - begin - ITEM_ROW(1) : 0;
    c.at_1 = at_1 + k / COUNT_2(0) % COUNT_1(0) * STEP_1;
    c.at_2 = at_2 + k % COUNT_2(0) * STEP_2;
    c.x = x + (INDEX)p.image * X_IMAGE + (INDEX)t.batch * X_GROUP + k / POSITIONS * NEXT_0 +
          (INDEX)c.at_1 * X_STEP_1 + (INDEX)c.at_2 * X_STEP_2;
    return c;
}

#define BEGIN_COPIES(t, begin) copier c = copier_at(begin, t, IN(TYPE_0, 0), PACKED(STAGED));
#define ALIGNED_COPIES         ((ulong)IN(TYPE_0, 0) % CHUNK == 0)

FUNCTION void step_term(copier *c)
{
    INDEX next = SKIP_0 * NEXT_0 + SKIP_1 * NEXT_1 + SKIP_2 * NEXT_2;
    c->at_1 += SKIP_1 * STEP_1;
    c->at_2 += SKIP_2 * STEP_2;
    if (c->at_2 >= c->end_2) {
        c->at_2 -= COUNT_2(0) * STEP_2;
        c->at_1 += STEP_1;
        next += NEXT_1 - COUNT_2(0) * NEXT_2;
    }
    if (c->at_1 >= c->end_1) {
        c->at_1 -= COUNT_1(0) * STEP_1;
        next += NEXT_0 - COUNT_1(0) * NEXT_1;
    }
    c->x += next;
}

FUNCTION void copy_tiles(target to, copier *c)
{
    copy_weights(to, c->weights);
    UNROLL
    for (int l = 0; l < COPIES_OF(1); l++) {
        const int there = l * ROWS_OF(1) < c->left && is_inside(MASK_1, c->at_1, IN_1) &&
                          is_inside(MASK_2, c->at_2, IN_2);
        copy_chunk(to, copy_place(l, 1), (GLOBAL const uchar *)c->x, there ? CHUNK : 0, 1);
        step_term(c);
    }
    c->left -= TILE_K;
    c->weights += BLOCK_OF(0);
}
