/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the generator's published vectors, distributions, and that a number depends on
 * its place alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include <math.h>
#include <rynd/rynd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 1 << 20 };

/* kat_vectors of Random123, the authors' own library. */
static void test_published_vectors(void **state)
{
    (void)state;
    static const struct {
        ry_philox_block counter;
        uint32_t key[2];
        ry_philox_block result;
    } cases[] = {
        {{{0}}, {0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
        {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         {0xffffffff, 0xffffffff},
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {0xa4093822, 0x299f31d0},
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ry_philox_block got = ry_philox(cases[i].counter, cases[i].key[0], cases[i].key[1]);
        assert_memory_equal(&got, &cases[i].result, sizeof got);
    }
}

/* The third vector by the public function: seed and place are where the header says. */
static void test_place_of_words(void **state)
{
    (void)state;
    const rynd_random random = {
        .seed = UINT64_C(0x299f31d0a4093822), .stream = 0x03707344, .step = 0x13198a2e};
    static const uint32_t words[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    float got[4];
    const rynd_random low = {.seed = 7, .stream = 1, .step = 2};
    const ry_philox_block five = ry_philox((ry_philox_block){{5, 0, 2, 1}}, 7, 0);
    assert_int_equal(rynd_random_uniform(&low, 20, 4, got), RYND_OK);
    for (int i = 0; i < 4; i++) {
        assert_true(got[i] == (float)(five.word[i] >> 8) * 0x1p-24f);
    }
    const ry_random inside = {random.seed, random.stream, random.step};
    const ry_philox_block block = ry_random_block(&inside, UINT64_C(0x85a308d3243f6a88));
    assert_memory_equal(block.word, words, sizeof words);
}

/* The quantile in double precision by Python's statistics.NormalDist, rounded. */
static void test_normal_values(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        float value;
    } cases[] = {
        {0x00000000, -0x1.95a11a0000000p+2f}, {0x00000001, -0x1.8aa6c80000000p+2f},
        {0x000003e8, -0x1.428cec0000000p+2f}, {0x12345678, -0x1.77b2640000000p+0f},
        {0x13333333, -0x1.7085220000000p+0f}, {0x13333334, -0x1.7085220000000p+0f},
        {0x80000000, 0x1.40d9320000000p-32f}, {0x7fffffff, -0x1.40d9320000000p-32f},
        {0xecccccc0, 0x1.7085220000000p+0f},  {0xffffffff, 0x1.95a11a0000000p+2f},
        {0xfffffffe, 0x1.8aa6c80000000p+2f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(ry_random_normal_of(cases[i].word) == cases[i].value);
    }
}

/* Mean and variance within five standard errors. */
static void check_moments(const float *values, double mean, double variance, double fourth)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < MANY; i++) {
        sum += values[i];
        squares += (values[i] - mean) * (values[i] - mean);
    }
    assert_true(fabs(sum / MANY - mean) < 5 * sqrt(variance / MANY));
    assert_true(fabs(squares / MANY - variance) < 5 * sqrt((fourth - variance * variance) / MANY));
}

static void test_moments(void **state)
{
    (void)state;
    float *values = malloc(MANY * sizeof *values);
    assert_non_null(values);
    const rynd_random random = {.seed = 3, .stream = 4};
    assert_int_equal(rynd_random_uniform(&random, 0, MANY, values), RYND_OK);
    for (size_t i = 0; i < MANY; i++) {
        assert_true(values[i] >= 0 && values[i] < 1);
    }
    check_moments(values, 0.5, 1.0 / 12, 1.0 / 80);
    assert_int_equal(rynd_random_normal(&random, 0, MANY, values), RYND_OK);
    check_moments(values, 0, 1, 3);
    free(values);
}

/* Any part of a row is the row's part; another seed, stream or step is another row. */
static void test_parts(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    typedef rynd_status function(const rynd_random *, uint64_t, size_t, float *);
    static function *const functions[] = {rynd_random_uniform, rynd_random_normal};
    const rynd_random random = {.seed = 1, .stream = 2, .step = 3};
    const rynd_random others[] = {{.seed = 2, .stream = 2, .step = 3},
                                  {.seed = UINT64_C(1) << 32 | 1, .stream = 2, .step = 3},
                                  {.seed = 1, .stream = 3, .step = 2},
                                  {.seed = 1, .stream = 2, .step = 4}};
    for (int f = 0; f < 2; f++) {
        float row[COUNT], part[COUNT];
        assert_int_equal(functions[f](&random, 0, COUNT, row), RYND_OK);
        for (size_t first = 0; first < 9; first++) {
            for (size_t count = 0; count < 9; count++) {
                assert_int_equal(functions[f](&random, first, count, count ? part : NULL), RYND_OK);
                assert_memory_equal(row + first, part, count * sizeof *part);
            }
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            assert_int_equal(functions[f](&others[i], 0, COUNT, part), RYND_OK);
            assert_true(memcmp(row, part, sizeof row) != 0);
        }
    }
}

static void test_permutations(void **state)
{
    (void)state;
    enum { COUNT = 1000, TURNS = 2000 };
    uint64_t order[COUNT], seen[4][4] = {{0}};
    bool there[COUNT] = {false};
    rynd_random random = {.seed = 5};
    assert_int_equal(rynd_random_permutation(&random, COUNT, order), RYND_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(order[i] < COUNT && !there[order[i]]);
        there[order[i]] = true;
    }
    assert_int_equal(rynd_random_permutation(&random, 0, NULL), RYND_OK);
    /* each of four stands at each place in a quarter of the orders, within five deviations */
    for (random.step = 0; random.step < TURNS; random.step++) {
        assert_int_equal(rynd_random_permutation(&random, 4, order), RYND_OK);
        for (int i = 0; i < 4; i++) {
            seen[i][order[i]]++;
        }
    }
    for (int i = 0; i < 16; i++) {
        assert_true(fabs((double)seen[i / 4][i % 4] - TURNS / 4.0) < 5 * sqrt(TURNS * 0.25 * 0.75));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_place_of_words),
        cmocka_unit_test(test_normal_values),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
