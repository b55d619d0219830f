/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel's text of GPUs, compiled by NVRTC without a warning, for every problem of the table;
 * and what registers and local memory the entries take on the layers of bench/layers.txt, which
 * tests/cuda/resources.txt holds: none may spill more than is written there.
 *
 *   RYND_TEST_NVRTC=12 (or 13)   which NVRTC of build/venv; skipped where it is not installed
 *   RYND_TEST_CAPABILITIES       "70 80 90"; else 80
 *   RYND_TEST_FORMS=all          every form in every layout; else one of each
 *   RYND_TEST_RESOURCES=FILE     writes that file in the place of comparing
 *   RYND_TEST_CUBINS=DIR         writes machine code of the problems in DIR/problems.txt, for
 *                                bench/gpu_code, and does nothing else */
#include "../../cuda/fake_cuda.h"
#include "../../cuda/strict_nvrtc.h"
#include "device/cuda/cuda_device.h"
#include "every_problem.h"
#include "kernel_case.h"
#include "kernels/prepared.h"
#include "machine/machine.h"
#include "nvrtc_need.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "every_kernel.h"

static ry_error error;
static ry_device *device;
static strict_nvrtc_state *strict;

static void open_device(int capability)
{
    static rynd_machine machine;
    assert_non_null(getenv("RYND_CUDA_LIBRARY"));
    assert_non_null(getenv("RYND_NVRTC_LIBRARY"));
    void *driver = dlopen(getenv("RYND_CUDA_LIBRARY"), RTLD_NOW),
         *compiler = dlopen(getenv("RYND_NVRTC_LIBRARY"), RTLD_NOW);
    assert_non_null(driver);
    assert_non_null(compiler);
    ((fake_cuda_state *)dlsym(driver, "fake_cuda"))->capability = capability;
    strict = dlsym(compiler, "strict_nvrtc");
    if (ry_cuda_device_create(&ry_system_allocator, 0, NULL, &device, &error) != RYND_OK ||
        ry_cuda_machine(0, &machine, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    device->machine = &machine;
}

/* Does the device have what the kernel needs? */
static bool is_for(const ry_kernel *kernel)
{
    return kernel->device == RY_DEVICE_gpu &&
           (!kernel->matrix_units || device->machine->matrix_units);
}

/* Prepares a form and compiles its program. */
static void compile(const char *text, const ry_kernel *kernel, const ry_problem *problem,
                    const ry_form *form, const ry_target *target)
{
    const ry_query query = {kernel, problem, target, form};
    ry_prepared prepared;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    rynd_status status = ry_prepare(&query, 0, &prepared, &error);
    if (status == RYND_OK) {
        status = ry_prepared_initialise(&prepared, device, target, &arena, &error);
        ry_prepared_release(&prepared, device);
    }
    if (status != RYND_OK) {
        fail_msg("%s, %s on %s: %s", text, kernel->name, device->name, error.text);
    }
    ry_arena_free(&arena);
}

static void compile_case(kernel_case *c, const ry_kernel *kernel, bool all)
{
    const ry_target target = ry_target_of(device);
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
        if (!kernel_case_applicable(c, kernel, layout)) {
            continue;
        }
        const ry_problem problem = kernel_case_problem(c, layout, in, out);
        if (kernel->runs_on && !kernel->runs_on(&problem, target.machine)) {
            continue; /* a processor's */
        }
        ry_form form;
        size_t at = 0;
        c->forms = all;
        while (kernel_case_form(c, kernel, layout, &at, &form)) {
            compile(c->text, kernel, &problem, &form, &target);
        }
        if (!all) {
            return; /* the first layout is enough */
        }
    }
}

static void every_text_compiles(void **state)
{
    (void)state;
    nvrtc_need();
    const char *forms = getenv("RYND_TEST_FORMS"), *given = getenv("RYND_TEST_CAPABILITIES");
    const bool all = forms && strcmp(forms, "all") == 0;
    for (const char *at = given ? given : "80"; *at;) {
        char *end;
        open_device((int)strtol(at, &end, 10));
        at = end;
        for (size_t i = 0; i < every_problem_count; i++) {
            kernel_case c;
            kernel_case_parse(&c, every_problems[i].problem);
            for (size_t k = 0; k < every_kernel_count(); k++) {
                const ry_kernel *kernel = every_kernel(k);
                if (is_for(kernel) && kernel->op == c.op) {
                    compile_case(&c, kernel, all);
                }
            }
            kernel_case_end(&c);
        }
        print_message("%s: %d programs\n", device->name, strict->compiled);
        device->table->destroy(device);
    }
    assert_true(strict->compiled > 0);
}

/* The line of a table of what an entry of a kernel takes on a layer; -1: it is not there. */
static int spilled_before(FILE *table, const char *key)
{
    char line[512];
    rewind(table);
    while (fgets(line, sizeof line, table)) {
        int spilled;
        char *tab = strchr(line, '\t');
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '#' && tab && strcmp(tab + 1, key) == 0 &&
            sscanf(line, "%*d %d", &spilled) == 1) {
            return spilled;
        }
    }
    return -1;
}

static void take_resources(const char *problem, const ry_kernel *kernel, FILE *table, FILE *to)
{
    for (int e = 0; e < strict->count; e++) {
        const struct strict_entry *entry = &strict->entry[e];
        char key[512];
        snprintf(key, sizeof key, "%s %s %s", kernel->name, entry->name, problem);
        if (to) {
            fprintf(to, "%d %d %d\t%s\n", entry->registers, entry->spilled, entry->shared, key);
            continue;
        }
        const int before = spilled_before(table, key);
        if (entry->spilled > (before < 0 ? 0 : before)) {
            fail_msg("%s spills %d bytes, %d are allowed by tests/cuda/resources.txt", key,
                     entry->spilled, before < 0 ? 0 : before);
        }
    }
}

static void no_more_is_spilled(void **state)
{
    (void)state;
    nvrtc_need();
    const char *path = getenv("RYND_TEST_RESOURCES");
    char line[512];
    FILE *layers = fopen("bench/layers.txt", "r"), *to = path ? fopen(path, "w") : NULL,
         *table = fopen("tests/cuda/resources.txt", "r");
    assert_non_null(layers);
    assert_true(to || table);
    open_device(80);
    const ry_target target = ry_target_of(device);
    if (to) {
        fprintf(to, "# Registers of an item, bytes that it spills, bytes of local memory of a "
                    "group; kernel, "
                    "entry, layer: default forms, sm_80, NVRTC 12.9.\n");
    }
    while (fgets(line, sizeof line, layers)) {
        line[strcspn(line, "\n")] = 0;
        const char *problem = strstr(line, " conv ");
        if (line[0] == '#' || !problem) {
            continue;
        }
        kernel_case c;
        kernel_case_parse(&c, ++problem);
        for (size_t k = 0; k < every_kernel_count(); k++) {
            const ry_kernel *kernel = every_kernel(k);
            ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
            if (!is_for(kernel) || kernel->op != c.op ||
                !kernel_case_applicable(&c, kernel, CASE_NCHW)) {
                continue;
            }
            const ry_problem described = kernel_case_problem(&c, CASE_NCHW, in, out);
            strict->count = 0;
            compile(problem, kernel, &described, NULL, &target);
            take_resources(problem, kernel, table, to);
        }
        kernel_case_end(&c);
    }
    device->table->destroy(device);
    fclose(layers);
    if (table) {
        fclose(table);
    }
    if (to) {
        fclose(to);
    }
}

/* Products by tiles: their main loop is what counts. */
static bool is_tiled(const ry_kernel *kernel)
{
    return strstr(kernel->name, "_igemm_gpu") || strstr(kernel->name, "_units_gpu") ||
           strstr(kernel->name, "_wide_gpu");
}

/* Compiles a problem by every such kernel in both layouts; a line a file goes into the list. */
static void keep_machine_code(const char *folder, const char *problem, int capability, FILE *list)
{
    static int number;
    static const struct {
        case_layout layout;
        const char *name;
    } layouts[] = {{CASE_NCHW, "nchw"}, {CASE_NHWC, "nhwc"}};
    const ry_target target = ry_target_of(device);
    for (size_t l = 0; l < 2; l++) {
        kernel_case c;
        kernel_case_parse(&c, problem);
        for (size_t k = 0; k < every_kernel_count(); k++) {
            const ry_kernel *kernel = every_kernel(k);
            ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
            if (!is_for(kernel) || kernel->op != c.op || !is_tiled(kernel) ||
                !kernel_case_applicable(&c, kernel, layouts[l].layout)) {
                continue;
            }
            const ry_problem described = kernel_case_problem(&c, layouts[l].layout, in, out);
            snprintf(strict->cubin, sizeof strict->cubin, "%s/%d.cubin", folder, number);
            strict->count = 0;
            compile(problem, kernel, &described, NULL, &target);
            fprintf(list, "%d\t%d\t%s\t%s\t%s\n", number++, capability, layouts[l].name,
                    kernel->name, problem);
        }
        kernel_case_end(&c);
    }
}

static void machine_code_is_kept(void **state)
{
    (void)state;
    const char *folder = getenv("RYND_TEST_CUBINS"), *given = getenv("RYND_TEST_CAPABILITIES");
    char path[512], line[512];
    nvrtc_need();
    snprintf(path, sizeof path, "%s/list.txt", folder);
    FILE *list = fopen(path, "w");
    snprintf(path, sizeof path, "%s/problems.txt", folder);
    FILE *problems = fopen(path, "r");
    assert_true(list && problems);
    for (const char *at = given ? given : "80"; *at;) {
        char *end;
        const int capability = (int)strtol(at, &end, 10);
        at = end;
        open_device(capability);
        rewind(problems);
        while (fgets(line, sizeof line, problems)) {
            line[strcspn(line, "\n")] = 0;
            keep_machine_code(folder, line, capability, list);
        }
        device->table->destroy(device);
    }
    fclose(problems);
    assert_int_equal(fclose(list), 0);
}

int main(void)
{
    const struct CMUnitTest keeping[] = {cmocka_unit_test(machine_code_is_kept)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_more_is_spilled),
                                       cmocka_unit_test(every_text_compiles)};
    setenv("RYND_CUDA_OPTIONS", "-Xptxas -v", 1);
    if (getenv("RYND_TEST_CUBINS")) {
        return cmocka_run_group_tests(keeping, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
