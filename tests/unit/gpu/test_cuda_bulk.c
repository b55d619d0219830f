/* SPDX-License-Identifier: Apache-2.0 */
/* Does the stand-in for CUDA find faults of bulk copies? A wide tile's text is changed (FAKE_NVRTC_FAULT), and this
 * program runs itself with each: a copy at a wrong place, of a wrong size, that nobody waits for or in the wrong
 * turn must end in wrong sums or in a trap, a barrier that is not told its bytes, too. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "kernels/form.h"
#include "kernels/gpu/gpu_texts.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

/* fake_nvrtc ends the program so if a text with a fault does not compile, which proves nothing. */
enum { NO_PROGRAM = 77 };

static const char *const faults[][2] = {
    {"copy_bulk(to.w_address, ", "copy_bulk(to.w_address + 8, "},
    {"weights, BLOCK_W * CHUNK, to.barrier",
     "(GLOBAL const ushort *)weights + 4, BLOCK_W * CHUNK, to.barrier"},
    {"weights, BLOCK_W * CHUNK, to.barrier", "weights, BLOCK_W * CHUNK - 8, to.barrier"},
    {"expect_bytes(to.barrier, BLOCK_W * CHUNK);", ""},
    {"expect_bytes(to.barrier, BLOCK_W * CHUNK);",
     "expect_bytes(to.barrier, BLOCK_W * CHUNK / 2);"},
    {"expect_bytes(to.barrier, BLOCK_W * CHUNK);", "expect_bytes(to.barrier, 0u);"},
    {"uint turn = 0;", "uint turn = 1;"},
    {"turn ^= at == STAGES - 1;", ""},
    {"at * BARRIER_SIZE), turn);", "at * BARRIER_SIZE), 1u - turn);"},
    {"wait_for_bytes(address", "(void)(address"},
    {"begin_barrier(local", "(void)(local"},
    {"        SHOW_COPIES\n    }\n    SUM", "    }\n    SUM"},
    {"#define AHEAD     (STAGES - 1 - IN_FLIGHT)", "#define AHEAD     (STAGES - IN_FLIGHT)"},
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* 5 taps of 128 channels: 10 tiles of terms go around all stages more than twice. */
static product_case small_case(void)
{
    enum { CHANNELS = 128, OUT = 16, WIDTH = 9, TAPS = 5 };
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 3, .accuracy = RY_ACCURACY_near32}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    c.in[0] = case_tensor(RY_f16, 4, (const int64_t[]){1, CHANNELS, 1, WIDTH}, CASE_CHANNELS_LAST);
    c.in[1] = case_tensor(RY_f16, 4, (const int64_t[]){OUT, CHANNELS, 1, TAPS}, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){OUT}, CASE_ROW_MAJOR);
    c.out[0] =
        case_tensor(RY_f16, 4, (const int64_t[]){1, OUT, 1, WIDTH - TAPS + 1}, CASE_CHANNELS_LAST);
    c.terms = CHANNELS * TAPS;
    return c;
}

/* In a child: compares the sums of the tile's first form. */
static void sums_are_right(void **state)
{
    (void)state;
    gpu_run_need();
    const ry_kernel *kernel = every_kernel_find("conv_fwd_half_units_gpu");
    product_case c = small_case();
    case_fill(&c);
    const ry_query any = {kernel, &c.problem, gpu_run_target(), NULL};
    ry_form form;
    size_t at = 0;
    while (ry_form_at(&any, at++, &form) &&
           strcmp(kernel->knobs[0].words[form.value[0]], "wide64x128") != 0) {
    }
    const ry_query query = {kernel, &c.problem, gpu_run_target(), &form};
    gpu_operand in[CASE_INPUTS] = {{0}};
    for (int i = 0; i < c.problem.inputs; i++) {
        in[i] = (gpu_operand){c.data[i], case_bytes(&c, i), c.data[i]};
    }
    const gpu_operand out = {c.data[CASE_INPUTS], case_bytes(&c, CASE_INPUTS), c.data[CASE_INPUTS]};
    ry_error error;
    case_forget(&c);
    if (gpu_run(&query, in, &out, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    case_compare(&c, kernel, every_kernel_find("conv_ref"));
    case_free(&c);
}

static const char *program;

/* Runs this program on a text with a fault; returns whether its sums were right. */
static bool passes_with(const char *from, const char *to)
{
    char fault[512];
    snprintf(fault, sizeof fault, "%s=>%s", from, to);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("FAKE_NVRTC_FAULT", fault, 1);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) {
            _exit(NO_PROGRAM); /* failures of a planted fault would count as failed cases */
        }
        execl(program, program, (char *)NULL);
        _exit(NO_PROGRAM);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM) {
        fail_msg("'%s' does not compile", fault);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void a_right_text_passes(void **state)
{
    (void)state;
    assert_true(passes_with("STAGES", "STAGES"));
}

static void every_fault_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULTS; i++) {
        assert_true(strstr(ry_gpu_text_wide, faults[i][0]) ||
                    strstr(ry_gpu_text_wide_loop, faults[i][0]));
        if (passes_with(faults[i][0], faults[i][1])) {
            fail_msg("'%s' in the place of '%s' is not found", faults[i][1], faults[i][0]);
        }
    }
}

int main(int count, char **arguments)
{
    (void)count;
    program = arguments[0];
    const struct CMUnitTest one[] = {cmocka_unit_test(sums_are_right)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_right_text_passes),
                                       cmocka_unit_test(every_fault_is_found)};
    return getenv("FAKE_NVRTC_FAULT") ? cmocka_run_group_tests(one, NULL, NULL)
                                      : cmocka_run_group_tests(tests, NULL, NULL);
}
