/* SPDX-License-Identifier: Apache-2.0 */
/* The two innermost loops of the strided copy for one size of element; strided_planes.c includes
 * this text once a size with
 *
 *   UNIT   the element's type        LANES   elements of a 16-byte vector
 *   NAME   makes this size's names   ZIP_LO, ZIP_HI   the indices that interleave the lower and
 * upper halves of two vectors
 *
 * A plane is n1 rows of n0 elements: element (i, j) goes from src + i*s1 + j*s0 to dst + i*d1 +
 * j*d0; strides in bytes. Memory need not be aligned to the element, so types carry aligned(1). */

typedef UNIT NAME(unit) __attribute__((aligned(1), may_alias));

static inline UNIT NAME(load)(const char *at)
{
    return *(const NAME(unit) *)at;
}

static inline void NAME(store)(char *at, UNIT value)
{
    *(NAME(unit) *)at = value;
}

static void NAME(fill_rows)(const plane *p)
{
    for (int64_t i = 0; i < p->n1; i++) {
        NAME(unit) *d = (NAME(unit) *)(p->dst + i * p->d1);
        UNIT value = NAME(load)(p->src + i * p->s1);
        if (p->n0 >= LONG_FILL && is_one_byte(p->src + i * p->s1, sizeof value)) {
            memset(d, p->src[i * p->s1], (size_t)p->n0 * sizeof value);
            continue;
        }
        for (int64_t j = 0; j < p->n0; j++) {
            d[j] = value;
        }
    }
}

static void NAME(reverse_rows)(const plane *p)
{
    for (int64_t i = 0; i < p->n1; i++) {
        NAME(unit) *d = (NAME(unit) *)(p->dst + i * p->d1);
        const NAME(unit) *s = (const NAME(unit) *)(p->src + i * p->s1);
        for (int64_t j = 0; j < p->n0; j++) {
            d[j] = s[-j];
        }
    }
}

static void NAME(any_rows)(const plane *p)
{
    for (int64_t i = 0; i < p->n1; i++) {
        char *d = p->dst + i * p->d1;
        const char *s = p->src + i * p->s1;
        for (int64_t j = 0; j < p->n0; j++, d += p->d0, s += p->s0) {
            NAME(store)(d, NAME(load)(s));
        }
    }
}

/* Two to four rows of the source become one row with their elements side by side. The counts are
 * constants so that compilers vectorise. */
static void NAME(interleave)(const plane *p)
{
    NAME(unit) *restrict d = (NAME(unit) *)p->dst;
    const NAME(unit) *restrict s0 = (const NAME(unit) *)p->src;
    const NAME(unit) *restrict s1 = (const NAME(unit) *)(p->src + p->s0);
    const NAME(unit) *restrict s2 = (const NAME(unit) *)(p->src + (p->n0 > 2 ? 2 * p->s0 : 0));
    const NAME(unit) *restrict s3 = (const NAME(unit) *)(p->src + (p->n0 > 3 ? 3 * p->s0 : 0));
    switch (p->n0) {
    case 2:
        for (int64_t i = 0; i < p->n1; i++) {
            d[2 * i] = s0[i];
            d[2 * i + 1] = s1[i];
        }
        break;
    case 3:
        for (int64_t i = 0; i < p->n1; i++) {
            d[3 * i] = s0[i];
            d[3 * i + 1] = s1[i];
            d[3 * i + 2] = s2[i];
        }
        break;
    default:
        for (int64_t i = 0; i < p->n1; i++) {
            d[4 * i] = s0[i];
            d[4 * i + 1] = s1[i];
            d[4 * i + 2] = s2[i];
            d[4 * i + 3] = s3[i];
        }
        break;
    }
}

/* Every second, third or fourth element of a row. */
static void NAME(step_rows)(const plane *p)
{
    for (int64_t i = 0; i < p->n1; i++) {
        NAME(unit) *restrict d = (NAME(unit) *)(p->dst + i * p->d1);
        const NAME(unit) *restrict s = (const NAME(unit) *)(p->src + i * p->s1);
        switch (p->s0 / (int64_t)sizeof(UNIT)) {
        case 2:
            for (int64_t j = 0; j < p->n0; j++) {
                d[j] = s[2 * j];
            }
            break;
        case 3:
            for (int64_t j = 0; j < p->n0; j++) {
                d[j] = s[3 * j];
            }
            break;
        default:
            for (int64_t j = 0; j < p->n0; j++) {
                d[j] = s[4 * j];
            }
            break;
        }
    }
}

#if LANES > 1
typedef UNIT NAME(vector) __attribute__((vector_size(16)));
typedef UNIT NAME(loose_vector) __attribute__((vector_size(16), aligned(1), may_alias));

/* A LANES x LANES block: row i of dst is column i of src. log2(LANES) rounds of interleaving row r
 * with row r + LANES/2 transpose. */
static inline __attribute__((always_inline)) void NAME(block)(char *dst, int64_t d1,
                                                              const char *src, int64_t s0)
{
    NAME(vector) a[LANES], b[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        a[i] = *(const NAME(loose_vector) *)(src + i * s0);
    }
#pragma GCC unroll 4
    for (int round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + LANES / 2], ZIP_LO);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + LANES / 2], ZIP_HI);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            a[i] = b[i];
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        *(NAME(loose_vector) *)(dst + i * d1) = a[i];
    }
}
#else
static inline void NAME(block)(char *dst, int64_t d1, const char *src, int64_t s0)
{
    (void)d1;
    (void)s0;
    NAME(store)(dst, NAME(load)(src));
}
#endif

/* d0 and s1 are one element: a transposition, by blocks whose rows fill cache lines on both sides.
 */
static void NAME(transpose)(const plane *p)
{
    enum { LINE = 64 / sizeof(UNIT) };
    const int64_t size = sizeof(UNIT);
    for (int64_t i0 = 0; i0 < p->n1; i0 += LINE) {
        int64_t i1 = i0 + LINE < p->n1 ? i0 + LINE : p->n1;
        for (int64_t j0 = 0; j0 < p->n0; j0 += LANES) {
            const char *s = p->src + j0 * p->s0;
            char *d = p->dst + j0 * size;
            int64_t rows = p->n0 - j0 < LANES ? p->n0 - j0 : LANES;
            int64_t i = i0;
            for (; rows == LANES && i + LANES <= i1; i += LANES) {
                NAME(block)(d + i * p->d1, p->d1, s + i * size, p->s0);
            }
            for (; i < i1; i++) {
                for (int64_t j = 0; j < rows; j++) {
                    NAME(store)(d + i * p->d1 + j * size, NAME(load)(s + i * size + j * p->s0));
                }
            }
        }
    }
}

static void NAME(plane)(const plane *p)
{
    switch (ry_plane_loop_of(p, sizeof(UNIT))) {
    case RY_PLANE_FILL: NAME(fill_rows)(p); break;
    case RY_PLANE_REVERSED: NAME(reverse_rows)(p); break;
    case RY_PLANE_INTERLEAVED: NAME(interleave)(p); break;
    case RY_PLANE_STEPPED: NAME(step_rows)(p); break;
    case RY_PLANE_TRANSPOSED: NAME(transpose)(p); break;
    default: NAME(any_rows)(p); break;
    }
}

#undef UNIT
#undef LANES
#undef NAME
#undef ZIP_LO
#undef ZIP_HI
