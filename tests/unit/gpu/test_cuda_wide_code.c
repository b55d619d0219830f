/* SPDX-License-Identifier: Apache-2.0 */
/* Wide tiles (wgmma) of every size as machine code for sm_90a: ptxas neither spills registers nor makes products
 * wait for each other (strict_nvrtc). Skipped where build/venv has no NVRTC.
 *
 *   RYND_TEST_NVRTC=12 (or 13)   which one
 *   RYND_TEST_CUBINS=DIR         keeps the code in DIR; DIR/list.txt tells problem, kernel and tile */
#include "../../cuda/fake_cuda.h"
#include "../../cuda/strict_nvrtc.h"
#include "device/cuda/cuda_device.h"
#include "every_kernel.h"
#include "kernel_case.h"
#include "kernels/form.h"
#include "kernels/prepared.h"
#include "machine/machine.h"
#include "nvrtc_need.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

/* Sums that are not split; last tiles of every side; a kernel has all tiles or, where x must be y's other
 * side, those that are wide along it. */
static const struct row {
    const char *problem, *kernel;
    case_layout layout;
    int forms;
} rows[] = {
    {"conv n=16 c=64 h=56 w=56 k=140 r=3 s=3 pad=1", "conv_fwd_tf32_units_gpu", CASE_NHWC, 4},
    {"conv n=16 c=64 h=56 w=56 k=140 r=3 s=3 pad=1", "conv_fwd_bf16_units_gpu", CASE_NHWC, 4},
    {"conv n=16 c=64 h=56 w=56 k=140 r=3 s=3 pad=1 dtype=f16", "conv_fwd_half_units_gpu", CASE_NHWC,
     4},
    {"conv n=16 c=256 h=14 w=14 k=256 r=1 s=1 dtype=bf16", "conv_fwd_half_units_gpu", CASE_NHWC, 4},
    {"matmul x0=2000x500:f32 x1=500x1000:f32 y0=2000x1000:f32", "matmul_tf32_wide_gpu", CASE_NCHW,
     4},
    {"matmul x0=2000x500:f32 x1=500x1000:f32 y0=2000x1000:f32", "matmul_bf16_wide_gpu", CASE_NCHW,
     4},
    {"matmul x0=2000x512:f16 x1=512x1000:f16 y0=2000x1000:f16", "matmul_half_wide_gpu", CASE_NCHW,
     4},
    {"qconv x0=16x64x56x56:u8 x1=140x64x3x3:i8 x4=140:f32 y0=16x140x56x56:u8 pads=1,1,1,1 x_zero=3",
     "qconv_units_gpu", CASE_NHWC, 4},
};

static ry_error error;
static ry_device *device;
static strict_nvrtc_state *strict;

static void open_device(void)
{
    static rynd_machine machine;
    void *driver = dlopen(getenv("RYND_CUDA_LIBRARY"), RTLD_NOW),
         *compiler = dlopen(getenv("RYND_NVRTC_LIBRARY"), RTLD_NOW);
    assert_true(driver && compiler);
    ((fake_cuda_state *)dlsym(driver, "fake_cuda"))->capability = 90;
    strict = dlsym(compiler, "strict_nvrtc");
    if (ry_cuda_device_create(&ry_system_allocator, 0, NULL, &device, &error) != RYND_OK ||
        ry_cuda_machine(0, &machine, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    device->machine = &machine;
}

static void keep_code(FILE *list, const struct row *row, const char *tile)
{
    static int number;
    if (list) {
        snprintf(strict->cubin, sizeof strict->cubin, "%s/%d.cubin", getenv("RYND_TEST_CUBINS"),
                 number);
        fprintf(list, "%d\t%s\t%s\t%s\n", number++, row->kernel, tile, row->problem);
    }
}

static void check_form(const struct row *row, const ry_query *query, const char *tile)
{
    ry_prepared prepared;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    strict->count = 0;
    if (ry_prepare(query, 0, &prepared, &error) != RYND_OK ||
        ry_prepared_initialise(&prepared, device, query->target, &arena, &error) != RYND_OK) {
        fail_msg("%s, %s of %s: %s", row->kernel, tile, row->problem, error.text);
    }
    ry_prepared_release(&prepared, device);
    ry_arena_free(&arena);
    for (int e = 0; e < strict->count; e++) {
        const struct strict_entry *entry = &strict->entry[e];
        if (strcmp(entry->name, "run") == 0) {
            print_message("%s %s: %d registers, %u estimated\n", row->kernel, tile,
                          entry->registers, prepared.use[0].registers);
        }
        if (entry->spilled > 0) {
            fail_msg("%s, %s of %s: %s spills %d bytes", row->kernel, tile, row->problem,
                     entry->name, entry->spilled);
        }
    }
}

static int check_forms(const struct row *row, FILE *list)
{
    const ry_kernel *kernel = every_kernel_find(row->kernel);
    const ry_target target = ry_target_of(device);
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    assert_non_null(kernel);
    kernel_case_parse(&c, row->problem);
    const ry_problem problem = kernel_case_problem(&c, row->layout, in, out);
    ry_form form;
    const ry_query any = {kernel, &problem, &target, NULL};
    int checked = 0;
    for (size_t at = 0; ry_form_at(&any, at, &form); at++) {
        const char *tile = kernel->knobs[0].words[form.value[0]];
        if (form.value[1] == 1 && strncmp(tile, "wide", 4) == 0) {
            const ry_query query = {kernel, &problem, &target, &form};
            keep_code(list, row, tile);
            check_form(row, &query, tile);
            checked++;
        }
    }
    kernel_case_end(&c);
    return checked;
}

static void no_tile_spills(void **state)
{
    (void)state;
    char path[512];
    const char *folder = getenv("RYND_TEST_CUBINS");
    nvrtc_need();
    open_device();
    snprintf(path, sizeof path, "%s/list.txt", folder ? folder : "");
    FILE *list = folder ? fopen(path, "w") : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int forms = check_forms(&rows[i], list);
        if (forms != rows[i].forms) {
            fail_msg("%s of %s: %d tiles instead of %d", rows[i].kernel, rows[i].problem, forms,
                     rows[i].forms);
        }
    }
    if (list) {
        fclose(list);
    }
    device->table->destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_tile_spills)};
    setenv("RYND_CUDA_OPTIONS", "-Xptxas -v", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
