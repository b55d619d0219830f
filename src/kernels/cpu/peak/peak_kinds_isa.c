/* SPDX-License-Identifier: Apache-2.0 */
/* One loop for each kind of operation that kernels count, in the words that kernels are made of. */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/lanes.h"
#include "kernels/cpu/simd/simd_rows.h"

/* CHAINS: independent operations, as in the peak loops. LINES: vectors of a pass over the buffer.
 * STEP: floats between gathered elements. */
enum {
    CHAINS = 12,
    LINES = 64,
    STEP = 5,
    TABLE = 256,
};

_Static_assert((LINES + 1) * RY_W <= RY_KIND_FLOATS && RY_W * STEP * 8 <= RY_KIND_FLOATS,
               "the buffer holds a pass");
_Static_assert(TABLE <= RY_KIND_FLOATS, "the buffer holds the table");

static float first_lane(ry_vf v)
{
    float lanes[RY_W];
    ry_vf_store(lanes, v);
    return lanes[0];
}

static void begin(ry_vf chain[CHAINS])
{
    for (int i = 0; i < CHAINS; i++) {
        chain[i] = ry_vf_set(1.0f + (float)i);
    }
}

static float end(ry_vf chain[CHAINS])
{
    for (int i = 1; i < CHAINS; i++) {
        chain[0] = ry_vf_add(chain[0], chain[i]);
    }
    return first_lane(chain[0]);
}

/* A loop over independent chains, each step `expression` of `v`. The factors come from memory that
 * the compiler cannot see through. */
#define CHAIN_LOOP(name, expression)                            \
    static double name(size_t rounds, float *data, float *sink) \
    {                                                           \
        volatile float one = 1.0f, tiny = 1e-20f;               \
        const ry_vf a = ry_vf_set(one), b = ry_vf_set(tiny);    \
        ry_vf chain[CHAINS];                                    \
        (void)data, (void)a, (void)b;                           \
        begin(chain);                                           \
        for (size_t r = 0; r < rounds; r++) {                   \
            for (int i = 0; i < CHAINS; i++) {                  \
                const ry_vf v = chain[i];                       \
                chain[i] = (expression);                        \
            }                                                   \
        }                                                       \
        *sink = end(chain);                                     \
        return CHAINS * (double)rounds;                         \
    }

CHAIN_LOOP(kind_add, ry_vf_add(v, b))
CHAIN_LOOP(kind_divide, ry_vf_div(v, a))

static double kind_permute(size_t rounds, float *data, float *sink)
{
    int32_t lanes[RY_W];
    ry_vf chain[CHAINS];
    (void)data;
    for (int i = 0; i < RY_W; i++) {
        lanes[i] = (i + 1) % RY_W;
    }
    const ry_vi index = ry_vi_load(lanes);
    begin(chain);
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) {
            chain[i] = ry_vf_keep(ry_vf_permute(chain[i], index));
        }
    }
    *sink = end(chain);
    return CHAINS * (double)rounds;
}

/* Sums keep the compiler from leaving a load out; a core adds at least as often as it loads. */
#define LOAD_LOOP(name, expression)                             \
    static double name(size_t rounds, float *data, float *sink) \
    {                                                           \
        ry_vf sum[8];                                           \
        for (int i = 0; i < 8; i++) {                           \
            sum[i] = ry_vf_zero();                              \
        }                                                       \
        for (size_t r = 0; r < rounds; r++) {                   \
            for (int at = 0; at < LINES; at += 8) {             \
                for (int i = 0; i < 8; i++) {                   \
                    const float *p = data + (at + i) * RY_W;    \
                    sum[i] = ry_vf_add(sum[i], (expression));   \
                }                                               \
            }                                                   \
        }                                                       \
        for (int i = 1; i < 8; i++) {                           \
            sum[0] = ry_vf_add(sum[0], sum[i]);                 \
        }                                                       \
        *sink = first_lane(sum[0]);                             \
        return LINES * (double)rounds;                          \
    }

LOAD_LOOP(kind_load, ry_vf_load(p))
LOAD_LOOP(kind_split, ry_vf_load(p + 1))
LOAD_LOOP(kind_convert, ry_vf_load_f16((const uint16_t *)(const void *)p))

/* Counts elements. */
static double kind_gather(size_t rounds, float *data, float *sink)
{
    ry_vf sum = ry_vf_zero();
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < 8; i++) {
            const char *p = (const char *)(data + i * RY_W * STEP);
            sum = ry_vf_add(sum, ry_load_lanes(RY_f32, RY_APART, p, STEP, RY_EVERY_LANE));
        }
    }
    *sink = first_lane(sum);
    return 8.0 * RY_W * (double)rounds;
}

static double kind_store(size_t rounds, float *data, float *sink)
{
    const ry_vf zero = ry_vf_keep(ry_vf_zero());
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < LINES; i++) {
            ry_vf_store(data + i * RY_W, ry_vf_keep(zero));
        }
    }
    *sink = data[0];
    return LINES * (double)rounds;
}

static double kind_masked(size_t rounds, float *data, float *sink)
{
    const ry_vf zero = ry_vf_keep(ry_vf_zero());
    volatile int lanes = RY_W - 1;
    const ry_vm mask = ry_vm_first(lanes);
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < LINES; i++) {
            ry_vf_store_m(data + i * RY_W, mask, ry_vf_keep(zero));
        }
    }
    *sink = data[0];
    return LINES * (double)rounds;
}

/* Steps wait for each other, as addresses do that come from tables. */
static double kind_scalar(size_t rounds, float *data, float *sink)
{
    uint32_t *table = (uint32_t *)(void *)data, at = 0, sum = 0;
    for (uint32_t i = 0; i < TABLE; i++) {
        table[i] = 5 * i + 3;
    }
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < TABLE; i++) {
            at = table[at % TABLE] + sum;
            sum += at > 100 ? 3 : 1;
        }
    }
    for (uint32_t i = 0; i < TABLE; i++) {
        data[i] = 0;
    }
    *sink = (float)at;
    return TABLE * (double)rounds;
}

static double kind_chain(size_t rounds, float *data, float *sink)
{
    volatile float one = 1.0f, tiny = 1e-20f;
    const ry_vf a = ry_vf_set(one), b = ry_vf_set(tiny);
    ry_vf v = ry_vf_set(1.0f);
    (void)data;
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) {
            v = ry_vf_fma(v, a, b);
        }
    }
    *sink = first_lane(v);
    return CHAINS * (double)rounds;
}

typedef int (*called)(int, int);

static int add_one(int a, int b)
{
    return a + b;
}

static double kind_call(size_t rounds, float *data, float *sink)
{
    called volatile function = add_one;
    int sum = 0;
    (void)data;
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) {
            sum = function(sum & 0xff, i);
        }
    }
    *sink = (float)sum;
    return CHAINS * (double)rounds;
}

const ry_kind_loops RY_ISA_SYMBOL(peak_kinds) = {{
    [RYND_KIND_ADD] = kind_add,
    [RYND_KIND_DIVIDE] = kind_divide,
    [RYND_KIND_LOAD] = kind_load,
    [RYND_KIND_SPLIT] = kind_split,
    [RYND_KIND_GATHER] = kind_gather,
    [RYND_KIND_STORE] = kind_store,
    [RYND_KIND_MASKED] = kind_masked,
    [RYND_KIND_PERMUTE] = kind_permute,
    [RYND_KIND_CONVERT] = kind_convert,
    [RYND_KIND_SCALAR] = kind_scalar,
    [RYND_KIND_CHAIN] = kind_chain,
    [RYND_KIND_CALL] = kind_call,
}};
