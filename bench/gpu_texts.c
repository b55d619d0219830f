/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the OpenCL texts of a card's tiled kernels, which bench/amd_code compiles:
 *
 *   bench_gpu_texts CARD FOLDER < PROBLEMS
 *
 * FOLDER/<number>.cl is the form that is chosen for a problem and a kernel; a line of standard output
 * names them. */
#include "device/opencl/opencl_info.h"
#include "kernels/gpu/gpu_program.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/prepared.h"
#include "problem/problem.h"

#include <stdio.h>
#include <string.h>

extern const char ry_opencl_dialect[];

enum { MAX_LINE = 512 };

static const char *folder;
static int number;

static rynd_status write_text(ry_device *device, const ry_gpu_source *source, ry_program *program,
                              ry_error *error)
{
    char path[MAX_LINE];
    (void)device;
    (void)program;
    snprintf(path, sizeof path, "%s/%d.cl", folder, number);
    FILE *file = fopen(path, "w");
    if (!file) {
        return ry_fail(error, RYND_ERROR_IO, "%s cannot be written", path);
    }
    fprintf(file, "%s%s%s", ry_opencl_dialect, source->defines, source->text);
    return fclose(file) == 0 ? RYND_OK : ry_fail(error, RYND_ERROR_IO, "%s: no room", path);
}

static unsigned any_items(ry_program program, int entry)
{
    (void)program;
    (void)entry;
    return 0;
}

static const ry_device_table writer = {
    .kind = RY_DEVICE_gpu, .program_create = write_text, .program_items = any_items};

static rynd_status write_kernel(const ry_problem *problem, const ry_target *target,
                                const ry_kernel *kernel, ry_error *error)
{
    const ry_query query = {kernel, problem, target, NULL};
    ry_device device = {
        .table = &writer, .allocator = &ry_system_allocator, .machine = target->machine};
    ry_prepared prepared;
    unsigned admitted;
    RY_TRY(ry_prepare(&query, ~0u, &prepared, error));
    return ry_gpu_program_make(&prepared, &device, target, &admitted, error);
}

/* Kernels of igemm.cl for GPUs. */
static rynd_status write_problem(const ry_problem *problem, const ry_target *target,
                                 const char *line, ry_error *error)
{
    size_t at = 0;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(problem, target, &at)) != NULL;) {
        if (kernel->knobs == ry_gpu_tile_knobs) {
            RY_TRY(write_kernel(problem, target, kernel, error));
            printf("%d\t%s\t%s\n", number++, kernel->name, line);
        }
    }
    return RYND_OK;
}

static rynd_status write_line(const char *line, const ry_machine *machine, ry_error *error)
{
    const ry_target target = {.device = RY_DEVICE_gpu, .machine = machine};
    ry_arena arena;
    ry_problem problem;
    ry_arena_init(&arena, &ry_system_allocator);
    rynd_status status = ry_problem_parse(line, &arena, &problem, error);
    if (status == RYND_OK) {
        status = write_problem(&problem, &target, line, error);
    }
    ry_arena_free(&arena);
    return status;
}

int main(int argc, char **argv)
{
    char line[MAX_LINE];
    static ry_machine machine;
    size_t card = 0;
    while (argc == 3 && ry_opencl_card_name(card) &&
           strcmp(ry_opencl_card_name(card), argv[1]) != 0) {
        card++;
    }
    if (argc == 3 && !ry_opencl_card_name(card)) {
        fprintf(stderr, "there is no card '%s'; `rynd devices --cards` lists OpenCL's\n", argv[1]);
        return 2;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: bench_gpu_texts CARD FOLDER < PROBLEMS\n");
        return 2;
    }
    folder = argv[2];
    ry_opencl_card(card, &machine);
    while (fgets(line, sizeof line, stdin)) {
        ry_error error;
        line[strcspn(line, "\n")] = 0;
        if (write_line(line, &machine, &error) != RYND_OK) {
            fprintf(stderr, "%s: %s\n", line, error.text);
            return 1;
        }
    }
    return 0;
}
