/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of igemm.cl whose operands stay in registers: without local memory and without barriers, for GPUs whose
 * instructions read a register of any work-item of a sub-group (Intel's vector engines).
 *
 * A sub-group is SUBGROUP neighbouring work-items. One side of its sums lies along the lanes, as y lies in memory,
 * so that each item has its own element of that side; the other side is shared: each item has a part of its
 * TILE_K terms, and hands the others what they multiply. Shared operands lie across the lanes by their sides or,
 * where terms are beside each other in memory, by terms: two sides of TILE_K terms.
 *
 * Terms fill whole tiles. Those of convolutions are STEPPED through, so that all items share a cursor. Nothing is
 * divided behind the first tile. Defined for it: SUBGROUP_ITEMS; ARGUMENT_A, ARGUMENT_B: matrices' arguments. */
#define SUBGROUP  SUBGROUP_ITEMS
#define LANE      (OWN % SUBGROUP)
#define W_LANES   Y_ALONG_M
#define X_LANES   (!Y_ALONG_M)
/* Sub-groups along the tile's rows and columns, and where number s begins. */
#define GROUPS_M   (W_LANES ? ITEMS_M / SUBGROUP : ITEMS_M)
#define GROUPS_N   (X_LANES ? ITEMS_N / SUBGROUP : ITEMS_N)
#define FIRST_M(s) ((s) % GROUPS_M * (TILE_M / GROUPS_M))
#define FIRST_N(s) ((s) / GROUPS_M * (TILE_N / GROUPS_N))
#define SUM_M(i)   (FIRST_M(OWN / SUBGROUP) + (W_LANES ? (i) * SUBGROUP + LANE : (i)))
#define SUM_N(j)   (FIRST_N(OWN / SUBGROUP) + (X_LANES ? (j) * SUBGROUP + LANE : (j)))
#define SUM_OF(sum, i, j) ((sum)[(i) * ITEM_N + (j)])

/* What an item reads of a side: so many elements, of which number l is of that side and that term, from the
 * sub-group's first ones on. */
#define LOADS(lanes, item) ((lanes) ? (item) * TILE_K : TILE_K)
#define LOAD_SIDE(lanes, along_k, l)                                         \
    ((lanes)     ? (l) / TILE_K * SUBGROUP + LANE                            \
     : (along_k) ? (l) * (SUBGROUP / TILE_K) + LANE / TILE_K : LANE)
#define LOAD_TERM(lanes, along_k, l) (!(lanes) && (along_k) ? LANE % TILE_K : (l) % TILE_K)
#define LOADS_W    LOADS(W_LANES, ITEM_M)
#define LOADS_X    LOADS(X_LANES, ITEM_N)
#define LOAD_M(l)  LOAD_SIDE(W_LANES, W_ALONG_K, l)
#define LOAD_KW(l) LOAD_TERM(W_LANES, W_ALONG_K, l)
#define LOAD_N(l)  LOAD_SIDE(X_LANES, X_ALONG_K, l)
#define LOAD_KX(l) LOAD_TERM(X_LANES, X_ALONG_K, l)

/* Side i's operand of term k: an item's own, or another's. */
#define OPERAND(part, lanes, along_k, i, k)                              \
    ((lanes)     ? (part)[(i) * TILE_K + (k)]                            \
     : (along_k) ? FROM_LANE((part)[(i) / (SUBGROUP / TILE_K)],          \
                             (i) % (SUBGROUP / TILE_K) * TILE_K + (k))   \
                 : FROM_LANE((part)[k], i))

/* ---- w: packed, SUBGROUP rows of a term beside each other, or a matrix in memory ---- */
#if QUADS
#define STAGED_OF(bits) (bits)
#else
#define STAGED_OF(bits) f32_of_bits(bits)
#endif
#if PACKED_A
#define BEGIN_W                                                                           \
    OFFSET w_from = OFFSET_OF(packed) +                                                   \
                    (((OFFSET)t.batch * PACKED_PITCH + t.m + FIRST_M(subgroup)) * PACKED_TERMS + \
                     (OFFSET)weights_of(begin, t) * PANEL) * (uint)sizeof(STAGED);
#define FETCH_W(k0)                                                                       \
    UNROLL                                                                                \
    for (int l = 0; l < LOADS_W; l += 8) {                                                \
        uint bits[8];                                                                     \
        READ_LANES8(bits, NEAR(uint, packed, w_from + (uint)((l) / TILE_K * PACKED_TERMS * PANEL) *  \
                                                     (uint)sizeof(STAGED)))               \
        UNROLL                                                                            \
        for (int e = 0; e < 8; e++) {                                                     \
            w_part[l + e] = STAGED_OF(bits[e]);                                           \
        }                                                                                 \
    }
#if STEPPED && !ALL_TAPS
#define STEPS_W (TILE_K + c.skipped * TERM_CHANNELS)
#else
#define STEPS_W TILE_K
#endif
#define ADVANCE_W w_from += (uint)(STEPS_W * PANEL) * (uint)sizeof(STAGED);
#else
#define BEGIN_W  const INDEX a_base = AT_0(t.batch);
#define FETCH_W(k0)                                                                             \
    UNROLL                                                                                      \
    for (int l = 0; l < LOADS_W; l++) {                                                         \
        const int m = min(t.m + FIRST_M(subgroup) + LOAD_M(l), ROWS - 1);                       \
        const INDEX from = a_base + (INDEX)m * A_ROW + (INDEX)((k0) + LOAD_KW(l)) * A_TERM;     \
        w_part[l] = STAGE_A(*NEAR(TYPE_A, ARGUMENT_A,                                           \
                                  OFFSET_OF(ARGUMENT_A) + (OFFSET)from * (uint)sizeof(TYPE_A))); \
    }
#define ADVANCE_W
#endif

/* ---- x: gathered by a convolution's window, or a matrix in memory ---- */
#if CONVOLUTION
/* The columns of an item's loads, where they begin and which taps read inside. What is outside is read at the
 * tensor's begin, and not used: a branch would keep loads from running together. */
#define COLUMNS   (X_LANES ? ITEM_N : X_ALONG_K ? LOADS_X : 1)
#define COLUMN(l) (X_LANES ? (l) / TILE_K : X_ALONG_K ? (l) : 0)
#define OF_COLUMN (LOADS_X / COLUMNS)
#define BYTES_X   (uint)sizeof(TYPE_0)
#define NO_MASK   (!MASK_0 && !MASK_1 && !MASK_2)
#define BEGIN_X                                                                                \
    OFFSET base[COLUMNS];                                                                      \
    uint inside[COLUMNS];                                                                      \
    cursor c = cursor_at(begin, t, IN(TYPE_0, 0));                                             \
    UNROLL                                                                                     \
    for (int l = 0; l < LOADS_X; l += OF_COLUMN) {                                             \
        INDEX first;                                                                           \
        find_column(t.n + FIRST_N(subgroup) + LOAD_N(l), t, &first, &inside[COLUMN(l)]);       \
        base[COLUMN(l)] = (OFFSET)(first + LOAD_KX(l) * X_CHANNEL) * BYTES_X;                  \
    }
#define FETCH_X(k0)                                                                            \
    const OFFSET stepped = (OFFSET)(ulong)c.x - (OFFSET)(ulong)in0_base;                                     \
    UNROLL                                                                                     \
    for (int l = 0; l < LOADS_X; l++) {                                                        \
        const int channel = c.channel + LOAD_KX(l),                                            \
                  is_channel = TERM_CHANNELS == CHANNELS || channel < CHANNELS,                \
                  is_tap = NO_MASK || (inside[COLUMN(l)] & c.tap) != 0,                                   \
                  there = is_tap & is_channel;                                                 \
        const OFFSET first = ((OF_COLUMN == 1 ? there : is_tap) ? base[COLUMN(l)] + stepped    \
                                                                : OFFSET_OF(in0)),             \
                     step = is_channel ? (uint)((l) % OF_COLUMN * X_CHANNEL) * BYTES_X : 0;    \
        const FETCHED_X v = X_ELEMENT(NEAR(TYPE_0, in0, first + step), 0, there ? channel : 0);   \
        x_part[l] = STAGE_X(there ? v : X_OUTSIDE);                                            \
    }
#define ADVANCE_X advance(&c);
#else
#define BEGIN_X  const INDEX b_base = AT_1(t.batch);
#define FETCH_X(k0)                                                                             \
    UNROLL                                                                                      \
    for (int l = 0; l < LOADS_X; l++) {                                                         \
        const int n = min(t.n + FIRST_N(subgroup) + LOAD_N(l), N - 1);                          \
        const INDEX from = b_base + (INDEX)n * B_COLUMN + (INDEX)((k0) + LOAD_KX(l)) * B_TERM;  \
        x_part[l] = STAGE_X(*NEAR(TYPE_B, ARGUMENT_B,                                           \
                                  OFFSET_OF(ARGUMENT_B) + (OFFSET)from * (uint)sizeof(TYPE_B))); \
    }
#define ADVANCE_X
#endif

KERNEL_OF_SUBGROUPS(run, SUBGROUP_ITEMS)(ARGUMENTS)
{
    const tile t = tile_of(GROUP);
    const int begin = FIRST_TERM(t), end = END_TERM(t);
    const int subgroup = FROM_LANE(ITEM / SUBGROUP, 0); /* the same for all, as compilers see */
    SUM sum[ITEM_M * ITEM_N];
    BEGIN_W
    BEGIN_X
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        sum[l] = 0;
    }
    for (int k0 = begin; k0 < end; k0 += TILE_K) {
        STAGED w_part[LOADS_W], x_part[LOADS_X];
        FETCH_W(k0)
        FETCH_X(k0)
        ADVANCE_X
        ADVANCE_W
        UNROLL
        for (int k = 0; k < TILE_K; k++) {
            UNROLL
            for (int i = 0; i < ITEM_M; i++) {
                UNROLL
                for (int j = 0; j < ITEM_N; j++) {
                    ADD_PRODUCT(SUM_OF(sum, i, j), OPERAND(w_part, W_LANES, W_ALONG_K, i, k),
                                OPERAND(x_part, X_LANES, X_ALONG_K, j, k));
                }
            }
        }
    }
    END_SUMS(sum)
}
