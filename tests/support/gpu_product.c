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

/* False: the knobs' values do not go together. `shift`: bytes between input 0 and an aligned address. */
static bool check_form(product_case *c, const ry_kernel *kernel, const ry_form *form,
                       const ry_kernel *reference, size_t shift)
{
    gpu_operand in[CASE_INPUTS], out = operand(c, CASE_INPUTS);
    const ry_query query = {kernel, &c->problem, gpu_run_target(), form};
    ry_prepared prepared;
    ry_error error = {""};
    if (form && ry_prepare(&query, 0, &prepared, &error) == RYND_ERROR_ARGUMENT) {
        return false;
    }
    for (int i = 0; i < CASE_INPUTS; i++) {
        in[i] = operand(c, i);
    }
    char *shifted = malloc(in[0].size + shift);
    assert_non_null(shifted);
    memcpy(shifted + shift, in[0].memory, in[0].size);
    in[0] = (gpu_operand){shifted, in[0].size + shift, shifted + shift};
    case_forget(c);
    if (gpu_run(&query, in, &out, &error) != RYND_OK) {
        fail_msg("%s: %s", kernel->name, error.text);
    }
    free(shifted);
    case_compare(c, kernel, reference);
    return true;
}

int gpu_product_check_word(product_case *c, const char *kernel_name, const char *reference_name,
                           const char *word, size_t shift)
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
        if (form.value[1] <= 2 &&
            strncmp(kernel->knobs[0].words[form.value[0]], word, strlen(word)) == 0) {
            checked += check_form(c, kernel, &form, reference, checked == 0 ? shift : 0);
        }
    }
    return checked;
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
    int checked = check_form(c, kernel, NULL, reference, 0);
    for (size_t i = 0; i < (forms ? (size_t)forms : count); i++) {
        assert_true(ry_form_at(&query, forms ? case_random((uint32_t)count) : i, &form));
        checked += check_form(c, kernel, &form, reference, 0);
    }
    return checked;
}
