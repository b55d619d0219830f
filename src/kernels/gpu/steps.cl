/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from tile to tile through the terms of igemm.cl's convolutions, without a division: for windows of
 * at most 32 taps, all channels of one before the next. Put behind igemm.cl. STEPPED: terms are stepped
 * through; TERM_CHANNELS: of a tap, with those that fill its last tile. */

#if STEPPED

/* The terms of x that an item reads next. */
typedef struct cursor {
    GLOBAL const TYPE_0 *x; /* and from there a column's first element */
    int channel, count_1, count_2;
    uint tap;          /* its bit */
    uint rows, planes; /* bits of the taps that begin a row or a plane of the window */
    int skipped; /* taps of the window that the last step passed over */
    GLOBAL const TYPE_0 *outside; /* a chunk of the padding, unless zeros fill it */
} cursor;

/* Steps in x from a tap's last channel to the next tap, and behind the last tap of a row and a plane;
 * and taps of the window that they pass over. */
#define NEXT_X_2          (STEP_2 * X_STEP_2 - TERM_CHANNELS * X_CHANNEL)
#define NEXT_X_1(count_2) (STEP_1 * X_STEP_1 - (count_2) * (STEP_2 * X_STEP_2))
#define NEXT_X_0(count_1) (STEP_0 * X_STEP_0 - (count_1) * (STEP_1 * X_STEP_1))
#define SKIP_2            (TAP_STEP_2 - 1)
#define SKIP_1(count_2)   (TAP_STEP_1 * WINDOW_2 - (count_2) * TAP_STEP_2)
#define SKIP_0(count_1)   (WINDOW_2 * (TAP_STEP_0 * WINDOW_1 - (count_1) * TAP_STEP_1))

/* Nothing is conditional: a branch in the middle of a loop's products made NVRTC spill. */
FUNCTION void advance(cursor *c)
{
    c->x += TILE_K * X_CHANNEL;
    c->channel += TILE_K;
    c->skipped = 0;
    UNROLL
    for (int i = 0; i < TILE_K; i += TERM_CHANNELS) {
        const int next = c->channel >= TERM_CHANNELS;
        c->channel -= next ? TERM_CHANNELS : 0;
        c->tap <<= next;
        const int row = next && (c->tap & c->rows), plane = next && (c->tap & c->planes);
        c->x += (next ? NEXT_X_2 : 0) + (row ? NEXT_X_1(c->count_2) : 0) +
                (plane ? NEXT_X_0(c->count_1) : 0);
        c->skipped += (next ? SKIP_2 : 0) + (row ? SKIP_1(c->count_2) : 0) +
                      (plane ? SKIP_0(c->count_1) : 0);
    }
}

FUNCTION cursor cursor_at(int k, tile t, GLOBAL const TYPE_0 *x)
{
    const term s = term_of(k, t);
    cursor c;
    c.x = x + (INDEX)s.channel * X_CHANNEL + (INDEX)(s.tap_0 * STEP_0) * X_STEP_0 +
          (INDEX)(s.tap_1 * STEP_1) * X_STEP_1 + (INDEX)(s.tap_2 * STEP_2) * X_STEP_2;
    c.channel = s.channel;
    c.count_1 = COUNT_1(t.residue_1);
    c.count_2 = COUNT_2(t.residue_2);
    c.rows = c.planes = 0;
    UNROLL
    for (int i = 1; i < WINDOW_0 * WINDOW_1; i++) {
        c.rows |= i * c.count_2 < 32 ? 1u << i * c.count_2 : 0u;
    }
    UNROLL
    for (int i = 1; i < WINDOW_0; i++) {
        c.planes |= i * c.count_1 * c.count_2 < 32 ? 1u << i * c.count_1 * c.count_2 : 0u;
    }
    c.tap = s.tap < 32 ? 1u << s.tap : 0u;
    c.skipped = 0;
    c.outside = x;
    return c;
}

/* The taps of a phase that a column reads inside x, a bit each, by where it reads with the first. */
FUNCTION uint taps_inside(int at_0, int at_1, int at_2, tile t)
{
    const int count_0 = COUNT_0(t.residue_0), count_1 = COUNT_1(t.residue_1),
              count_2 = COUNT_2(t.residue_2);
    uint row = 0, plane = 0, all = 0;
    for (int i = 0; i < count_2; i++) {
        row |= is_inside(MASK_2, at_2 + i * STEP_2, IN_2) ? 1u << i : 0u;
    }
    for (int i = 0; i < count_1; i++) {
        plane |= is_inside(MASK_1, at_1 + i * STEP_1, IN_1) ? row << i * count_2 : 0u;
    }
    for (int i = 0; i < count_0; i++) {
        all |= is_inside(MASK_0, at_0 + i * STEP_0, IN_0) ? plane << i * (count_1 * count_2) : 0u;
    }
    return all;
}

/* Where a column begins in x, and its taps inside; none beyond the last column. */
FUNCTION void find_column(int n, tile t, INDEX *base, uint *inside)
{
    const int there = n < columns_of(t);
    const position p = position_of(there ? n : 0, t);
    const int at_0 = p.at_0 * STRIDE_0 + FIRST_0(t.residue_0),
              at_1 = p.at_1 * STRIDE_1 + FIRST_1(t.residue_1),
              at_2 = p.at_2 * STRIDE_2 + FIRST_2(t.residue_2);
    *base = (INDEX)p.image * X_IMAGE + (INDEX)t.batch * X_GROUP + (INDEX)at_0 * X_STEP_0 +
            (INDEX)at_1 * X_STEP_1 + (INDEX)at_2 * X_STEP_2;
    *inside = there ? taps_inside(at_0, at_1, at_2, t) : 0u;
}
#endif
