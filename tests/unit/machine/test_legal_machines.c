/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels are chosen and predicted for any machine whose numbers are in their ranges: the largest,
 * the smallest and random ones, of every instruction set and GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "every_kernel.h"
#include "every_problem.h"
#include "kernels/form.h"
#include "machine/machine_fields.h"
#include "predict/predict.h"
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINES = 30, FORMS = 3, SMALLEST = 0, LARGEST = 1, UNKNOWN = 2, CONSTANTS = 6 };

/* Layers of networks: large, thin, strided, of groups, transposed, of three dimensions. */
static const char *const layers[] = {
    "conv c=3 h=224 w=224 k=64 r=7 s=7 pad=3 stride=2 bias=1 act=relu",
    "conv n=8 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 bias=1",
    "conv c=256 h=14 w=14 k=1024",
    "conv c=512 h=7 w=7 k=512 r=3 s=3 pad=1",
    "conv c=1 h=512 w=512 k=1 r=5 s=5 pad=2",
    "conv c=6 h=111 w=213 k=6 r=3 s=3 pad=1 groups=6 bias=1",
    "conv c=960 h=7 w=7 k=960 r=5 s=5 pad=2 groups=960",
    "conv c=32 h=1000 w=3 k=8 r=9 s=1 pad=4,0 dilation=2,1",
    "conv c=13 h=211 w=211 k=17 r=3 s=3 pad=1",
    "conv c=64 d=16 h=28 w=28 k=64 t=3 r=3 s=3 pad=1",
    "convt c=256 h=16 w=16 k=128 r=4 s=4 stride=2 pad=1",
    "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 dir=bwd_weights",
    "conv c=64 h=56 w=56 k=128 r=3 s=3 pad=1 stride=2 dir=bwd_data",
    "matmul x0=128x512:f32 x1=512x1000:f32 y0=128x1000:f32",
    "matmul x0=1x4096:f32 x1=4096x4096:f32 y0=1x4096:f32",
    "matmul x0=12x197x64:f32 x1=12x64x197:f32 y0=12x197x197:f32",
};
enum { LAYERS = sizeof layers / sizeof *layers };

static uint64_t random_state;

static double random_share(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* A number in the field's range: an end of it, not known, or anything between by its magnitude. */
static double number_of(const ry_machine_field *f, int which)
{
    const double share = which == SMALLEST ? 0.11 : which == LARGEST ? 0.05 : random_share();
    const double least = f->least > 0 ? f->least : 1;
    if (f->optional && (which == UNKNOWN || share >= 0.95)) {
        return 0;
    }
    return which == UNKNOWN || (share >= 0.1 && share < 0.2) ? f->least
           : share < 0.1                                     ? f->most
                         : floor(least * pow(f->most / least, random_share()));
}

static ry_machine machine_of(int which, const char *isa, bool gpu)
{
    ry_machine m = RYND_SIZED(ry_machine, .origin = RYND_MACHINE_IMPORTED);
    for (size_t i = 0; i < RY_MACHINE_FIELDS; i++) {
        const ry_machine_field *f = &ry_machine_fields[i];
        const double numbers[2] = {number_of(f, which), number_of(f, which)};
        ry_machine_field_set(f, &m, numbers);
    }
    m.group_items = !gpu ? 0 : m.group_items ? m.group_items : 1;
    snprintf(m.isa, sizeof m.isa, "%s", isa);
    for (int i = 0; i < RYND_LEVEL_DRAM; i++) { /* a core's share */
        rynd_memory_level *level = &m.level[i];
        level->bytes = level->bytes && level->bytes / 1024 < level->shared_by
                           ? (size_t)level->shared_by * 1024
                           : level->bytes;
    }
    ry_error error = {""};
    if (ry_machine_check(&m, &error) != RYND_OK) {
        fail_msg("machine %d: %s", which, error.text);
    }
    return m;
}

static void check_time(double seconds, const char *what, const char *problem)
{
    if (!(seconds >= 0)) {
        fail_msg("%s: %s takes %g s", problem, what, seconds);
    }
}

/* Some forms of every kernel, too: what is tuned is not what is chosen. */
static void try_forms(const ry_problem *problem, const ry_target *target, const char *text)
{
    size_t at = 0;
    ry_error error;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(problem, target, &at));) {
        const ry_query query = {kernel, problem, target, NULL};
        ry_form form;
        for (size_t k = 0; k < FORMS; k++) {
            const ry_query exact = {kernel, problem, target, &form};
            ry_prepared prepared;
            if (ry_form_at(&query, (size_t)(random_share() * 40), &form) &&
                ry_prepare(&exact, CONSTANTS, &prepared, &error) == RYND_OK) {
                check_time(ry_predict_time(&prepared, target->machine, 3), kernel->name, text);
            }
        }
    }
}

/* `layer`: a kernel of a processor takes it, whatever the machine. */
static void try_problem(const char *text, bool layer, const ry_target *target)
{
    ry_arena arena;
    ry_problem problem;
    ry_choice choice;
    ry_error error = {""};
    ry_arena_init(&arena, &ry_system_allocator);
    if (ry_problem_parse(text, &arena, &problem, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    size_t at = 0;
    if (ry_kernel_next(&problem, target, &at)) { /* a GPU does not have all of them */
        if (ry_predict_choose(&problem, target, CONSTANTS, NULL, &choice, &error) != RYND_OK) {
            fail_msg("%s: %s", text, error.text);
        }
        if (!choice.prepared.kernel) { /* a GPU's step falls back; a CPU has the references */
            assert_int_equal(target->device, RY_DEVICE_gpu);
            ry_arena_free(&arena);
            return;
        }
        if (layer && target->device == RY_DEVICE_cpu && choice.prepared.kernel->reference) {
            fail_msg("%s is left to '%s'", text, choice.prepared.kernel->name);
        }
        check_time(ry_predict_time(&choice.prepared, target->machine, target->machine->cores),
                   choice.prepared.kernel->name, text);
        try_forms(&problem, target, text);
    }
    ry_arena_free(&arena);
}

static void try_machine(int which, ry_isa isa, bool gpu)
{
    const ry_machine machine = machine_of(which, gpu ? "opencl" : ry_isa_name(isa), gpu);
    const ry_target target = {
        .device = gpu ? RY_DEVICE_gpu : RY_DEVICE_cpu, .isa = isa, .machine = &machine};
    for (size_t i = 0; i < LAYERS; i++) {
        try_problem(layers[i], true, &target);
    }
    for (size_t i = (size_t)which % 4; i < every_problem_count; i += which <= UNKNOWN ? 1 : 4) {
        try_problem(every_problems[i].problem, false, &target);
    }
}

static int machines = MACHINES;

static void test_processors(void **state)
{
    (void)state;
    for (int which = 0; which < machines; which++) {
        random_state = (uint64_t)which;
        try_machine(which, (ry_isa)(which <= UNKNOWN ? RY_ISAS - 1 : which % RY_ISAS), false);
    }
}

static void test_gpus(void **state)
{
    (void)state;
    for (int which = 0; which < machines; which++) {
        random_state = (uint64_t)which + 1000000;
        try_machine(which, RY_ISA_generic, true);
    }
}

/* More machines: their number. */
int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_processors),
                                       cmocka_unit_test(test_gpus)};
    machines = count > 1 ? atoi(arguments[1]) : MACHINES;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
