/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through the terms of igemm.cl's convolutions that are not STEPPED: each item has its own. Put behind
 * igemm.cl. */
#if CONVOLUTION && !STEPPED
/* The term that an item reads next, as steps of the window: where it lies from a column's first element. */
typedef struct walk {
    INDEX at;
    int channel, tap_0, tap_1, tap_2;
} walk;

/* Few taps are a bit of each axis. Is a term inside x for a column whose bits say which taps are? */
#define FEW_TAPS (WINDOW_0 + WINDOW_1 + WINDOW_2 < 32)

FUNCTION uint taps_of(const walk *w)
{
    return 1u << w->tap_2 % 32 | 1u << (WINDOW_2 + w->tap_1) % 32 |
           1u << (WINDOW_2 + WINDOW_1 + w->tap_0) % 32;
}

/* The bits of a column by where it reads with the first tap. */
FUNCTION uint bits_inside(int at_0, int at_1, int at_2, tile t)
{
    uint bits = 0;
    for (int i = 0; i < COUNT_2(t.residue_2); i++) {
        bits |= is_inside(MASK_2, at_2 + i * STEP_2, IN_2) ? 1u << i : 0u;
    }
    for (int i = 0; i < COUNT_1(t.residue_1); i++) {
        bits |= is_inside(MASK_1, at_1 + i * STEP_1, IN_1) ? 1u << (WINDOW_2 + i) : 0u;
    }
    for (int i = 0; i < COUNT_0(t.residue_0); i++) {
        bits |= is_inside(MASK_0, at_0 + i * STEP_0, IN_0) ? 1u << (WINDOW_2 + WINDOW_1 + i) : 0u;
    }
    return bits;
}

FUNCTION walk walk_at(int k, tile t)
{
    const term s = term_of(k, t);
    walk w;
    w.channel = s.channel;
    w.tap_0 = s.tap_0;
    w.tap_1 = s.tap_1;
    w.tap_2 = s.tap_2;
    w.at = (INDEX)s.channel * X_CHANNEL + (INDEX)(s.tap_0 * STEP_0) * X_STEP_0 +
           (INDEX)(s.tap_1 * STEP_1) * X_STEP_1 + (INDEX)(s.tap_2 * STEP_2) * X_STEP_2;
    return w;
}

/* To the taps behind the last of a row and of a plane. */
#define WALK_PLANES                                                                        \
    if (w->tap_2 >= count_2) {                                                             \
        w->tap_2 -= count_2;                                                               \
        w->at += STEP_1 * X_STEP_1 - count_2 * (STEP_2 * X_STEP_2);                        \
        if (++w->tap_1 == count_1) {                                                       \
            w->tap_1 = 0;                                                                  \
            w->at += STEP_0 * X_STEP_0 - count_1 * (STEP_1 * X_STEP_1);                    \
            w->tap_0++;                                                                    \
        }                                                                                  \
    }

/* By TILE_K terms. */
FUNCTION void walk_on(walk *w, tile t)
{
    const int count_0 = max(COUNT_0(t.residue_0), 1), count_1 = max(COUNT_1(t.residue_1), 1),
              count_2 = max(COUNT_2(t.residue_2), 1);
#if TAPS_FIRST
    w->tap_2 += TILE_K;
    w->at += TILE_K * (STEP_2 * X_STEP_2);
    UNROLL
    for (int i = 0; i < TILE_K; i += count_2) {
        WALK_PLANES
        if (w->tap_0 == count_0) {
            w->tap_0 = 0;
            w->at += X_CHANNEL - count_0 * (STEP_0 * X_STEP_0);
            w->channel++;
        }
    }
#else
    w->channel += TILE_K;
    w->at += TILE_K * X_CHANNEL;
    UNROLL
    for (int i = 0; i < TILE_K; i += CHANNELS) {
        if (w->channel >= CHANNELS) {
            w->channel -= CHANNELS;
            w->at += STEP_2 * X_STEP_2 - CHANNELS * X_CHANNEL;
            w->tap_2++;
            WALK_PLANES
        }
    }
#endif
}

/* Few terms are listed before they are summed, in local memory: where each lies from a column's first element,
 * and its taps. */
#define LISTED (FEW_TAPS && !QUANTISED && SPLIT_TERMS <= 512)
#if LISTED
FUNCTION void list_terms(TO_LOCAL INDEX *offsets, TO_LOCAL uint *taps, int begin, int end, tile t)
{
    for (int k = ITEM; k < SPLIT_TERMS; k += ITEMS) {
        const walk w = walk_at(begin + k, t);
        offsets[k] = w.at;
        taps[k] = begin + k < end ? taps_of(&w) : ~0u; /* which no column has */
    }
    BARRIER;
}

/* Declares the lists as vectors, whose fours READ_LIST reads at once. */
#define LIST_ROOM                                                                \
    LOCAL uint4 offset_room[SPLIT_TERMS / 4 * (sizeof(INDEX) / sizeof(int))];    \
    LOCAL uint4 bits_room[SPLIT_TERMS / 4];                                      \
    TO_LOCAL INDEX *offsets = (TO_LOCAL INDEX *)offset_room;                     \
    TO_LOCAL uint *tap_bits = (TO_LOCAL uint *)bits_room;

#define READ_LIST_FOUR(to, T, from)                        \
    {                                                      \
        const T##4 four = *(TO_LOCAL const T##4 *)(from);  \
        (to)[0] = four.x;                                  \
        (to)[1] = four.y;                                  \
        (to)[2] = four.z;                                  \
        (to)[3] = four.w;                                  \
    }

/* Reads `count` neighbouring terms, from term k on, a multiple of `count`. */
#define READ_LIST(to_offsets, to_taps, count, k)                                        \
    UNROLL                                                                              \
    for (int i = 0; i < (count); i++) {                                                 \
        if ((count) % 4 == 0 && sizeof(INDEX) == sizeof(int) && i % 4 == 0) {           \
            READ_LIST_FOUR((to_offsets) + i, int, offsets + (k) + i)                    \
        } else if ((count) % 4 || sizeof(INDEX) != sizeof(int)) {                       \
            (to_offsets)[i] = offsets[(k) + i];                                         \
        }                                                                               \
        if ((count) % 4 == 0 && i % 4 == 0) {                                           \
            READ_LIST_FOUR((to_taps) + i, uint, tap_bits + (k) + i)                     \
        } else if ((count) % 4) {                                                       \
            (to_taps)[i] = tap_bits[(k) + i];                                           \
        }                                                                               \
    }
#endif
#else
#define LISTED 0
#endif
