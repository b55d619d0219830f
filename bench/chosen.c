/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what every kernel would do with each problem on standard input, on several machines:
 *
 *   chosen < PROBLEMS > FILE
 *
 * A line a kernel: its best form, its tasks and sizes, the predicted microseconds, and hashes of
 * its knobs' legal values and of FORMS forms of its main knobs. '*' marks the kernel that is
 * chosen. bench/chosen compares the files of two builds. */
#include "kernels/form.h"
#include "kernels/prepared.h"
#include "machine/machine.h"
#include "predict/predict.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINE = 2048, FORMS = 24 };

typedef struct place {
    const char *vendor;
    int family, model;
    ry_isa isa;
    unsigned cores;
} place;

static const place places[] = {
    {"AuthenticAMD", 0x1a, 2, RY_ISA_avx512_bf16, 2},
    {"AuthenticAMD", 0x19, 0x11, RY_ISA_avx512, 16},
    {"AuthenticAMD", 0x17, 0x31, RY_ISA_avx2, 8},
    {"GenuineIntel", 6, 0x8f, RY_ISA_amx, 32},
    {"GenuineIntel", 6, 0x97, RY_ISA_avx2, 4},
    {"", 0, 0, RY_ISA_generic, 1},
};

/* A graphics processor with matrix units, and a processor by OpenCL. */
static const ry_machine others[] = {
    {.isa = "cuda",
     .vendor = "NVIDIA",
     .architecture = "sm_90",
     .cores = 132,
     .f32 = {4.7e11, 6.2e13},
     .bf16 = {3.7e12, 4.9e14},
     .level = {[RYND_LEVEL_L2] = {50 << 20, 132, {6e10, 5.5e12}, {2e-7, 2e-7}},
               [RYND_LEVEL_DRAM] = {0, 132, {2.5e11, 2.5e12}, {6e-7, 6e-7}}},
     .task_seconds = 1e-7,
     .region_seconds = 4e-6,
     .group_items = 1024,
     .step_items = 32,
     .unit_groups = 4,
     .local_bytes = 48 << 10,
     .fp16 = 1,
     .fp64 = 1,
     .subgroups = 1,
     .matrix_units = 1},
    {.isa = "opencl",
     .architecture = "cpu",
     .cores = 16,
     .f32 = {1e11, 1.6e12},
     .bf16 = {1e11, 1.6e12},
     .level = {[RYND_LEVEL_L1] = {32 << 10, 1, {1e11, 1.6e12}, {1e-9, 1e-9}},
               [RYND_LEVEL_L2] = {1 << 20, 1, {5e10, 8e11}, {4e-9, 4e-9}},
               [RYND_LEVEL_DRAM] = {0, 16, {2e10, 1e11}, {1e-7, 1e-7}}},
     .task_seconds = 1e-6,
     .region_seconds = 1e-5,
     .group_items = 4096,
     .step_items = 1,
     .unit_groups = 1,
     .local_bytes = 512 << 10,
     .fp64 = 1},
};

static uint64_t add_text(uint64_t hash, const char *text)
{
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return hash;
}

/* Prints what a form takes. */
static void describe(const ry_query *query, char *text, size_t size)
{
    ry_prepared p;
    ry_error error;
    char form[RY_FORM_TEXT];
    if (ry_prepare(query, ~0u, &p, &error) != RYND_OK) {
        snprintf(text, size, "none");
        return;
    }
    ry_form_print(query->kernel, &p.form, form);
    const ry_machine *machine = query->target->machine;
    snprintf(text, size, "%s | %zu %zu %zu %zu | packed %zu workspace %zu scratch %zu | %.6f us",
             form, p.tasks[0], p.phases > 1 ? p.tasks[1] : 0, p.phases > 2 ? p.tasks[2] : 0,
             p.pack_tasks, p.packed, p.workspace, p.scratch,
             1e6 * ry_predict_time(&p, machine, machine->cores));
}

static void write_kernel(const ry_query *any, bool chosen)
{
    const ry_kernel *kernel = any->kernel;
    char text[MAX_LINE];
    uint64_t values = 0xcbf29ce484222325u, forms = values;
    for (int knob = 0; knob < kernel->knob_count; knob++) {
        const ry_knob_values legal = ry_form_values(any, knob);
        for (int i = 0; i < legal.count; i++) {
            ry_form_print_value(kernel, knob, legal.value[i], text, sizeof text);
            values = add_text(add_text(values, i > 0 ? ", " : ""), text);
        }
    }
    ry_form form;
    for (size_t i = 0; i < FORMS && ry_form_at(any, i, &form); i++) {
        const ry_query query = {kernel, any->problem, any->target, &form};
        describe(&query, text, sizeof text);
        forms = add_text(forms, text);
    }
    describe(any, text, sizeof text);
    printf("  %c%s %s | %016llx %016llx\n", chosen ? '*' : ' ', kernel->name, text,
           (unsigned long long)values, (unsigned long long)forms);
}

static void write_machine(const ry_problem *problem, const ry_target *target)
{
    ry_choice choice;
    ry_error error;
    if (ry_predict_choose(problem, target, ~0u, NULL, &choice, &error) != RYND_OK) {
        choice.prepared.kernel = NULL;
    }
    size_t index = 0;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(problem, target, &index)) != NULL;) {
        const ry_query any = {kernel, problem, target, NULL};
        write_kernel(&any, kernel == choice.prepared.kernel);
    }
}

static void write_problem(const ry_problem *problem, const place *at)
{
    ry_cpu_info cpu = {.family = at->family,
                       .model = at->model,
                       .cores = at->cores,
                       .machine_cores = at->cores,
                       .isa = at->isa};
    ry_machine machine;
    snprintf(cpu.vendor, sizeof cpu.vendor, "%s", at->vendor);
    ry_machine_built_in(&cpu, at->isa, &machine);
    const ry_target target = {RY_DEVICE_cpu, at->isa, &machine, 0, NULL};
    printf(" %s %s %u\n", machine.architecture, ry_isa_name(at->isa), at->cores);
    write_machine(problem, &target);
}

int main(void)
{
    char line[MAX_LINE];
    while (fgets(line, sizeof line, stdin)) {
        ry_arena arena;
        ry_problem problem;
        ry_error error;
        line[strcspn(line, "\n")] = 0;
        ry_arena_init(&arena, &ry_system_allocator);
        if (ry_problem_parse(line, &arena, &problem, &error) != RYND_OK) {
            fprintf(stderr, "chosen: %s: %s\n", line, error.text);
            return 1;
        }
        printf("%s\n", line);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            write_problem(&problem, &places[i]);
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            const ry_target target = {RY_DEVICE_gpu, RY_ISA_generic, &others[i], 0, NULL};
            printf(" %s %s %u\n", others[i].architecture, others[i].isa, others[i].cores);
            write_machine(&problem, &target);
        }
        ry_arena_free(&arena);
    }
    return 0;
}
