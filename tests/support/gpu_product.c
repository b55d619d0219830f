/* SPDX-License-Identifier: Apache-2.0 */
/* Runs products in forms of a GPU's kernel. */
#include "gpu_product.h"

#include "gpu_run.h"
#include "kernels/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static gpu_operand operand(const product_case *c, int i)
{
    return c->data[i] ? (gpu_operand){c->data[i], case_bytes(c, i), c->data[i]} : (gpu_operand){0};
}

/* A copy of input i that begins an element behind an aligned address. */
static gpu_operand shifted_input(const product_case *c, int i)
{
    const gpu_operand in = operand(c, i);
    const size_t shift = ry_dtype_size((ry_dtype)c->in[i].dtype);
    char *copy = malloc(in.size + shift);
    assert_non_null(copy);
    memcpy(copy + shift, in.memory, in.size);
    return (gpu_operand){copy, in.size + shift, copy + shift};
}

/* False: the knobs' values do not go together. `shifted`: inputs begin behind an aligned address. */
static bool check_form(product_case *c, const ry_kernel *kernel, const ry_form *form,
                       const ry_kernel *reference, bool shifted)
{
    gpu_operand in[CASE_INPUTS], out = operand(c, CASE_INPUTS);
    const ry_query query = {kernel, &c->problem, gpu_run_target(), form};
    ry_prepared prepared;
    ry_error error = {""};
    if (form && ry_prepare(&query, 0, &prepared, &error) == RYND_ERROR_ARGUMENT) {
        return false;
    }
    for (int i = 0; i < CASE_INPUTS; i++) {
        in[i] = shifted && c->data[i] ? shifted_input(c, i) : operand(c, i);
    }
    case_forget(c);
    if (gpu_run(&query, in, &out, &error) != RYND_OK) {
        fail_msg("%s: %s", kernel->name, error.text);
    }
    for (int i = 0; shifted && i < CASE_INPUTS; i++) {
        free(in[i].memory);
    }
    case_compare(c, kernel, reference);
    return true;
}

/* Forms whose second knob is `split`, or, of 0, at most 2. */
static int check_word(product_case *c, const char *kernel_name, const char *reference_name,
                      const char *word, int split, bool shifted)
{
    const ry_kernel *kernel = every_kernel_find(kernel_name),
                    *reference = every_kernel_find(reference_name);
    assert_true(kernel && reference);
    const ry_query query = {kernel, &c->problem, gpu_run_target(), NULL};
    ry_form form;
    int checked = 0;
    for (size_t at = 0;
         ry_kernel_takes(kernel, &c->problem, gpu_run_target()) && ry_form_at(&query, at, &form);
         at++) {
        if ((split ? form.value[1] == split : form.value[1] <= 2) &&
            strncmp(kernel->knobs[0].words[form.value[0]], word, strlen(word)) == 0) {
            checked += check_form(c, kernel, &form, reference, shifted && checked == 0);
        }
    }
    return checked;
}

int gpu_product_check_word(product_case *c, const char *kernel, const char *reference,
                           const char *word, size_t shift)
{
    return check_word(c, kernel, reference, word, 0, shift > 0);
}

int gpu_product_check_split(product_case *c, const char *kernel, const char *reference,
                            const char *word, int split)
{
    return check_word(c, kernel, reference, word, split, true);
}

int gpu_product_check(product_case *c, const char *kernel_name, const char *reference_name,
                      int forms)
{
    const ry_kernel *kernel = every_kernel_find(kernel_name),
                    *reference = every_kernel_find(reference_name);
    assert_true(kernel && reference);
    if (!ry_kernel_takes(kernel, &c->problem, gpu_run_target())) {
        return 0;
    }
    const ry_query query = {kernel, &c->problem, gpu_run_target(), NULL};
    ry_form form;
    size_t count = 0;
    while (ry_form_at(&query, count, &form)) {
        count++;
    }
    int checked = check_form(c, kernel, NULL, reference, false);
    for (size_t i = 0; i < (forms ? (size_t)forms : count); i++) {
        assert_true(ry_form_at(&query, forms ? case_random((uint32_t)count) : i, &form));
        checked += check_form(c, kernel, &form, reference, false);
    }
    return checked;
}
