/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations through the C interface: figures worked out by hand, and refused arguments.
 * tests/python/test_eval.py compares them with pycocotools and with formulas in numpy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <rynd/eval.h>
#include <rynd/rynd.h>
#include <string.h>

#define ASSERT_NEAR(a, b) assert_float_equal((float)(a), (float)(b), 1e-6f)
#define VIEW(data, dtype, ...)                                                        \
    rynd_tensor_of((data), (dtype), sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t), \
                   (int64_t[]){__VA_ARGS__})

static rynd_evaluation *make(rynd_task task, int64_t classes)
{
    const rynd_evaluation_options options =
        RYND_SIZED(rynd_evaluation_options, .task = task, .classes = classes);
    rynd_evaluation *e;
    assert_int_equal(rynd_evaluation_create(NULL, &options, &e), RYND_OK);
    return e;
}

static double figure(rynd_evaluation *e, const char *name)
{
    for (size_t i = 0; i < rynd_evaluation_figure_count(e); i++) {
        rynd_figure f = RYND_SIZED(rynd_figure);
        assert_int_equal(rynd_evaluation_get_figure(e, i, &f), RYND_OK);
        if (strcmp(f.name, name) == 0) {
            return f.value;
        }
    }
    fail_msg("there is no figure %s", name);
    return 0;
}

static rynd_class_figures class_of(rynd_evaluation *e, int64_t label)
{
    rynd_class_figures f = RYND_SIZED(rynd_class_figures);
    assert_int_equal(rynd_evaluation_get_class(e, label, &f), RYND_OK);
    return f;
}

static void test_labels(void **state)
{
    /* best class, second class, true class */
    static const int64_t rows[][3] = {{0, 1, 0}, {0, 1, 1}, {1, 0, 1}, {2, 3, 1}};
    (void)state;
    rynd_evaluation *e = make(RYND_TASK_CLASSIFY, 7);
    assert_true(isnan(figure(e, "top1")));
    for (size_t i = 0; i < 4; i++) {
        const rynd_class found[] = {{rows[i][0], 0.9f}, {rows[i][1], 0.1f}};
        assert_int_equal(rynd_evaluation_add_label(e, found, 2, rows[i][2]), RYND_OK);
    }
    ASSERT_NEAR(figure(e, "top1"), 0.5);
    ASSERT_NEAR(figure(e, "top5"), 0.75);
    ASSERT_NEAR(figure(e, "recall"), (1 + 1.0 / 3) / 2);
    ASSERT_NEAR(figure(e, "precision"), (0.5 + 1 + 0) / 3);
    const rynd_class_figures one = class_of(e, 1);
    assert_true(one.count == 3 && one.found == 1);
    ASSERT_NEAR(one.recall, 1.0 / 3);
    ASSERT_NEAR(one.precision, 1);
    assert_true(isnan(one.iou) && isnan(one.ap) && isnan(class_of(e, 6).recall));
    const int64_t *counts;
    int64_t classes;
    assert_int_equal(rynd_evaluation_get_confusion(e, &counts, &classes), RYND_OK);
    assert_true(classes == 7 && counts[0] == 1 && counts[7] == 1 && counts[8] == 1 &&
                counts[9] == 1);
    rynd_evaluation_destroy(e);
}

static void test_maps(void **state)
{
    (void)state;
    int32_t found[] = {0, 0, 1, 1, 2, 2};
    uint8_t truth[] = {0, 1, 1, 255, 2, 1};
    const rynd_tensor a = VIEW(found, RYND_DTYPE_I32, 2, 3), b = VIEW(truth, RYND_DTYPE_U8, 2, 3);
    rynd_evaluation *e = make(RYND_TASK_SEGMENT, 4);
    assert_true(isnan(figure(e, "mean_iou")));
    assert_int_equal(rynd_evaluation_add_map(e, &a, &b, 255), RYND_OK);
    ASSERT_NEAR(figure(e, "mean_iou"), (0.5 + 1.0 / 3 + 0.5) / 3);
    ASSERT_NEAR(figure(e, "pixel_accuracy"), 0.6);
    ASSERT_NEAR(class_of(e, 1).iou, 1.0 / 3);
    assert_true(isnan(class_of(e, 3).iou));
    /* a class that does not exist: named with its place, and nothing is added */
    assert_int_equal(rynd_evaluation_add_map(e, &a, &b, -1), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "class 255 of the pixel in row 1, column 0"));
    found[5] = 9;
    assert_int_equal(rynd_evaluation_add_map(e, &a, &b, 255), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "found: class 9"));
    ASSERT_NEAR(figure(e, "pixel_accuracy"), 0.6);
    const rynd_tensor other = VIEW(truth, RYND_DTYPE_U8, 3, 2);
    assert_int_equal(rynd_evaluation_add_map(e, &a, &other, 255), RYND_ERROR_SHAPE);
    rynd_evaluation_destroy(e);
}

/* One of two objects is found exactly, one box is wrong, one lies in a crowd. */
static void test_boxes(void **state)
{
    (void)state;
    const rynd_object objects[] = {
        {.width = 10, .height = 10, .area = -1, .label = 1},
        {.left = 50, .width = 10, .height = 10, .area = -1, .label = 1},
        {.left = 100, .width = 100, .height = 100, .area = -1, .label = 1, .crowd = 1}};
    const rynd_box boxes[] = {{.right = 10, .bottom = 10, .score = 0.9f, .label = 1},
                              {.left = 20, .right = 30, .bottom = 10, .score = 0.8f, .label = 1},
                              {.left = 110, .right = 120, .bottom = 10, .score = 0.95f, .label = 1},
                              {.right = 10, .bottom = 10, .score = 0.99f, .label = 0}};
    rynd_evaluation *e = make(RYND_TASK_DETECT, 2);
    assert_true(isnan(figure(e, "map")));
    assert_int_equal(rynd_evaluation_add_boxes(e, boxes, 4, objects, 3), RYND_OK);
    /* precision 1 at recalls up to one half: 51 of 101 */
    ASSERT_NEAR(figure(e, "map"), 51.0 / 101);
    ASSERT_NEAR(figure(e, "map_small"), 51.0 / 101);
    ASSERT_NEAR(figure(e, "ar100"), 0.5);
    assert_true(isnan(figure(e, "map_large")));
    assert_true(class_of(e, 1).count == 2 && isnan(class_of(e, 0).ap));
    ASSERT_NEAR(class_of(e, 1).ap50, 51.0 / 101);
    /* a second picture without a box: recall falls */
    assert_int_equal(rynd_evaluation_add_boxes(e, NULL, 0, objects, 2), RYND_OK);
    ASSERT_NEAR(figure(e, "ar100"), 0.25);
    ASSERT_NEAR(figure(e, "map"), 26.0 / 101);
    const rynd_box bad = {.label = 2};
    assert_int_equal(rynd_evaluation_add_boxes(e, &bad, 1, NULL, 0), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "found[0]: class 2"));
    const int64_t *counts;
    int64_t classes;
    assert_int_equal(rynd_evaluation_get_confusion(e, &counts, &classes), RYND_ERROR_ARGUMENT);
    rynd_evaluation_destroy(e);
}

static void test_pictures(void **state)
{
    (void)state;
    float a[12 * 13], b[12 * 13];
    for (int i = 0; i < 12 * 13; i++) {
        a[i] = (float)(i % 7 * 30);
        b[i] = a[i] + 5;
    }
    const rynd_tensor x = VIEW(a, RYND_DTYPE_F32, 12, 13, 1),
                      y = VIEW(b, RYND_DTYPE_F32, 12, 13, 1),
                      small = VIEW(a, RYND_DTYPE_F32, 10, 13, 1);
    rynd_evaluation *e = make(RYND_TASK_IMAGE, 0);
    assert_int_equal(rynd_evaluation_add_picture(e, &x, &y), RYND_OK);
    ASSERT_NEAR(figure(e, "psnr"), 10 * log10(255.0 * 255 / 25));
    assert_true(figure(e, "ssim") > 0.99 && figure(e, "ssim") < 1);
    assert_int_equal(rynd_evaluation_add_picture(e, &x, &x), RYND_OK);
    assert_true(isinf(figure(e, "psnr")));
    assert_int_equal(rynd_evaluation_add_picture(e, &small, &small), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_evaluation_add_picture(e, &small, &x), RYND_ERROR_SHAPE);
    rynd_evaluation_destroy(e);
}

static void test_refused(void **state)
{
    static const rynd_evaluation_options bad[] = {
        {.size = sizeof *bad, .task = (rynd_task)9, .classes = 2},
        {.size = sizeof *bad, .task = RYND_TASK_CLASSIFY},
        {.size = sizeof *bad, .task = RYND_TASK_CLASSIFY, .classes = 65537},
        {.size = sizeof *bad, .task = RYND_TASK_IMAGE, .classes = 1},
        {.size = sizeof *bad, .task = RYND_TASK_IMAGE, .range = -1}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rynd_evaluation *e = NULL;
        assert_int_equal(rynd_evaluation_create(NULL, &bad[i], &e), RYND_ERROR_ARGUMENT);
        assert_null(e);
    }
    const rynd_class found = {.label = 1};
    rynd_evaluation *e = make(RYND_TASK_DETECT, 2);
    assert_int_equal(rynd_evaluation_add_label(e, &found, 1, 1), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "of task detect, not classify"));
    rynd_figure figures = RYND_SIZED(rynd_figure);
    assert_int_equal(rynd_evaluation_get_figure(e, 12, &figures), RYND_ERROR_ARGUMENT);
    rynd_class_figures of = RYND_SIZED(rynd_class_figures);
    assert_int_equal(rynd_evaluation_get_class(e, 2, &of), RYND_ERROR_ARGUMENT);
    rynd_evaluation_destroy(e);
    e = make(RYND_TASK_CLASSIFY, 2);
    assert_int_equal(rynd_evaluation_add_label(e, &found, 1, 2), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_evaluation_add_label(e, &found, 0, 1), RYND_ERROR_ARGUMENT);
    rynd_evaluation_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),  cmocka_unit_test(test_maps),
        cmocka_unit_test(test_boxes),   cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
