/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: a pointwise expression of bytes, by a table. */
#include "kernels/cpu/expr/expr_runner.h"
#include "kernels/cpu/expr/table_plan.h"
#include "kernels/cpu/simd/simd.h"

/* Fills the table: the evaluator computes all bytes, part by part. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const expr_table_plan *plan = launch->state;
    _Alignas(RY_ALIGNMENT) char scratch[EXPR_TABLE_SCRATCH];
    ry_cpu_launch part = *launch;
    part.state = expr_table_evaluator(plan);
    part.scratch = scratch;
    part.phase = 0;
    for (int first = 0; first < EXPR_TABLE; first += EXPR_TABLE_PART) {
        uint8_t bytes[EXPR_TABLE_PART];
        for (int i = 0; i < EXPR_TABLE_PART; i++) {
            bytes[i] = (uint8_t)(first + i);
        }
        const void *in[1] = {bytes};
        void *out[1] = {(uint8_t *)launch->packed_out + first};
        part.in = in;
        part.out = out;
        for (size_t t = 0; t < plan->tasks; t++) {
            RY_ISA_SYMBOL(expr_run_task)(&part, t);
        }
    }
    (void)task;
}

#if defined(__AVX512F__)

/* 64 bytes at a time, where the processor permutes bytes of two registers. */
__attribute__((target("avx512vbmi"))) static int64_t
look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count)
{
    const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64),
                  t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
    int64_t i = 0;
    for (; i < count; i += 64) {
        const __mmask64 some = count - i >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << (count - i)) - 1;
        const __m512i at = _mm512_maskz_loadu_epi8(some, x + i);
        const __m512i low = _mm512_permutex2var_epi8(t0, at, t1),
                      high = _mm512_permutex2var_epi8(t2, at, t3);
        _mm512_mask_storeu_epi8(y + i, some,
                                _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
    return count;
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx512vbmi");
}

#elif defined(RY_NEON)

static int64_t look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t count)
{
    const uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64),
                       t2 = vld1q_u8_x4(table + 128), t3 = vld1q_u8_x4(table + 192);
    const uint8x16_t part = vdupq_n_u8(64);
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        uint8x16_t at = vld1q_u8(x + i);
        uint8x16_t found = vqtbl4q_u8(t0, at);
        found = vqtbx4q_u8(found, t1, at = vsubq_u8(at, part));
        found = vqtbx4q_u8(found, t2, at = vsubq_u8(at, part));
        vst1q_u8(y + i, vqtbx4q_u8(found, t3, vsubq_u8(at, part)));
    }
    return i;
}

static bool has_vectors(void)
{
    return true;
}

#endif

static void run(const ry_cpu_launch *launch, size_t task)
{
    const expr_table_plan *plan = launch->state;
    const uint8_t *table = launch->packed;
    const int64_t first = (int64_t)task * plan->bytes_of_task,
                  count = ry_min(plan->bytes_of_task, plan->bytes - first);
    const uint8_t *x = (const uint8_t *)launch->in[0] + first;
    uint8_t *y = (uint8_t *)launch->out[0] + first;
    int64_t i = 0;
#if defined(__AVX512F__) || defined(RY_NEON)
    i = has_vectors() ? look_up_vectors(table, x, y, count) : 0;
#endif
    for (; i + 4 <= count; i += 4) { /* four loads before a store: y may be x */
        const uint8_t a = table[x[i]], b = table[x[i + 1]], c = table[x[i + 2]],
                      d = table[x[i + 3]];
        y[i] = a;
        y[i + 1] = b;
        y[i + 2] = c;
        y[i + 3] = d;
    }
    for (; i < count; i++) {
        y[i] = table[x[i]];
    }
}

RY_CPU_KERNEL(expr_table, expr, strict, .simd = RY_SIMD, .applicable = ry_expr_table_takes,
              .prepare = ry_expr_table_prepare, .initialise = ry_expr_table_initialise,
              .pack = pack, .run = run);
