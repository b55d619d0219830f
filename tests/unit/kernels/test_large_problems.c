/* SPDX-License-Identifier: Apache-2.0 */
/* Planning takes no time and no memory in proportion to a size: each number of each problem is made
 * so large that a loop over it would never end. Nothing runs. */
#include "every_kernel.h"
#include "every_problem.h"
#include "kernels/form.h"
#include "large_problem.h"
#include "predict/predict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    FORMS = 4,            /* most forms of a kernel: the same code plans all */
    MAX_STATE = 64 << 20, /* bytes of a kernel's tables */
    MAX_TAKEN = 256 << 20,
    HANG_SECONDS = 100 /* planning takes milliseconds: a watchdog, which names the problem */
};

/* Two primes, the larger of them only for dims, and the largest number of most attributes. */
static const int64_t numbers[] = {1099511627689, INT32_MAX, 1000003};

/* Operators that are not in the table of every_problem.h, and what it does not vary. */
static const char *const others[] = {
    "expr x0=3x4x5:f32 x1=4x1:f32 y0=3x4x5:f32 program='x0 + x1'",
    "expr x0=3x4x5:f32 y0=3x1x5:f32 program='sum(x0)' axes=1",
    "expr x0=3x4x5:i64 y0=3x4x1:i64 program='max(x0)' axes=2",
    "expr x0=3x4x5x7:f32:nhwc x1=3x4x5x7:f32 y0=3x4x5x7:f32:nhwc program='sqrt(x0) * x1'",
    "copy x0=2x3x4x5:f32:nhwc y0=2x3x4x5:f32",
    "copy x0=2x3x4x5:f32 y0=2x3x4x5:f32:nhwc",
    "transpose x0=3x4x5x6:f32 y0=3x5x6x4:f32 perm=0,2,3,1",
    "slice x0=10x4:f32 y0=3x4:f32 starts=1,0 steps=3,1",
    "pad x0=3x4:f32 y0=5x9:f32 pads=1,2,1,3",
    "pad x0=3x4:f32 y0=5x9:f32 pads=1,2,1,3 mode=reflect",
    "pad x0=3x4:f32 y0=5x9:f32 pads=1,2,1,3 mode=edge",
    "pad x0=3x4:f32 y0=5x9:f32 pads=1,2,1,3 mode=wrap",
    "tile x0=3x4:f32 y0=6x8:f32",
    "expand x0=3x1x5:f32 y0=3x7x5:f32",
    "concat x0=3x4:f32 x1=3x5:f32 y0=3x9:f32 axis=1",
    "gather x0=5x7:f32 x1=3:i64 y0=5x3:f32 axis=1",
    "gather_elements x0=5x7:f32 x1=5x3:i64 y0=5x3:f32 axis=1",
    "gather_nd x0=5x7x3:f32 x1=4x2:i64 y0=4x3:f32",
    "scatter_elements x0=5x7:f32 x1=5x3:i64 x2=5x3:f32 y0=5x7:f32 axis=1 reduction=add",
    "scatter_nd x0=5x7x3:f32 x1=4x2:i64 x2=4x3:f32 y0=5x7x3:f32",
    "depth_to_space x0=2x12x3x5:f32 y0=2x3x6x10:f32 block=2",
    "space_to_depth x0=2x3x6x10:f32 y0=2x12x3x5:f32 block=2",
    "trilu x0=3x5x7:f32 y0=3x5x7:f32 k=1",
    "eye_like x0=5x7:f32 y0=5x7:f32 k=1",
    "one_hot x0=3x5:i64 x2=2:f32 y0=3x5x7:f32 axis=2",
    "reverse_sequence x0=5x3x7:f32 x1=3:i64 y0=5x3x7:f32",
    "center_crop_pad x0=5x7:f32 y0=9x4:f32",
    "nonzero x0=5x7:f32 y0=2x35:i64",
    "compress x0=5x7:f32 x1=5:bool y0=5x7:f32 axis=0 flat=0",
    "resize x0=1x3x7x8:f32:nhwc y0=1x3x14x16:f32:nhwc mode=linear",
    "pool x0=2x5x13x11:f32:nhwc y0=2x5x7x6:f32:nhwc kernel=3,3 stride=2,2 pads=1,1,1,1",
    "conv c=16 h=16 w=16 k=16 r=3 s=3 pad=1,1 stride=2,2 dilation=2,2 groups=2 layout=nhwc",
    "conv c=16 h=16 w=16 k=16 r=3 s=3 pad=1,1 stride=1,1 dilation=1,1 groups=16",
    "conv c=16 h=16 w=16 k=16 r=3 s=3 pad=1,1 stride=1,1 groups=2 dir=bwd_weights",
    "conv c=1 h=2147483647 w=3 k=1 r=3 s=3 pad=1",
    "conv c=4 h=9 w=9 k=8 r=3 s=3 pad=1 stride=2147483647",
    "convt c=16 h=16 w=16 k=16 r=3 s=3 pad=1,1 stride=2,2 dilation=1,1 opad=1,1",
};

static char shown[512]; /* the problem in hand */
static size_t taken;    /* bytes that this plan has asked of the C library */

static void hangs(int signal)
{
    static const char what[] = "planning does not end: ";
    (void)signal;
    (void)!write(STDERR_FILENO, what, sizeof what - 1);
    (void)!write(STDERR_FILENO, shown, strlen(shown));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

/* Sums the bytes asked for, also if they are released again. */
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    taken += size;
    return size > MAX_TAKEN ? NULL : __real_aligned_alloc(alignment, size);
}

static void plan_form(const ry_query *query)
{
    ry_prepared prepared;
    ry_error error = {0};
    taken = 0;
    const rynd_status status = ry_prepare(query, ~0u, &prepared, &error);
    if (status != RYND_OK && status != RYND_ERROR_ARGUMENT && status != RYND_ERROR_UNSUPPORTED) {
        fail_msg("%s: %s: %s", query->kernel->name, shown, error.text);
    }
    if (status != RYND_OK) {
        return;
    }
    if (prepared.state_size > MAX_STATE || taken > MAX_TAKEN) {
        fail_msg("%s: %s: a state of %zu bytes, %zu taken for its plan", query->kernel->name, shown,
                 prepared.state_size, taken);
    }
    const ry_target *target = query->target;
    assert_true(ry_predict_time(&prepared, target->machine, target->machine->cores) >= 0);
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    if (!query->kernel->gpu) {
        assert_int_equal(ry_prepared_initialise(&prepared, NULL, target, &arena, &error), RYND_OK);
    }
    ry_arena_free(&arena);
}

/* The kernel's own choice, and some of its forms. */
static void plan_kernel(const ry_kernel *kernel, const ry_problem *problem)
{
    ry_target target = *every_kernel_target(kernel->isa);
    target.device = kernel->device;
    ry_form form;
    const ry_query query = {kernel, problem, &target, NULL},
                   with_form = {kernel, problem, &target, &form};
    plan_form(&query);
    for (size_t i = 0; kernel->values && i < FORMS && ry_form_at(&query, i, &form); i++) {
        plan_form(&with_form);
    }
}

/* Families are planned by the same code for all instruction sets: their first kernel stands for
 * them. */
static bool is_first(size_t kernel)
{
    for (size_t i = 0; i < kernel; i++) {
        if (strcmp(every_kernel(i)->family, every_kernel(kernel)->family) == 0) {
            return false;
        }
    }
    return true;
}

static int plan_problem(const ry_problem *problem, const bool *first)
{
    int kernels = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        if (first[i] && kernel->op == problem->op && kernel->applicable(problem)) {
            plan_kernel(kernel, problem);
            kernels++;
        }
    }
    return kernels;
}

/* All problems that differ from `text` in one number; returns how many kernels were asked. */
static int plan_variations(const char *text, const bool *first)
{
    ry_arena arena;
    ry_error error;
    ry_problem problem, large;
    large_site site;
    int kernels = 0;
    ry_arena_init(&arena, &ry_system_allocator);
    if (ry_problem_parse(text, &arena, &problem, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    snprintf(shown, sizeof shown, "%s", text);
    kernels += plan_problem(&problem, first);
    for (size_t at = 0; large_site_next(&problem, &at, &site);) {
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            ry_arena own;
            ry_arena_init(&own, &ry_system_allocator);
            snprintf(shown, sizeof shown, "%.400s, number %zu: %lld", text, at,
                     (long long)numbers[n]);
            if (large_problem_make(&problem, &site, numbers[n], &own, &large)) {
                snprintf(shown, sizeof shown, "%s", ry_problem_print(&large, &own));
                kernels += plan_problem(&large, first);
            }
            ry_arena_free(&own);
        }
    }
    ry_arena_free(&arena);
    return kernels;
}

static void watch(void)
{
    const struct itimerval limit = {.it_value = {.tv_sec = HANG_SECONDS}};
    assert_int_equal(setitimer(ITIMER_VIRTUAL, &limit, NULL), 0);
}

static void plans_of_every_problem_end(void **state)
{
    for (size_t i = 0; i < every_problem_count; i++) {
        watch();
        assert_true(plan_variations(every_problems[i].problem, *state) > 0);
    }
}

static void plans_of_other_problems_end(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        watch();
        if (plan_variations(others[i], *state) == 0) {
            fail_msg("no kernel for %s", others[i]);
        }
    }
}

static int begin(void **state)
{
    bool *first = calloc(every_kernel_count(), sizeof *first);
    for (size_t i = 0; first && i < every_kernel_count(); i++) {
        first[i] = is_first(i);
    }
    signal(SIGVTALRM, hangs);
    *state = first;
    return first ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_every_problem_end),
        cmocka_unit_test(plans_of_other_problems_end),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
