/* SPDX-License-Identifier: Apache-2.0 */
/* Reference normalisations and softmax: known values (PyTorch's) and what they must keep. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

static void batch_norm(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, scale[] = {2, -1}, bias[] = {0.5, 1},
                        mean[] = {1, 2}, variance[] = {3, 8};
    static const double y[] = {0.5, 1.5, 0.66666666666666667,  0.33333333333333333,
                               4.5, 5.5, -0.66666666666666667, -1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm);
    c.attrs.batch_norm.epsilon = 1;
    kernel_case_values(&c, RY_f32, "2x2x2", x);
    kernel_case_values(&c, RY_f32, "2", scale);
    kernel_case_values(&c, RY_f32, "2", bias);
    kernel_case_values(&c, RY_f32, "2", mean);
    kernel_case_values(&c, RY_f32, "2", variance);
    kernel_case_output(&c, RY_f32, "2x2x2");
    kernel_case_known(&c, "batch_norm_ref", y, COUNT(y), 1e-7);
    kernel_case_end(&c);
}

/* Below opset 9, spatial 0: every position has its own statistics. */
static void batch_norm_by_position(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, scale[] = {1, 2, 3, 4},
                        zero[] = {0, 0, 0, 0}, y[] = {1, 4, 9, 16, 5, 12, 21, 32};
    static const double one[] = {1, 1, 1, 1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_batch_norm);
    c.attrs.batch_norm.epsilon = 0;
    c.attrs.batch_norm.spatial = 0;
    kernel_case_values(&c, RY_f32, "2x2x2", x);
    kernel_case_values(&c, RY_f32, "2x2", scale);
    kernel_case_values(&c, RY_f32, "2x2", zero);
    kernel_case_values(&c, RY_f32, "2x2", zero);
    kernel_case_values(&c, RY_f32, "2x2", one);
    kernel_case_output(&c, RY_f32, "2x2x2");
    kernel_case_known(&c, "batch_norm_ref", y, COUNT(y), 0);
    kernel_case_end(&c);
}

static void group_norm(void **state)
{
    (void)state;
    static const double y[] = {
        2.179154337, -4.089577168, -0.5074448797, 0,           0, 0, 6.085907634, 2.453989737,
        -1.17792816, -2.059309387, -0.8486700876, 0.3619692114};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_group_norm);
    c.attrs.group_norm.groups = 2;
    kernel_case_pattern(&c, RY_f32, "1x4x3", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "4", 3, 7, 1);
    kernel_case_pattern(&c, RY_f32, "4", 2, 5, 1);
    kernel_case_output(&c, RY_f32, "1x4x3");
    kernel_case_known(&c, "group_norm_ref", y, COUNT(y), 1e-6);
    kernel_case_end(&c);
}

/* A large common offset must not eat the variance. */
static void instance_norm_far_from_zero(void **state)
{
    (void)state;
    static const double x[] = {1e7 + 1, 1e7 - 1, -1e7 - 2, -1e7 + 2}, one[] = {1, 1},
                        zero[] = {0, 0}, y[] = {1, -1, -1, 1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_group_norm);
    c.attrs.group_norm.groups = 2;
    c.attrs.group_norm.epsilon = 0;
    kernel_case_values(&c, RY_f32, "1x2x2", x);
    kernel_case_values(&c, RY_f32, "2", one);
    kernel_case_values(&c, RY_f32, "2", zero);
    kernel_case_output(&c, RY_f32, "1x2x2");
    kernel_case_known(&c, "group_norm_ref", y, COUNT(y), 1e-7);
    kernel_case_end(&c);
}

static void layer_norm(void **state)
{
    (void)state;
    static const double y[] = {
        2.131458593,    0,           0.5727688496, -2.627544294, 1.851330862,   -0.4475731347,
        1.327074578,    1.624412855, -1,           4.079814588,  -1.824725999,  -2.754305729,
        -3.787049248,   0,           6.711311654,  -1.270765038, -1.057814286,  -4.491038346,
        -0.05415300752, 6.061475564, -1,           -0.137213158, -0.3212567668, 1.191366165};
    static const double mean[] = {-5.0 / 12, 2.0 / 12};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_layer_norm);
    c.attrs.layer_norm.axis = 1;
    kernel_case_pattern(&c, RY_f32, "2x3x4", 7, 11, 1);
    kernel_case_pattern(&c, RY_f32, "3x4", 3, 7, 1);
    kernel_case_pattern(&c, RY_f32, "3x4", 2, 5, 1);
    kernel_case_output(&c, RY_f32, "2x3x4");
    kernel_case_output(&c, RY_f32, "2x1x1");
    kernel_case_output(&c, RY_f32, "2x1x1");
    kernel_case_known(&c, "layer_norm_ref", y, COUNT(y), 1e-6);
    kernel_case_expect(&c, 1, mean, 2, 1e-7);
    /* y = (x - mean) * inverse * scale + bias, at an element whose scale is -3 and bias -2 */
    for (int64_t i = 0; i < 2; i++) {
        double x = ry_get_f64(RY_f32, c.in[0].data, 12 * i);
        assert_true(fabs((x - mean[i]) * kernel_case_get(&c, 2, i) * -3 - 2 - y[12 * i]) < 1e-6);
    }
    kernel_case_end(&c);
}

/* Rows without elements have a mean all the same: 0 / 0. */
static void layer_norm_of_nothing(void **state)
{
    (void)state;
    static const double none[] = {NAN, NAN};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_layer_norm);
    c.attrs.layer_norm.axis = 1;
    kernel_case_random(&c, RY_f32, "2x0", 1);
    kernel_case_random(&c, RY_f32, "0", 1);
    kernel_case_absent(&c);
    kernel_case_output(&c, RY_f32, "2x0");
    kernel_case_output(&c, RY_f32, "2x1");
    kernel_case_output(&c, RY_f32, "2x1");
    kernel_case_run(&c, every_kernel_find("layer_norm_ref"), CASE_NCHW);
    kernel_case_expect(&c, 1, none, 2, 0);
    kernel_case_expect(&c, 2, none, 2, 0);
    kernel_case_end(&c);
}

static void root_mean_square_norm(void **state)
{
    (void)state;
    static const double x[] = {3, 4, 0, 0, -6, 8, 0, 0}, scale[] = {1, 2, 3, 4},
                        y[] = {1.2, 3.2, 0, 0, -1.2, 3.2, 0, 0};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_layer_norm);
    c.attrs.layer_norm.rms = 1;
    c.attrs.layer_norm.axis = 1;
    c.attrs.layer_norm.epsilon = 0;
    kernel_case_values(&c, RY_f32, "2x4", x);
    kernel_case_values(&c, RY_f32, "4", scale);
    kernel_case_output(&c, RY_f32, "2x4");
    kernel_case_known(&c, "layer_norm_ref", y, COUNT(y), 1e-7);
    kernel_case_end(&c);
}

static void local_response_norm(void **state)
{
    (void)state;
    static const double y[] = {-1.161840401, 1.005946744,   -0.8168541894, 0.9956258546,
                               0.5029733719, -0.9109073255, 0.929472321,   0,
                               -0.929472321, 0.9709835434,  -0.573238735,  -1.288168361};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_lrn);
    c.attrs.lrn = (ry_lrn_attrs){.size = 3, .alpha = 0.3, .beta = 0.75, .bias = 2};
    kernel_case_pattern(&c, RY_f32, "1x4x3", 7, 11, 1);
    kernel_case_output(&c, RY_f32, "1x4x3");
    kernel_case_known(&c, "lrn_ref", y, COUNT(y), 1e-7);
    kernel_case_end(&c);
}

static void check_softmax(ry_softmax_kind kind, const double *y)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_softmax);
    c.attrs.softmax.kind = kind;
    kernel_case_pattern(&c, RY_f32, "2x4", 7, 11, 0.5);
    kernel_case_output(&c, RY_f32, "2x4");
    kernel_case_known(&c, "softmax_ref", y, 8, 1e-7);
    kernel_case_end(&c);
}

static void softmax(void **state)
{
    (void)state;
    static const double soft[] = {0.005347299049, 0.1770782248,  0.0239649317, 0.7936095445,
                                  0.1606798683,   0.02174565549, 0.7201172097, 0.09745726653};
    static const double logarithm[] = {-5.231163696, -1.731163696, -3.731163696, -0.2311636963,
                                       -1.828341289, -3.828341289, -0.328341289, -2.328341289};
    static const double hard[] = {0, 0, 0, 1, 0, 0, 1, 0};
    check_softmax(RY_softmax_kind_softmax, soft);
    check_softmax(RY_softmax_kind_log_softmax, logarithm);
    check_softmax(RY_softmax_kind_hardmax, hard);
}

/* Along a middle axis, over all dims from one on, of huge values, and of equals (hardmax: the
 * first). */
static void softmax_lanes(void **state)
{
    (void)state;
    static const double x[] = {1e4, 1e4, 0, 0, 1e4, 0, 0, 1e4};
    static const double middle[] = {0.5, 1, 0.5, 0, 1, 0, 0, 1},
                        all[] = {0.5, 0.5, 0, 0, 0.5, 0, 0, 0.5};
    static const double first[] = {1, 0, 0, 0, 1, 0, 0, 0};
    static const double x_middle[] = {1e4, 1e4, 1e4, 0, 1e4, 0, 0, 1e4};
    static const struct {
        ry_softmax_kind kind;
        int64_t axis, flatten;
        const double *x, *y;
    } rows[] = {{RY_softmax_kind_softmax, 1, 0, x_middle, middle},
                {RY_softmax_kind_softmax, -2, 1, x, all},
                {RY_softmax_kind_hardmax, 1, 1, x, first}};
    for (int i = 0; i < 3; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_softmax);
        c.attrs.softmax = (ry_softmax_attrs){rows[i].kind, rows[i].axis, rows[i].flatten};
        kernel_case_values(&c, RY_f32, "2x2x2", rows[i].x);
        kernel_case_output(&c, RY_f32, "2x2x2");
        kernel_case_known(&c, "softmax_ref", rows[i].y, 8, 1e-7);
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norm),          cmocka_unit_test(batch_norm_by_position),
        cmocka_unit_test(group_norm),          cmocka_unit_test(instance_norm_far_from_zero),
        cmocka_unit_test(layer_norm),          cmocka_unit_test(root_mean_square_norm),
        cmocka_unit_test(local_response_norm), cmocka_unit_test(softmax),
        cmocka_unit_test(softmax_lanes),       cmocka_unit_test(layer_norm_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
