/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a GPU's text is compiled with. */
#include "kernels/gpu/gpu_program.h"

static void define_arguments(const ry_problem *problem, ry_text *text)
{
    static const char *const memory[] = {"packed", "workspace", "scratch", "fault"};
    ry_text_add(text, "#define ARGUMENTS ");
    for (int i = 0; i < problem->inputs; i++) {
        ry_text_add(text, "ARGUMENT(in%d), ", i);
    }
    for (int i = 0; i < problem->outputs; i++) {
        ry_text_add(text, "ARGUMENT(out%d), ", i);
    }
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        ry_text_add(text, "%sARGUMENT(%s)", i ? ", " : "", memory[i]);
    }
    ry_text_add(text, "\n#define INPUTS %d\n#define OUTPUTS %d\n", problem->inputs,
                problem->outputs);
    for (int i = 0; i < problem->inputs; i++) {
        ry_text_add(text, "#define HAS_IN_%d %d\n", i, ry_problem_has_input(problem, i));
    }
}

/* The work-items of the largest group: compilers give each its share of the registers. */
static unsigned most_items(const ry_prepared *prepared)
{
    unsigned most = prepared->pack_tasks > 0 ? prepared->pack_group : 1;
    for (int phase = 0; phase < prepared->phases; phase++) {
        most = prepared->group[phase] > most ? prepared->group[phase] : most;
    }
    return most;
}

rynd_status ry_gpu_program_make(ry_prepared *prepared, ry_device *device, const ry_target *target,
                                ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    const ry_query query = {kernel, prepared->problem, target, &prepared->form};
    ry_arena arena;
    ry_arena_init(&arena, device->allocator);
    ry_text defines = {.arena = &arena};
    define_arguments(prepared->problem, &defines);
    ry_text_add(&defines, "#define MOST_ITEMS %u\n", most_items(prepared));
    kernel->gpu->define(&query, prepared, &defines);
    const ry_gpu_source source = {kernel->name, defines.at, kernel->gpu->text,
                                  kernel->gpu->entry_count, kernel->gpu->entries};
    const rynd_status status =
        defines.failed ? ry_fail_memory(error)
                       : device->table->program_create(device, &source, &prepared->program, error);
    ry_arena_free(&arena);
    return status;
}
