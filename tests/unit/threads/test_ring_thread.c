/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce on a ring, of ranks that are threads: sums of every count, the same bits on all ranks
 * and every time, in the order that ring.h states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ranks_case.h"

#include "exchange/exchanger.h"

enum { LARGEST = 1000, COUNTS = 8 };
static const size_t counts[COUNTS] = {0, 1, 2, 3, 7, 8, 64, LARGEST};
static float sums[MOST_RANKS][COUNTS][LARGEST];
static int results[MOST_RANKS][COUNTS];

/* Numbers whose sums are not exact: their order shows. */
static float number(int rank, size_t i)
{
    return (float)((i * 37 + (size_t)rank * 101) % 1009) / 997.0f + (float)(rank * rank);
}

static void *sum_all(rank_thread *r)
{
    const int rank = r->ring.rank;
    for (int c = 0; c < COUNTS; c++) {
        for (size_t i = 0; i < counts[c]; i++) {
            sums[rank][c][i] = number(rank, i);
        }
        results[rank][c] = r->exchange.all_reduce(r->exchange.user, sums[rank][c], counts[c]);
    }
    return NULL;
}

/* Piece p begins with rank p, and each rank behind it adds its own. */
static float expected(int ranks, size_t count, size_t i)
{
    const ry_ring ring = {.ranks = ranks};
    int piece = 0;
    while (ry_ring_piece(&ring, count, piece + 1) <= i) {
        piece++;
    }
    float sum = number(piece, i);
    for (int k = 1; k < ranks; k++) {
        sum = sum + number((piece + k) % ranks, i);
    }
    return sum;
}

static void sums_are_in_the_stated_order(void **state)
{
    (void)state;
    static rank_case all;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        memset(sums, 0, sizeof sums);
        run_ranks(&all, ranks, sum_all);
        for (int r = 0; r < ranks; r++) {
            for (int c = 0; c < COUNTS; c++) {
                assert_int_equal(results[r][c], 0);
                for (size_t i = 0; i < counts[c]; i++) {
                    const float wanted = expected(ranks, counts[c], i);
                    if (memcmp(&sums[r][c][i], &wanted, sizeof wanted) != 0) {
                        fail_msg("rank %d of %d, element %zu of %zu: %.9g, not %.9g", r, ranks, i,
                                 counts[c], (double)sums[r][c][i], (double)wanted);
                    }
                }
            }
        }
    }
}

static void pieces_are_even(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        const ry_ring ring = {.ranks = ranks};
        for (size_t count = 0; count < 40; count++) {
            assert_int_equal(ry_ring_piece(&ring, count, 0), 0);
            assert_int_equal(ry_ring_piece(&ring, count, ranks), count);
            for (int i = 0; i < ranks; i++) {
                const size_t size =
                    ry_ring_piece(&ring, count, i + 1) - ry_ring_piece(&ring, count, i);
                assert_true(size == count / (size_t)ranks || size == count / (size_t)ranks + 1);
            }
        }
    }
}

/* Notes the order, and that nothing goes before it was begun. */
typedef struct noted {
    float *order;
    int calls, fails_at;
} noted;

static int note(void *user, float *data, size_t count)
{
    noted *n = user;
    n->order[n->calls++] = data[0];
    for (size_t i = 0; i < count; i++) {
        data[i] *= 2;
    }
    return n->calls == n->fails_at ? -1 : 0;
}

static void buckets_go_in_their_order(void **state)
{
    (void)state;
    float order[16], data[3] = {1, 2, 3};
    noted n = {.order = order};
    const rynd_exchange exchange =
        RYND_SIZED(rynd_exchange, .ranks = 1, .all_reduce = note, .user = &n);
    const ry_bucket buckets[] = {{&data[0], 1}, {&data[1], 1}, {&data[2], 1}};
    ry_exchanger *x;
    ry_error error;
    assert_int_equal(ry_exchanger_create(&ry_system_allocator, &exchange, buckets, 3, &x, &error),
                     RYND_OK);
    for (int round = 0; round < 3; round++) {
        ry_exchanger_begin(x, 2);
        ry_exchanger_begin(x, 0);
        assert_int_equal(ry_exchanger_wait(x, 0, &error), RYND_OK);
        ry_exchanger_begin(x, 1);
        assert_int_equal(ry_exchanger_wait(x, 1, &error), RYND_OK);
        assert_int_equal(ry_exchanger_wait(x, 2, &error), RYND_OK);
    }
    ry_exchanger_destroy(x);
    assert_int_equal(n.calls, 9);
    for (int i = 0; i < 9; i++) {
        assert_true(order[i] == (float)((1 << i / 3) * (i % 3 + 1)));
    }
}

static void a_failure_is_told(void **state)
{
    (void)state;
    float order[16], data[2] = {1, 2};
    noted n = {.order = order, .fails_at = 2};
    const rynd_exchange exchange =
        RYND_SIZED(rynd_exchange, .rank = 1, .ranks = 2, .all_reduce = note, .user = &n);
    const ry_bucket buckets[] = {{&data[0], 1}, {&data[1], 1}};
    ry_exchanger *x;
    ry_error error;
    assert_int_equal(ry_exchanger_create(&ry_system_allocator, &exchange, buckets, 2, &x, &error),
                     RYND_OK);
    ry_exchanger_begin(x, 0);
    assert_int_equal(ry_exchanger_wait(x, 0, &error), RYND_OK);
    ry_exchanger_begin(x, 1);
    assert_int_equal(ry_exchanger_wait(x, 1, &error), RYND_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "rank 1 of 2"));
    assert_int_equal(ry_exchanger_wait(x, 1, &error), RYND_ERROR_DEVICE);
    ry_exchanger_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_even),
        cmocka_unit_test(sums_are_in_the_stated_order),
        cmocka_unit_test(buckets_go_in_their_order),
        cmocka_unit_test(a_failure_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
