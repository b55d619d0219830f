/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of pictures to train on: what is a pair, and both are cut, mirrored and turned together. */
#define _XOPEN_SOURCE 700

#include "dataset_case.h"
#include "train_augment.h"

#include <math.h>

static void test_pairs(void **state)
{
    (void)state;
    const cli_data_wish by_two = {.factor = 2};
    make_folder("pairs");
    make_folder("pairs/high");
    expect_refused("pairs", &no_wish, "has no picture");
    write_picture("pairs/high/a.png", 9, 12, 3);
    write_picture("pairs/high/b.png", 8, 8, 4);
    expect_refused("pairs", &no_wish, "--factor N");
    char path[256];
    snprintf(path, sizeof path, "%s", at("pairs"));
    cli_dataset set = open_set(path, &by_two);
    cli_sample sample;
    cli_failure failure = {0};
    assert_true(set.pairs && set.count == 2 && set.class_count == 0);
    assert_true(set.kind->read(&set, 0, &sample, &failure));
    assert_true(sample.picture.height == 4 && sample.picture.width == 6);
    assert_true(sample.target.height == 8 && sample.target.width == 12);
    cli_sample_free(&sample);
    cli_dataset_close(&set);
    make_folder("pairs/low");
    write_picture("pairs/low/a.png", 3, 4, 3);
    expect_refused("pairs", &no_wish, "'high/b.png' has no picture of that name in 'low'");
    write_picture("pairs/low/c.png", 3, 4, 3);
    expect_refused("pairs", &no_wish, "'high/b.png' has no picture of that name in 'low'");
    assert_int_equal(rename(at("pairs/low/c.png"), at("pairs/low/b.png")), 0);
    set = open_set(path, &no_wish);
    assert_true(set.kind->read(&set, 0, &sample, &failure));
    assert_true(sample.picture.height == 3 && sample.target.height == 9);
    cli_sample_free(&sample);
    assert_false(set.kind->read(&set, 1, &sample, &failure));
    assert_non_null(strstr(failure.text, "not a whole number of times as large"));
    cli_dataset_close(&set);
}

/* Both pictures of a pair are cut at the same place, and mirrored together. */
static void test_pairs_at_random(void **state)
{
    (void)state;
    make_folder("sr");
    make_folder("sr/high");
    make_folder("sr/low");
    write_picture("sr/low/a.png", 20, 30, 1);
    cli_image large;
    cli_failure failure = {0};
    assert_true(cli_image_make(&large, 40, 60, 3, "a", &failure));
    for (int i = 0; i < 40 * 60; i++) { /* red and green: of the small pixel that it belongs to */
        large.pixels[3 * i] = (float)(i % 60 / 2);
        large.pixels[3 * i + 1] = (float)(i / 60 / 2);
    }
    assert_true(cli_image_write(at("sr/high/a.png"), &large, &failure));
    cli_image_free(&large);
    char path[256];
    snprintf(path, sizeof path, "%s", at("sr"));
    cli_dataset set = open_set(path, &no_wish);
    const cli_augment augment = {.pad = -1, .flip = true};
    bool mirrored = false, straight = false, moved = false;
    for (uint32_t epoch = 0; epoch < 20; epoch++) {
        const cli_draw draw = {1, epoch, 0};
        cli_sample s;
        assert_true(set.kind->read(&set, 0, &s, &failure));
        assert_true(cli_augment_pair(&augment, &draw, (cli_extent){5, 6}, &s, path, &failure));
        assert_true(s.picture.height == 5 && s.picture.width == 6);
        assert_true(s.target.height == 10 && s.target.width == 12);
        for (int y = 0; y < 10; y++) {
            for (int x = 0; x < 12; x++) {
                const float *l = s.picture.pixels + 3 * ((y / 2) * 6 + x / 2);
                const float *h = s.target.pixels + 3 * (y * 12 + x);
                assert_true(l[0] == h[0] && l[1] == h[1]);
            }
        }
        mirrored = mirrored || s.picture.pixels[0] > s.picture.pixels[3];
        straight = straight || s.picture.pixels[0] < s.picture.pixels[3];
        moved = moved || s.picture.pixels[1] != 7;
        cli_sample_free(&s);
    }
    assert_true(mirrored && straight && moved);
    cli_dataset_close(&set);
}

/* Behind the test above: all four turns come, of an odd and of an even square, without mirrors: red
 * grows in one direction, and green in the one that is a quarter to the right of it. */
static void test_pairs_are_turned(void **state)
{
    (void)state;
    cli_failure failure = {0};
    char path[256];
    snprintf(path, sizeof path, "%s", at("sr"));
    cli_dataset set = open_set(path, &no_wish);
    const cli_augment augment = {.pad = -1, .turn = true};
    for (int side = 5; side <= 6; side++) {
        int seen[4] = {0};
        for (uint32_t epoch = 0; epoch < 40; epoch++) {
            const cli_draw draw = {1, epoch, 0};
            cli_sample s;
            assert_true(set.kind->read(&set, 0, &s, &failure));
            assert_true(
                cli_augment_pair(&augment, &draw, (cli_extent){side, side}, &s, path, &failure));
            const float *l = s.picture.pixels, *down = l + 3 * side;
            const float red_x = l[3] - l[0], red_y = down[0] - l[0], green_x = l[4] - l[1],
                        green_y = down[1] - l[1];
            assert_true(fabsf(red_x) + fabsf(red_y) == 1 && green_x == -red_y && green_y == red_x);
            seen[red_x > 0 ? 0 : red_x < 0 ? 1 : red_y > 0 ? 2 : 3]++;
            for (int i = 0; i < 4 * side * side; i++) {
                const float *h = s.target.pixels + 3 * i;
                const float *of = l + 3 * (i / (2 * side) / 2 * side + i % (2 * side) / 2);
                assert_true(of[0] == h[0] && of[1] == h[1]);
            }
            cli_sample_free(&s);
        }
        assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
    }
    cli_dataset_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_at_random),
        cmocka_unit_test(test_pairs_are_turned),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
