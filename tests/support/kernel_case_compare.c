/* SPDX-License-Identifier: Apache-2.0 */
/* Compares kernels with the reference. */
#include "kernel_case.h"

#include "gpu_run.h"
#include "kernels/form.h"
#include "number_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What kernels are held to: the reference's outputs, and those for operands rounded to bfloat16,
 * which are what kernels of that class multiply. */
enum { TRUTH_EXACT, TRUTH_BOTH, TRUTH_WEIGHTS, TRUTHS };

typedef struct truths {
    kernel_case of[TRUTHS];
    bool found[TRUTHS]; /* when a kernel needs it: the reference takes its time */
} truths;

static const ry_kernel *reference_of(ry_op op)
{
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(op));
    return every_kernel_find(name);
}

/* A copy of an operand in bfloat16's numbers. */
static ry_tensor rounded(const ry_tensor *t)
{
    ry_tensor copy = *t;
    copy.data = calloc((size_t)ry_tensor_count(t) + 1, ry_dtype_size((ry_dtype)t->dtype));
    assert_non_null(copy.data);
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_f64((ry_dtype)t->dtype, copy.data, i,
                   nearest_bf16(ry_get_f64((ry_dtype)t->dtype, t->data, i)));
    }
    return copy;
}

/* The reference's outputs, of the case with float outputs widened to float64 where the reference
 * takes that. Owns the outputs and what it rounds. */
static void find_truth(const kernel_case *c, int which, kernel_case *truth)
{
    const ry_kernel *kernel = reference_of(c->op);
    assert_non_null(kernel);
    *truth = *c;
    truth->form = NULL;
    for (int wide = 1; wide >= 0; wide--) {
        for (int i = 0; i < c->outputs; i++) {
            if (ry_tensor_present(&c->out[i])) {
                bool widen = wide && ry_dtype_is_float((ry_dtype)c->out[i].dtype);
                truth->out[i].dtype = widen ? RYND_DTYPE_F64 : c->out[i].dtype;
            }
        }
        if (kernel_case_applicable(truth, kernel, CASE_NCHW)) {
            break;
        }
    }
    for (int i = 0; i < c->outputs; i++) {
        if (ry_tensor_present(&c->out[i])) {
            truth->out[i].data = calloc((size_t)ry_tensor_count(&c->out[i]) + 1, 8);
            assert_non_null(truth->out[i].data);
        }
    }
    for (int i = which == TRUTH_BOTH ? 0 : 1; which != TRUTH_EXACT && i < 2; i++) {
        truth->in[i] = rounded(&c->in[i]);
    }
    kernel_case_run(truth, kernel, CASE_NCHW);
}

static const kernel_case *truth(truths *t, const kernel_case *c, int which)
{
    if (!t->found[which]) {
        find_truth(c, which, &t->of[which]);
        t->found[which] = true;
    }
    return &t->of[which];
}

static void truths_end(truths *t, const kernel_case *c)
{
    for (int k = 0; k < TRUTHS; k++) {
        for (int i = 0; t->found[k] && i < CASE_OPERANDS; i++) {
            free(t->of[k].out[i].data);
            if (t->of[k].in[i].data != c->in[i].data) {
                free(t->of[k].in[i].data);
            }
        }
    }
}

typedef struct difference {
    int output;
    int64_t element;
    double got, expected, allowed;
} difference;

/* A bound of 0 asks for equal numbers; otherwise the rounding to the output's type is allowed
 * besides, and once more where the truth had to be rounded, too. */
static double allowed_error(const ry_tensor *out, const ry_tensor *truth, double bound,
                            double largest, double expected)
{
    const double rounding = rounding_error((ry_dtype)out->dtype, expected);
    return bound == 0 ? 0 : bound * largest + (out->dtype == truth->dtype ? 2 : 1) * rounding;
}

static bool differs(const kernel_case *c, const kernel_case *truth, double bound, difference *first)
{
    for (int o = 0; o < c->outputs; o++) {
        if (!ry_tensor_present(&c->out[o])) {
            continue;
        }
        double largest = 0;
        int64_t count = ry_tensor_count(&c->out[o]);
        if (ry_op_get_class(c->op) == RY_CLASS_BOUNDED && count) {
            assert_memory_equal(c->actual[o], truth->actual[o], sizeof c->actual[o]);
            count = count / c->out[o].dim[0] * c->actual[o][0];
        }
        for (int64_t i = 0; i < count; i++) {
            double magnitude = fabs(kernel_case_get(truth, o, i));
            largest = isfinite(magnitude) ? fmax(largest, magnitude) : largest;
        }
        for (int64_t i = 0; i < count; i++) {
            const double got = kernel_case_get(c, o, i), expected = kernel_case_get(truth, o, i);
            const double allowed =
                allowed_error(&c->out[o], &truth->out[o], bound, largest, expected);
            if (!kernel_case_close(got, expected, allowed)) {
                *first = (difference){o, i, got, expected, allowed};
                return true;
            }
        }
    }
    return false;
}

/* A kernel of class bf16 rounds both operands, or the weights alone. */
static void compare(const kernel_case *c, truths *t, const ry_kernel *kernel, case_layout layout,
                    double bound)
{
    difference d = {0};
    const bool exact = kernel->accuracy <= RY_ACCURACY_near32;
    if (exact ? differs(c, truth(t, c, TRUTH_EXACT), bound, &d)
              : differs(c, truth(t, c, TRUTH_BOTH), bound, &d) &&
                    differs(c, truth(t, c, TRUTH_WEIGHTS), bound, &d)) {
        const ry_form none = ry_form_free();
        char form[RY_FORM_TEXT];
        ry_form_print(kernel, c->form ? c->form : &none, form);
        fail_msg("%s, layout %s, form '%s': output %d, element %lld is %.9g, the reference %.9g; "
                 "allowed %.3g: %s",
                 kernel->name, kernel_case_layouts[layout], form, d.output, (long long)d.element,
                 d.got, d.expected, d.allowed, c->text);
    }
}

static void check_forms(kernel_case *c, truths *t, const ry_kernel *kernel, case_layout layout,
                        double bound)
{
    ry_form form;
    for (size_t at = 0, size; kernel_case_form(c, kernel, layout, &at, &form);) {
        c->form = &form;
        unsigned char *bits = kernel_case_bits(c, kernel, layout, &size);
        compare(c, t, kernel, layout, bound);
        kernel_case_in_place(c, kernel, layout, bits, size);
        free(bits);
        c->form = NULL;
    }
}

/* The number of layouts that the kernel takes. */
static int check_kernel(kernel_case *c, truths *t, const ry_kernel *kernel, double bound)
{
    int layouts = 0;
    if (kernel == reference_of(c->op)) {
        fail_msg("%s would be compared with itself: kernel_case_known compares it with values, "
                 "kernel_case_steady runs it",
                 kernel->name);
    }
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        if (kernel_case_applicable(c, kernel, layout)) {
            check_forms(c, t, kernel, layout, bound);
            layouts++;
        }
    }
    return layouts;
}

bool kernel_case_machine_has(ry_isa isa)
{
    static ry_cpu_info cpu; /* asked once: a virtual machine takes its time to answer */
    if (cpu.cores == 0) {
        ry_cpu_detect(&cpu);
    }
    return ry_cpu_has(&cpu, isa);
}

static void check_named(kernel_case *c, truths *t, const char *kernel, double bound)
{
    const ry_kernel *found = every_kernel_find(kernel);
    if (!found) {
        fail_msg("there is no kernel %s", kernel);
    } else if (found->device == RY_DEVICE_gpu && !gpu_run_possible()) {
        print_message("%s: there is no OpenCL device\n", kernel);
    } else if (!kernel_case_machine_has(found->isa)) {
        print_message("%s: this machine lacks %s\n", kernel, ry_isa_name(found->isa));
    } else if (check_kernel(c, t, found, bound) == 0) {
        fail_msg("%s is applicable in no layout", kernel);
    }
}

void kernel_case_check(kernel_case *c, const char *kernel, double bound)
{
    truths t = {0};
    check_named(c, &t, kernel, bound);
    truths_end(&t, c);
}

void kernel_case_check_isas(kernel_case *c, const char *text, double bound)
{
    truths t = {0};
    for (int isa = 0; isa < RY_ISAS; isa++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", text, ry_isa_name((ry_isa)isa));
        if (isa == RY_ISA_generic || every_kernel_find(name)) {
            check_named(c, &t, name, bound);
        }
    }
    truths_end(&t, c);
}

static bool all_outputs_are(const kernel_case *c, ry_dtype dtype)
{
    for (int i = 0; i < c->outputs; i++) {
        if (ry_tensor_present(&c->out[i]) && c->out[i].dtype != (rynd_dtype)dtype) {
            return false;
        }
    }
    return true;
}

int kernel_case_check_all(kernel_case *c, double bound, bool *covered)
{
    int kernels = 0;
    truths t = {0};
    const ry_kernel *reference = reference_of(c->op);
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        if (kernel->device != RY_DEVICE_cpu || kernel->op != c->op ||
            kernel->accuracy > c->accuracy || !kernel_case_machine_has(kernel->isa)) {
            continue;
        }
        const bool loose = kernel->accuracy == RY_ACCURACY_near32 && all_outputs_are(c, RY_f32);
        const bool ran = kernel == reference
                             ? kernel_case_steady(c, kernel->name) > 0
                             : check_kernel(c, &t, kernel, loose ? 10 * bound : bound) > 0;
        kernels += ran && kernel != reference;
        if (covered && ran) {
            covered[i] = true;
        }
    }
    truths_end(&t, c);
    return kernels;
}
