/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and remainders of integers against 64-bit arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kernel.h"
#include "expr_evaluation.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const kernel_names[] = {"expr_generic", "expr_neon", "expr_avx2", "expr_avx512"};

/* a / b and the two remainders as 64-bit integers have them, cut to the type. */
static void check_quotients(ry_dtype dtype, int64_t n, const void *a, const void *b, void *y)
{
    static const char *const text[] = {"x0 / x1", "fmod(x0, x1)", "mod(x0, x1)"};
    for (size_t k = 0; k < 3 * COUNT(kernel_names); k++) {
        const ry_kernel *kernel = expr_kernel(kernel_names[k / 3]);
        if (!kernel) {
            continue;
        }
        expr_map(kernel, text[k % 3], dtype, n, a, b, dtype, y);
        for (int64_t i = 0; i < n; i++) {
            const int64_t p = ry_get_i64(dtype, a, i), q = ry_get_i64(dtype, b, i),
                          rest = q ? p % q : 0,
                          floored = rest != 0 && (rest < 0) != (q < 0) ? rest + q : rest;
            int64_t truth = k % 3 == 0 ? (q ? p / q : 0) : k % 3 == 1 ? rest : floored;
            unsigned char cut[8] = {0};
            ry_set_i64(dtype, cut, 0, truth);
            if (ry_get_i64(dtype, y, i) != ry_get_i64(dtype, cut, 0)) {
                fail_msg("%s: %s of %s %lld and %lld: %lld", kernel->name, text[k % 3],
                         ry_dtype_name(dtype), (long long)p, (long long)q,
                         (long long)ry_get_i64(dtype, y, i));
            }
        }
    }
}

/* All pairs of bytes; of longer types, multiples of a divisor and their neighbours. */
static void integer_quotients(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_i8, RY_u8, RY_i16, RY_u16, RY_i32, RY_u32};
    enum { PAIRS = 1 << 16 };
    static int32_t a[PAIRS], b[PAIRS], y[PAIRS];
    for (size_t t = 0; t < COUNT(types); t++) {
        const unsigned bits = 8 * (unsigned)ry_dtype_size(types[t]);
        uint64_t random = t;
        for (int64_t i = 0; i < PAIRS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint64_t q = random >> 32 >> (random >> 8) % bits,
                           p = q * ((random >> 16) % 65536) + (uint64_t)i % 3 - 1;
            ry_set_i64(types[t], a, i, (int64_t)(bits == 8 ? (uint64_t)i % 256 : p));
            ry_set_i64(types[t], b, i, (int64_t)(bits == 8 ? (uint64_t)i / 256 : q));
        }
        ry_set_i64(types[t], a, 0, bits == 32 ? INT32_MIN : -32768);
        ry_set_i64(types[t], b, 0, -1);
        check_quotients(types[t], PAIRS, a, b, y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
