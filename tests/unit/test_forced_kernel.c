/* SPDX-License-Identifier: Apache-2.0 */
/* An operator with a kernel of the caller's choice: taken whatever its accuracy and without a bias; refused where it does not apply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rynd/rynd.h>

typedef struct row {
    const char *kernel, *problem;
    unsigned constants; /* bit i: input i is constant */
    rynd_status status;
} row;

#define DEPTHWISE "conv c=20 h=9 w=9 k=20 r=3 s=3 pad=1 groups=20"
#define DENSE     "conv c=8 h=14 w=14 k=8 r=3 s=3 pad=1 accuracy=strict"

static const row rows[] = {
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE, 2, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE " bias=1", 6, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE " bias=1", 2, RYND_ERROR_UNSUPPORTED},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE, 0, RYND_ERROR_UNSUPPORTED},
    {"conv_fwd_f32_winograd_generic", DENSE, 6, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DENSE, 6, RYND_ERROR_UNSUPPORTED},
    {"convt_fwd_f32_winograd_generic", DENSE, 6, RYND_ERROR_UNSUPPORTED},
    {"conv_of_no_such_name", DENSE, 6, RYND_ERROR_NOT_FOUND},
};

static void taken_or_refused(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rynd_op_options options = {.size = sizeof options, .kernel = rows[i].kernel, .constants = rows[i].constants};
        rynd_op *op = NULL;
        const rynd_status status = rynd_op_create(context, rows[i].problem, &options, &op);
        if (status != rows[i].status) {
            fail_msg("%s, %s, constants %u: status %d, not %d", rows[i].kernel, rows[i].problem, rows[i].constants, (int)status,
                     (int)rows[i].status);
        }
        if (status == RYND_OK) {
            rynd_step_info info = {.size = sizeof info};
            assert_int_equal(rynd_op_info(op, &info), RYND_OK);
            assert_string_equal(info.kernel, rows[i].kernel);
        }
        rynd_op_destroy(op);
    }
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(taken_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
