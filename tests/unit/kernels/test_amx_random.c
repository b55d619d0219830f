/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by split bfloat16 on random shapes: strides, dilations, groups, padding, and layouts
 * of x, y, the weights and the residual apart. */
#include "product_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)case_random((uint32_t)(high - low + 1));
}

static case_layout any_layout(void)
{
    return (case_layout)between(0, CASE_LAYOUTS - 1);
}

/* A case with `space` spatial dimensions; false where nothing fits. */
static bool make_case(product_case *c, int space)
{
    *c = (product_case){.problem = {.op = RY_OP_conv, .inputs = 4}};
    c->problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c->problem.attrs.conv;
    const int64_t groups = between(0, 2) ? 1 : 2, in = between(16, 40), out = between(1, 40),
                  batch = between(1, 2);
    int64_t x[5] = {batch, in * groups}, w[5] = {out * groups, in}, y[5] = {batch, out * groups};
    a->groups = groups;
    a->stride.count = a->dilation.count = space;
    a->pads.count = 2 * space;
    c->terms = (double)in;
    for (int i = 0; i < space; i++) {
        x[i + 2] = between(1, space == 3 ? 6 : 20);
        w[i + 2] = between(1, 4);
        a->stride.at[i] = between(0, 1) ? 1 : between(2, 4);
        a->dilation.at[i] = between(0, 1) ? 1 : between(2, 3);
        a->pads.at[i] = between(0, w[i + 2]);
        a->pads.at[i + space] = between(0, w[i + 2]);
        const int64_t reach = a->dilation.at[i] * (w[i + 2] - 1) + 1,
                      padded = x[i + 2] + a->pads.at[i] + a->pads.at[i + space];
        if (padded < reach) {
            return false;
        }
        y[i + 2] = (padded - reach) / a->stride.at[i] + 1;
        c->terms *= (double)w[i + 2];
    }
    const case_layout layout = any_layout();
    c->in[0] = case_tensor(RY_f32, space + 2, x, layout);
    c->in[1] = case_tensor(RY_f32, space + 2, w, between(0, 2) ? CASE_ROW_MAJOR : any_layout());
    c->out[0] = case_tensor(RY_f32, space + 2, y, between(0, 1) ? layout : any_layout());
    if (between(0, 1)) {
        c->in[2] = case_tensor(RY_f32, 1, &y[1], between(0, 1) ? CASE_ROW_MAJOR : CASE_STRIDED);
    }
    if (between(0, 1)) {
        c->in[3] = case_tensor(RY_f32, space + 2, y, any_layout());
    }
    a->activation = (ry_activation)(between(0, 1) ? 0 : between(0, RY_activation_count - 1));
    a->act_alpha = 0.25;
    a->act_beta = 0.5;
    return true;
}

static void check_many(int count, int space)
{
    static const char *const kernels[] = {"conv_fwd_f32_split", "conv_fwd_f32_split_strict"};
    const ry_kernel *reference = every_kernel_find("conv_ref");
    assert_non_null(reference);
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    int checked = 0;
    for (int i = 0; i < count; i++) {
        product_case c;
        if (!make_case(&c, space)) {
            continue;
        }
        case_fill(&c);
        for (int k = 0; k < 4; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", kernels[k / 2], k % 2 ? "amx" : "generic");
            const ry_kernel *kernel = every_kernel_find(name);
            if (kernel && kernel->isa <= cpu.isa && kernel->applicable(&c.problem)) {
                case_check(&c, kernel, reference);
                checked++;
            }
        }
        case_free(&c);
    }
    assert_true(checked > count / 4);
}

static void lines(void **state)
{
    (void)state;
    check_many(40, 1);
}

static void images(void **state)
{
    (void)state;
    check_many(60, 2);
}

static void volumes(void **state)
{
    (void)state;
    check_many(30, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(images),
                                       cmocka_unit_test(volumes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
