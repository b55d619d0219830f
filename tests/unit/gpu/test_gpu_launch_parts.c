/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in parts (rynd_machine.launch_limit) give the same outputs as whole ones. */
#include "gpu_launches.h"
#include "gpu_run.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Launches with a limit, of all layouts. */
static size_t run(const char *problem, const char *kernel, double limit)
{
    kernel_case c;
    gpu_launches_count();
    gpu_run_set_limit(limit);
    kernel_case_parse(&c, problem);
    kernel_case_check(&c, kernel, 2e-6);
    kernel_case_end(&c);
    return gpu_launches();
}

static void parts_give_the_same(void **state)
{
    static const char *const cases[][2] = {
        {"conv n=2 c=23 h=9 w=13 k=37 r=3 s=3 pad=1", "conv_fwd_f32_igemm_gpu"},
        {"conv n=2 c=9 h=9 w=13 k=17 r=3 s=3 pad=1 dir=bwd_weights bias=1",
         "conv_bwd_weights_f32_igemm_gpu"},
        {"softmax x0=70x33:f32 y0=70x33:f32 axis=1", "softmax_gpu"},
    };
    (void)state;
    gpu_run_need();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t whole = run(cases[i][0], cases[i][1], 0);
        const size_t parts = run(cases[i][0], cases[i][1], 0.4);
        assert_true(!gpu_launches_known() || parts > 2 * whole);
    }
    gpu_run_set_limit(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_give_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
