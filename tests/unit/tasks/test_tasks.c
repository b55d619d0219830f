/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks through the C interface: fitting pictures, classes, drawings, and refused arguments. The
 * heads of detectors are tested by tests/cli/test_detect.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <rynd/rynd.h>
#include <rynd/tasks.h>
#include <string.h>

#define ASSERT_NEAR(a, b) assert_float_equal((float)(a), (float)(b), 1e-4f)
#define VIEW(data, dtype, ...)                                                        \
    rynd_tensor_of((data), (dtype), sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t), \
                   (int64_t[]){__VA_ARGS__})

/* Twice as wide as high, in an input of 4 x 4. */
static void test_fits(void **state)
{
    static const struct {
        rynd_fit fit;
        double scale_y, scale_x, offset_y, offset_x;
    } rows[] = {
        {RYND_FIT_STRETCH, 2, 1, 0, 0},
        {RYND_FIT_LETTERBOX, 1, 1, 1, 0},
        {RYND_FIT_CORNER, 1, 1, 0, 0},
        {RYND_FIT_CROP, 2, 2, 0, -2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float pixels[2 * 4 * 3], input[3 * 4 * 4];
        for (size_t p = 0; p < 2 * 4 * 3; p++) {
            pixels[p] = 100;
        }
        const rynd_tensor picture = VIEW(pixels, RYND_DTYPE_F32, 2, 4, 3),
                          to = VIEW(input, RYND_DTYPE_F32, 1, 3, 4, 4);
        const rynd_preparation how =
            RYND_SIZED(rynd_preparation, .fit = rows[i].fit, .fill = 7, .scale = 2,
                       .mean = {1, 2, 3}, .deviation = {1, 1, 2});
        rynd_frame frame;
        assert_int_equal(rynd_picture_prepare(NULL, &picture, &how, &to, 0, &frame), RYND_OK);
        ASSERT_NEAR(frame.scale_y, rows[i].scale_y);
        ASSERT_NEAR(frame.scale_x, rows[i].scale_x);
        ASSERT_NEAR(frame.offset_y, rows[i].offset_y);
        ASSERT_NEAR(frame.offset_x, rows[i].offset_x);
        assert_true(frame.height == 2 && frame.width == 4);
        const bool padded = rows[i].fit == RYND_FIT_LETTERBOX || rows[i].fit == RYND_FIT_CORNER;
        ASSERT_NEAR(input[15], padded ? 13 : 199); /* the last pixel: value * 2 - 1 */
        ASSERT_NEAR(input[32 + 15], padded ? 5.5 : 98.5);
    }
}

static void test_channels(void **state)
{
    (void)state;
    uint8_t colours[3] = {255, 0, 0}, grey[1] = {50}, bytes[24] = {0};
    float one[1], three[24];
    const rynd_tensor red = VIEW(colours, RYND_DTYPE_U8, 1, 1, 3),
                      dark = VIEW(grey, RYND_DTYPE_U8, 1, 1, 1),
                      single = VIEW(one, RYND_DTYPE_F32, 1, 1, 1, 1),
                      last = VIEW(three, RYND_DTYPE_F32, 2, 2, 2, 3),
                      whole = VIEW(bytes, RYND_DTYPE_U8, 2, 2, 2, 3);
    assert_int_equal(rynd_picture_prepare(NULL, &red, NULL, &single, 0, NULL), RYND_OK);
    ASSERT_NEAR(one[0], 0.299 * 255);
    const rynd_preparation bgr = RYND_SIZED(rynd_preparation, .bgr = 1);
    assert_int_equal(rynd_picture_prepare(NULL, &red, &bgr, &last, 1, NULL), RYND_OK);
    assert_true(three[12] == 0 && three[23] == 255);
    assert_int_equal(rynd_picture_prepare(NULL, &dark, NULL, &whole, 1, NULL), RYND_OK);
    assert_true(bytes[12] == 50 && bytes[23] == 50 && bytes[0] == 0);
    assert_int_equal(rynd_picture_prepare(NULL, &dark, NULL, &whole, 2, NULL), RYND_ERROR_ARGUMENT);
}

static void test_resize(void **state)
{
    (void)state;
    float row[4] = {0, 10, 20, 30}, half[2], wide[8];
    const rynd_tensor from = VIEW(row, RYND_DTYPE_F32, 1, 4, 1),
                      to = VIEW(half, RYND_DTYPE_F32, 1, 2, 1),
                      larger = VIEW(wide, RYND_DTYPE_F32, 1, 8, 1);
    assert_int_equal(rynd_picture_resize(NULL, &from, &to, 0), RYND_OK);
    ASSERT_NEAR(half[0], 5);
    assert_int_equal(rynd_picture_resize(NULL, &from, &to, 1), RYND_OK);
    ASSERT_NEAR(half[0], (0 * 3 + 10 * 3 + 20) / 7.0);
    assert_int_equal(rynd_picture_resize(NULL, &from, &larger, 1), RYND_OK);
    ASSERT_NEAR(wide[0], 0);
    ASSERT_NEAR(wide[2], 7.5);
    ASSERT_NEAR(wide[7], 30);
}

static void test_classes(void **state)
{
    (void)state;
    float logits[6] = {0, 1, 2, 3, 2, 1};
    float shares[3] = {0.2f, 0.5f, 0.3f};
    rynd_class classes[4];
    size_t count = 2;
    const rynd_tensor output = VIEW(logits, RYND_DTYPE_F32, 2, 3, 1, 1),
                      probabilities = VIEW(shares, RYND_DTYPE_F32, 3);
    assert_int_equal(rynd_classify(NULL, &output, 1, classes, &count), RYND_OK);
    assert_true(count == 2 && classes[0].label == 0 && classes[1].label == 1);
    ASSERT_NEAR(classes[0].score, 1 / (1 + exp(-1) + exp(-2)));
    count = 4;
    assert_int_equal(rynd_classify(NULL, &probabilities, 0, classes, &count), RYND_OK);
    assert_true(count == 3 && classes[0].label == 1 && classes[2].label == 0);
    ASSERT_NEAR(classes[0].score, 0.5);
    const rynd_tensor map = VIEW(logits, RYND_DTYPE_F32, 1, 3, 2, 1);
    assert_int_equal(rynd_classify(NULL, &map, 0, classes, &count), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_classify(NULL, &output, 2, classes, &count), RYND_ERROR_ARGUMENT);
}

/* Two classes, left and right, in every layout that a network has. */
static void test_segments(void **state)
{
    (void)state;
    float first[8] = {1, 0, 1, 0, 0, 1, 0, 1}, last[8] = {1, 0, 0, 1, 1, 0, 0, 1},
          one[4] = {-3, 3, -3, 3}, share[4] = {0.1f, 0.9f, 0.1f, 0.9f};
    int64_t labels[4] = {0, 1, 0, 1};
    const rynd_tensor outputs[] = {
        VIEW(first, RYND_DTYPE_F32, 1, 2, 2, 2), VIEW(last, RYND_DTYPE_F32, 2, 2, 2),
        VIEW(one, RYND_DTYPE_F32, 1, 1, 2, 2), VIEW(share, RYND_DTYPE_F32, 1, 2, 2),
        VIEW(labels, RYND_DTYPE_I64, 1, 2, 2)};
    const rynd_frame frame = {.scale_y = 0.5, .scale_x = 0.5, .height = 4, .width = 4};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        uint8_t pixels[16];
        const rynd_tensor classes = VIEW(pixels, RYND_DTYPE_U8, 4, 4);
        if (i == 1) {
            continue; /* [2, 2, 2] does not tell its channels */
        }
        assert_int_equal(rynd_segment(NULL, &outputs[i], 0, &frame, 2, 2, &classes), RYND_OK);
        for (size_t p = 0; p < 16; p++) {
            assert_int_equal(pixels[p], p % 4 >= 2);
        }
    }
    float flat[3] = {0};
    uint8_t pixels[16];
    const rynd_tensor wrong = VIEW(flat, RYND_DTYPE_F32, 1, 3),
                      classes = VIEW(pixels, RYND_DTYPE_U8, 4, 4),
                      small = VIEW(pixels, RYND_DTYPE_U8, 2, 4);
    assert_int_equal(rynd_segment(NULL, &wrong, 0, &frame, 2, 2, &classes), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_segment(NULL, &outputs[0], 0, &frame, 2, 2, &small), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_segment(NULL, &outputs[0], 1, &frame, 2, 2, &classes),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_segment(NULL, &outputs[0], 0, &frame, 0, 2, &classes),
                     RYND_ERROR_ARGUMENT);
}

static void test_drawing(void **state)
{
    (void)state;
    static uint8_t pixels[40 * 60 * 3];
    static int32_t map[40 * 60];
    const rynd_tensor picture = VIEW(pixels, RYND_DTYPE_U8, 40, 60, 3),
                      classes = VIEW(map, RYND_DTYPE_I32, 40, 60),
                      grey = VIEW(pixels, RYND_DTYPE_U8, 40, 60, 1);
    /* far outside, empty, not a number: nothing is written beside the picture */
    const rynd_box boxes[] = {
        {.left = 10, .top = 20, .right = 50, .bottom = 38, .score = 0.5f, .label = 1},
        {.left = -1e30f, .top = -5, .right = 1e30f, .bottom = NAN, .label = -3},
        {.left = 5, .top = 5, .right = 5, .bottom = 5, .label = INT64_MAX, .keypoint_count = 99},
    };
    const char *labels[] = {"zero", "\xc3\xa4ne \x01 very long name of a class beyond the picture"};
    assert_int_equal(rynd_draw_boxes(&picture, boxes, 3, labels, 2), RYND_OK);
    const uint32_t colour = rynd_class_colour(1);
    const uint8_t *corner = pixels + (37 * 60 + 30) * 3;
    assert_true(corner[0] == (colour >> 16) && corner[2] == (colour & 255));
    assert_int_equal(rynd_draw_boxes(&grey, boxes, 1, NULL, 0), RYND_ERROR_SHAPE);
    memset(pixels, 100, sizeof pixels);
    map[1] = 7;
    assert_int_equal(rynd_draw_classes(&picture, &classes, 1), RYND_OK);
    assert_true(pixels[0] == 100 && pixels[3] == rynd_class_colour(7) >> 16);
    assert_int_equal(rynd_draw_classes(&picture, &classes, 1.5), RYND_ERROR_ARGUMENT);
    assert_true(rynd_class_colour(0) != rynd_class_colour(1));
}

static void test_heads_and_labels(void **state)
{
    (void)state;
    const char *const *labels;
    size_t count = 0;
    assert_int_equal(rynd_labels_get("coco", &labels, &count), RYND_OK);
    assert_true(count == 80 && strcmp(labels[0], "person") == 0);
    assert_int_equal(rynd_labels_get("nothing", &labels, &count), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "coco"));
    rynd_head head = RYND_SIZED(rynd_head);
    for (size_t i = 0; i < rynd_head_count(); i++) {
        assert_int_equal(rynd_head_get(i, &head), RYND_OK);
        assert_true(head.score > 0 && head.score < 1 && head.overlap < 1 && *head.about);
    }
    assert_int_equal(rynd_head_get(rynd_head_count(), &head), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_head_get(0, NULL), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_model_get_head(NULL, NULL, &head), RYND_ERROR_ARGUMENT);
}

static void test_detection(void **state)
{
    (void)state;
    float rows[2][6] = {{1, 2, 30, 40, 0.9f, 3}, {2, 3, 20, 20, 0.1f, 1}};
    const rynd_tensor output = VIEW(rows, RYND_DTYPE_F32, 1, 2, 6);
    const char *const name = "output0";
    rynd_detection detection = RYND_SIZED(rynd_detection, .names = &name, .outputs = &output,
                                          .output_count = 1, .height = 64, .width = 64);
    rynd_box boxes[4];
    size_t count = 4;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_OK);
    assert_true(count == 1 && boxes[0].label == 3 && boxes[0].right == 30);
    const rynd_frame frame = {
        .scale_y = 2, .scale_x = 0.5, .offset_x = 1, .height = 15, .width = 50};
    detection.frame = &frame;
    detection.score = 0.05;
    count = 4;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_OK);
    assert_true(count == 2 && boxes[0].right == 50 && boxes[0].top == 1 && boxes[0].bottom == 15);
    rows[0][4] = NAN;
    rows[1][0] = INFINITY;
    count = 4;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_OK);
    assert_int_equal(count, 0);
    count = 0;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_OK);
    detection.index = 1;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_ERROR_ARGUMENT);
    detection.index = 0;
    detection.height = 0;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_ERROR_ARGUMENT);
    detection.height = 64;
    detection.head = "yolov8";
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rynd_last_error(), "output0 [1, 2, 6]"));
    detection.names = NULL;
    assert_int_equal(rynd_detect(NULL, &detection, boxes, &count), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_detect(NULL, NULL, boxes, &count), RYND_ERROR_ARGUMENT);
}

static void test_refused(void **state)
{
    (void)state;
    float data[12] = {0};
    const rynd_tensor picture = VIEW(data, RYND_DTYPE_F32, 2, 2, 3),
                      flat = VIEW(data, RYND_DTYPE_F32, 4),
                      input = VIEW(data, RYND_DTYPE_F32, 1, 3, 2, 2),
                      strange = VIEW(data, RYND_DTYPE_F32, 1, 4, 2, 1);
    rynd_preparation how = RYND_SIZED(rynd_preparation, .fit = (rynd_fit)9);
    assert_int_equal(rynd_picture_prepare(NULL, &picture, &how, &input, 0, NULL),
                     RYND_ERROR_ARGUMENT);
    how = RYND_SIZED(rynd_preparation, .share = 2);
    assert_int_equal(rynd_picture_prepare(NULL, &picture, &how, &input, 0, NULL),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_picture_prepare(NULL, &flat, NULL, &input, 0, NULL), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_picture_prepare(NULL, &picture, NULL, &flat, 0, NULL), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_picture_prepare(NULL, &picture, NULL, &strange, 1, NULL),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_picture_prepare(NULL, NULL, NULL, &input, 0, NULL), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_picture_resize(NULL, &picture, NULL, 0), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_segment(NULL, NULL, 0, NULL, 1, 1, NULL), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_classify(NULL, &flat, 0, NULL, NULL), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_draw_boxes(NULL, NULL, 0, NULL, 0), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_draw_boxes(&picture, NULL, 1, NULL, 0), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_draw_classes(&picture, NULL, 1), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_labels_get(NULL, NULL, NULL), RYND_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),      cmocka_unit_test(test_channels),
        cmocka_unit_test(test_resize),    cmocka_unit_test(test_classes),
        cmocka_unit_test(test_segments),  cmocka_unit_test(test_drawing),
        cmocka_unit_test(test_detection), cmocka_unit_test(test_heads_and_labels),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
