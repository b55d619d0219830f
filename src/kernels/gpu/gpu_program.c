/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a GPU's text is compiled with. */
#include "kernels/gpu/gpu_program.h"

#include "machine/machine.h"

/* in_parts: a launch may be split, and its parts begin at other groups than the first. */
static void define_arguments(const ry_problem *problem, bool in_parts, ry_text *text)
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
    ry_text_add(text, "%s",
                in_parts ? " PART_ARGUMENT\n#undef FIRST_GROUP\n#define FIRST_GROUP PART_FIRST"
                         : "");
    ry_text_add(text, "\n#define INPUTS %d\n#define OUTPUTS %d\n", problem->inputs,
                problem->outputs);
    for (int i = 0; i < problem->inputs; i++) {
        ry_text_add(text, "#define HAS_IN_%d %d\n", i, ry_problem_has_input(problem, i));
    }
}

/* The work-items of an entry's groups. An entry that this form does not run has those of the first
 * phase. */
static unsigned group_of(const ry_prepared *prepared, int entry)
{
    const int phase = entry - (prepared->pack_tasks > 0);
    return phase < 0                  ? prepared->pack_group
           : phase < prepared->phases ? prepared->group[phase]
                                      : prepared->group[0];
}

/* Compilers give each item its share of the registers. */
static void define_groups(const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_kernel *gpu = prepared->kernel->gpu;
    for (int i = 0; i < gpu->entry_count; i++) {
        ry_text_add(text, "#define GROUP_OF_%s %u\n", gpu->entries[i], group_of(prepared, i));
    }
}

/* Local memory beyond what a text may declare is given by the launch (CUDA), all of it. */
static void define_given(const ry_prepared *prepared, const ry_machine *machine, ry_text *text)
{
    const ry_gpu_kernel *gpu = prepared->kernel->gpu;
    const int first = prepared->pack_tasks > 0;
    for (int i = 0; i < prepared->phases && machine->local_bytes > 0; i++) {
        if (prepared->use[i].local > machine->local_bytes) {
            ry_text_add(text, "#define GIVEN_OF_%s %zu\n", gpu->entries[first + i],
                        prepared->use[i].local);
        }
    }
}

/* The least limit of the entries whose groups exceed it; 0: all groups fit. */
static unsigned admitted_by(const ry_prepared *prepared, const ry_device *device)
{
    const int entries = prepared->phases + (prepared->pack_tasks > 0);
    unsigned least = 0;
    for (int i = 0; i < entries; i++) {
        const unsigned items = device->table->program_items(prepared->program, i);
        if (items && items < group_of(prepared, i) && (!least || items < least)) {
            least = items;
        }
    }
    return least;
}

rynd_status ry_gpu_program_make(ry_prepared *prepared, ry_device *device, const ry_target *target,
                                unsigned *admitted, ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    const ry_query query = {kernel, prepared->problem, target, &prepared->form};
    ry_arena arena;
    ry_arena_init(&arena, device->allocator);
    ry_text defines = {.arena = &arena};
    const bool in_parts = target->machine->launch_limit > 0;
    define_arguments(prepared->problem, in_parts, &defines);
    define_groups(prepared, &defines);
    define_given(prepared, target->machine, &defines);
    kernel->gpu->define(&query, prepared, &defines);
    const ry_gpu_source source = {kernel->name, defines.at, kernel->gpu->text,
                                  kernel->gpu->entry_count, kernel->gpu->entries};
    const rynd_status status =
        defines.failed ? ry_fail_memory(error)
                       : device->table->program_create(device, &source, &prepared->program, error);
    ry_arena_free(&arena);
    *admitted = status == RYND_OK ? admitted_by(prepared, device) : 0;
    return status;
}
