/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of pictures at random, one by one: levels, colours, operations of RandAugment, mixed
 * rows, boxes that move with their pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mixup.h"
#include "picture_colours.h"
#include "rand_augment.h"
#include "train_augment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 18, WIDTH = 28, OPERATIONS = 14 };

static cli_image ramp(int channels)
{
    cli_image image;
    cli_failure failure = {0};
    assert_true(cli_image_make(&image, HEIGHT, WIDTH, channels, "ramp", &failure));
    for (int i = 0; i < HEIGHT * WIDTH * channels; i++) {
        image.pixels[i] = (float)(40 + i * 37 % 160);
    }
    return image;
}

static float at(const cli_image *image, int64_t y, int64_t x, int c)
{
    return image->pixels[(y * image->width + x) * image->channels + c];
}

static void assert_near(float value, double expected)
{
    if (!(fabs((double)value - expected) <= 1e-3)) {
        fail_msg("%g where %g is expected", (double)value, expected);
    }
}

static void test_levels(void **state)
{
    (void)state;
    cli_image image = ramp(3), before = ramp(3);
    cli_picture_posterize(&image, 3);
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
        assert_near(image.pixels[i], (double)((int)before.pixels[i] / 32 * 32));
    }
    cli_image_free(&image);
    image = ramp(3);
    cli_picture_solarize(&image, 100);
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
        const double b = (double)before.pixels[i];
        assert_near(image.pixels[i], b >= 100 ? 255 - b : b);
    }
    cli_image_free(&image);
    image = ramp(1);
    cli_picture_autocontrast(&image); /* 40 to 199 become 0 to 255 */
    cli_image grey = ramp(1);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        float least = 255, most = 0;
        for (int k = 0; k < HEIGHT * WIDTH; k++) {
            least = fminf(least, grey.pixels[k]);
            most = fmaxf(most, grey.pixels[k]);
        }
        assert_near(image.pixels[i],
                    ((double)grey.pixels[i] - (double)least) * 255 / (double)(most - least));
    }
    cli_image_free(&grey);
    cli_image_free(&image);
    cli_image_free(&before);
}

/* Three levels of 256, 256 and 512 pixels: PIL's step is 512 / 255 = 2, so that the sums 1, 257 and
 * 513, halved, are 0, 128 and 255. */
static void test_equalize(void **state)
{
    (void)state;
    cli_image image;
    cli_failure failure = {0};
    assert_true(cli_image_make(&image, 32, 32, 1, "levels", &failure));
    for (int i = 0; i < 1024; i++) {
        image.pixels[i] = i < 256 ? 10 : i < 512 ? 20 : 200;
    }
    cli_picture_equalize(&image);
    assert_near(image.pixels[0], 0);
    assert_near(image.pixels[300], 128);
    assert_near(image.pixels[1000], 255);
    for (int i = 0; i < 1024; i++) {
        image.pixels[i] = 77;
    }
    cli_picture_equalize(&image);
    assert_near(image.pixels[5], 77);
    cli_image_free(&image);
}

static void test_colours(void **state)
{
    (void)state;
    cli_image image = ramp(3), before = ramp(3);
    cli_failure failure = {0};
    cli_picture_saturation(&image, 0); /* grey */
    const double grey = 0.299 * (double)at(&before, 4, 5, 0) +
                        0.587 * (double)at(&before, 4, 5, 1) + 0.114 * (double)at(&before, 4, 5, 2);
    for (int c = 0; c < 3; c++) {
        assert_near(at(&image, 4, 5, c), grey);
    }
    cli_image_free(&image);
    image = ramp(3);
    cli_picture_contrast(&image, 0);
    assert_near(at(&image, 0, 0, 0), (double)at(&image, 8, 13, 2));
    cli_image_free(&image);
    image = ramp(3);
    cli_picture_brightness(&image, 2);
    assert_near(at(&image, 3, 3, 1), fmin(255, 2 * (double)at(&before, 3, 3, 1)));
    cli_image_free(&image);
    image = ramp(3);
    assert_true(cli_picture_sharpness(&image, 0, &failure)); /* blurred, but for the border */
    double sum = 4 * (double)at(&before, 2, 6, 1);
    for (int y = 1; y <= 3; y++) {
        for (int x = 5; x <= 7; x++) {
            sum += (double)at(&before, y, x, 1);
        }
    }
    assert_near(at(&image, 2, 6, 1), sum / 13);
    assert_near(at(&image, 0, 6, 1), (double)at(&before, 0, 6, 1));
    assert_near(at(&image, 5, WIDTH - 1, 1), (double)at(&before, 5, WIDTH - 1, 1));
    cli_image_free(&image);
    cli_image_free(&before);
}

static cli_image changed(int operation, float side, int64_t magnitude)
{
    cli_failure failure = {0};
    cli_image image = ramp(3);
    assert_true(cli_rand_augment(&image, ((float)operation + 0.5f) / OPERATIONS, side, magnitude,
                                 "ramp", &failure));
    assert_true(image.height == HEIGHT && image.width == WIDTH && image.channels == 3);
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
        assert_true(image.pixels[i] >= 0 && image.pixels[i] <= 255);
    }
    return image;
}

static bool same(const cli_image *a, const cli_image *b)
{
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
        if (fabsf(a->pixels[i] - b->pixels[i]) > 1e-3f) {
            return false;
        }
    }
    return true;
}

/* Without magnitude only the two operations that have none change a picture; with it all but the
 * first do, and the sides differ where there are two. */
static void test_rand_augment(void **state)
{
    (void)state;
    enum { ONE_SIDED = 10, STRETCHING = 12 };
    cli_image before = ramp(3);
    for (int o = 0; o < OPERATIONS; o++) {
        cli_image nothing = changed(o, 0, 0), one = changed(o, 0, 20), other = changed(o, 0.9f, 20);
        assert_int_equal(same(&nothing, &before), o < STRETCHING);
        assert_int_equal(same(&one, &before), o == 0);
        assert_int_equal(same(&one, &other), o == 0 || o >= ONE_SIDED);
        cli_image_free(&nothing);
        cli_image_free(&one);
        cli_image_free(&other);
    }
    cli_image_free(&before);
}

/* Where pixels go: rows by a third of the distance, whole shifts, the middle of a turn. */
static void test_warps(void **state)
{
    (void)state;
    enum { SHEAR_X = 1, TRANSLATE_X = 3, TRANSLATE_Y = 4, ROTATE = 5 };
    cli_image before = ramp(3), image = changed(SHEAR_X, 0.9f, 30);
    assert_near(at(&image, 8, 2, 0), (double)at(&before, 8, 5, 0)); /* 2.5 + 0.3 * 8.5 */
    assert_near(at(&image, 0, 2, 0), (double)at(&before, 0, 2, 0));
    cli_image_free(&image);
    image = changed(TRANSLATE_X, 0.9f, 30); /* 28 * 150 / 331: 12 */
    assert_near(at(&image, 3, 1, 2), (double)at(&before, 3, 13, 2));
    assert_near(at(&image, 3, 16, 2), 0);
    cli_image_free(&image);
    image = changed(TRANSLATE_Y, 0, 30); /* 18 * 150 / 331: 8, downwards */
    assert_near(at(&image, 9, 1, 2), (double)at(&before, 1, 1, 2));
    assert_near(at(&image, 7, 1, 2), 0);
    cli_image_free(&image);
    image = changed(ROTATE, 0.9f, 30);
    const double u = 10.5 - 14, v = 4.5 - 9; /* pixel (4, 10), from the middle */
    const double x = 0.8660254 * u - 0.5 * v + 14, y = 0.5 * u + 0.8660254 * v + 9;
    assert_near(at(&image, 4, 10, 0), (double)at(&before, (int64_t)y, (int64_t)x, 0));
    assert_near(at(&image, 0, 0, 1), 0);
    cli_image_free(&image);
    cli_image_free(&before);
}

/* Beta(a, a) has the mean 1/2 and the variance 1 / (4 (2 a + 1)). */
static void test_shares(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    const double as[] = {0.2, 1};
    for (size_t k = 0; k < sizeof as / sizeof *as; k++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < DRAWS; i++) {
            float numbers[CLI_MIXUP_NUMBERS];
            const rynd_random random = {3, 4, 5};
            rynd_random_uniform(&random, i * CLI_MIXUP_NUMBERS, CLI_MIXUP_NUMBERS, numbers);
            const double share = (double)cli_mixup_share(as[k], numbers);
            assert_true(share >= 0 && share <= 1);
            sum += share;
            squares += (share - 0.5) * (share - 0.5);
        }
        assert_true(fabs(sum / DRAWS - 0.5) < 0.03);
        assert_true(fabs(squares / DRAWS * 4 * (2 * as[k] + 1) - 1) < 0.06);
    }
}

static void test_rows(void **state)
{
    (void)state;
    float values[] = {0, 1, 10, 20, 100, 200};
    const int64_t dim[] = {3, 2};
    const rynd_tensor rows = rynd_tensor_of(values, RYND_DTYPE_F32, 2, dim);
    cli_failure failure = {0};
    assert_true(cli_mixup_rows(&rows, 0.25f, &failure));
    const double expected[] = {75, 150.25, 2.5, 5.75, 32.5, 65};
    for (int i = 0; i < 6; i++) {
        assert_near(values[i], expected[i]);
    }
}

enum { LEFT = 7, TOP = 5, WIDE = 11, TALL = 9 };

/* A black picture with a bright box, which is its object. */
static cli_sample boxed(void)
{
    cli_sample sample = {.label = -1};
    cli_failure failure = {0};
    assert_true(cli_image_make(&sample.picture, HEIGHT, WIDTH, 3, "boxed", &failure));
    memset(sample.picture.pixels, 0, sizeof(float) * HEIGHT * WIDTH * 3);
    for (int y = TOP; y < TOP + TALL; y++) {
        for (int x = LEFT; x < LEFT + WIDE; x++) {
            sample.picture.pixels[(y * WIDTH + x) * 3] = 200;
        }
    }
    sample.objects = calloc(1, sizeof *sample.objects);
    assert_non_null(sample.objects);
    sample.objects[0] = (rynd_object){.left = LEFT, .top = TOP, .width = WIDE, .height = TALL};
    sample.object_count = 1;
    return sample;
}

/* The bright pixels are those of the box, if it stays. */
static void assert_box_is_bright(const cli_sample *sample)
{
    const cli_image *image = &sample->picture;
    const rynd_object *o = sample->object_count ? sample->objects : NULL;
    int bright = 0;
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++) {
            const bool inside = o && (double)x >= o->left && (double)x < o->left + o->width &&
                                (double)y >= o->top && (double)y < o->top + o->height;
            bright += at(image, y, x, 0) > 100;
            assert_true(!o || inside == (at(image, y, x, 0) > 100));
        }
    }
    assert_true(o || bright < (WIDE * TALL + 3) / 4);
}

static void test_boxes_move(void **state)
{
    (void)state;
    enum { DRAWN = 200 };
    const cli_augment augment = {.area = 0.1, .pad = -1, .flip = true};
    int dropped = 0, smaller = 0, mirrored = 0;
    for (size_t i = 0; i < DRAWN; i++) {
        const cli_draw draw = {5, 1, i};
        cli_sample sample = boxed();
        cli_augment_boxes(&augment, &draw, &sample);
        assert_box_is_bright(&sample);
        dropped += sample.object_count == 0;
        smaller += sample.object_count && sample.objects[0].width < WIDE;
        cli_sample_free(&sample);
        sample = boxed();
        cli_augment_boxes(&(cli_augment){.pad = -1, .flip = true}, &draw, &sample);
        assert_box_is_bright(&sample);
        mirrored += sample.objects[0].left != LEFT;
        cli_sample_free(&sample);
    }
    assert_true(dropped > 5 && dropped < DRAWN / 2);
    assert_true(smaller > 20);
    assert_true(mirrored > 60 && mirrored < 140);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),  cmocka_unit_test(test_equalize),
        cmocka_unit_test(test_colours), cmocka_unit_test(test_rand_augment),
        cmocka_unit_test(test_warps),   cmocka_unit_test(test_shares),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_boxes_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
