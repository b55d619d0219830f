/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of equal packing are packed into the same bytes, whatever the size of the image, and
 * every kernel that packs a network's weights has images of different sizes with equal packings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kernel.h"
#include "kernel_case.h"
#include "kernels/form.h"
#include "kernels/packing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMS = 24, PACKINGS = 1024, SIZES = 7, TEXT = 512 };

/* #: an extent that the input decides. */
static const char *const texts[] = {
    "conv c=5 h=# w=# k=7 r=3 s=3 pad=1 bias=1",
    "conv n=2 c=5 h=# w=# k=7 r=3 s=3 pad=1 bias=1",
    "convt n=2 c=5 h=# w=# k=6 r=3 s=3 pad=1 stride=2",
    "conv c=33 h=# w=# k=40 r=3 s=3 pad=1",
    "conv c=8 h=# w=# k=16 r=3 s=3 pad=1 layout=nhwc",
    "conv c=32 h=# w=# k=32 r=3 s=3 pad=1 stride=2 layout=nhwc",
    "conv c=3 h=# w=# k=24 r=7 s=7 pad=3 stride=2",
    "conv c=12 h=# w=# k=1 r=5 s=5 pad=2",
    "conv c=6 h=# w=# k=9 r=3 s=3 pad=4 dilation=3",
    "conv c=24 h=# w=# k=24 r=3 s=3 pad=1 groups=24 bias=1",
    "conv c=24 h=# w=# k=24 r=3 s=3 pad=1 groups=24 bias=1 layout=nhwc",
    "conv c=16 h=# w=# k=24 r=5 s=5 pad=2 groups=4 layout=nhwc",
    "conv c=64 h=# w=# k=32 r=1 s=1",
    "conv c=17 h=# w=# k=19 r=1 s=1 layout=nhwc",
    "convt c=16 h=# w=# k=8 r=4 s=4 pad=1 stride=2",
    "convt c=16 h=# w=# k=8 r=3 s=3 pad=1 stride=2 layout=nhwc",
    "convt c=20 h=# w=# k=20 r=3 s=3 pad=1 stride=2 groups=20 layout=nhwc",
    "convt c=20 h=# w=# k=20 r=3 s=3 pad=1 stride=2 groups=20",
    "convt c=20 h=# w=# k=20 r=3 s=3 pad=1 groups=20",
    "conv c=7 h=# w=# k=5 r=3 s=3 pad=1 dtype=f16",
    "conv c=4 h=# w=# k=6 r=3 s=3 pad=1 dtype=i32",
    "convt c=4 h=# w=# k=6 r=3 s=3 pad=1 stride=2 dtype=i32",
    ("separable_conv x0=1x24x#x#:f32:nhwc x1=24x1x3x3:f32 x3=40x24x1x1:f32 "
     "y0=1x40x#x#:f32:nhwc pads=1,1,1,1"),
    "conv c=9 h=# w=# k=24 r=3 s=3 pad=1 groups=3 dtype=f64",
    "conv c=9 h=# w=# k=24 r=3 s=3 pad=1 layout=nhwc dtype=f64",
    "convt c=16 h=# w=# k=8 r=4 s=5 pad=1 stride=2,3 dtype=f64",
    "matmul x0=#x40:i64 x1=40x70:i64 y0=#x70:i64",
    ("qconv x0=1x24x#x#:u8:nhwc x1=40x24x3x3:i8 x2=40:i32 x4=40:f32 y0=1x40x#x#:u8:nhwc "
     "pads=1,1,1,1 x_zero=3"),
    ("qconv x0=1x70x#x#:u8:nhwc x1=70x1x3x3:i8 x4=70:f32 y0=1x70x#x#:u8:nhwc pads=1,1,1,1 "
     "groups=70 x_zero=9"),
    "matmul x0=#x40:f32 x1=40x70:f32 y0=#x70:f32",
    "recurrent x0=#x1x128:f32 x2=1x128x32:f32 y0=#x1x1x32:f32",
    "matmul x0=#x1024:f32 x1=1024x1024:f32 y0=#x1024:f32",
};
static const int sizes[SIZES] = {1, 2, 3, 9, 16, 31, 40};

typedef struct packing {
    const ry_kernel *kernel;
    size_t text, key_size, size; /* which of the texts */
    int image;
    char *key;
    unsigned char *bytes;
} packing;

static packing all[PACKINGS];
static size_t count;
static bool shares[4096]; /* per kernel: two sizes had one packing */

static void forget(void)
{
    for (size_t i = 0; i < count; i++) {
        free(all[i].key);
        free(all[i].bytes);
    }
    count = 0;
}

static unsigned char *pack(const ry_prepared *prepared)
{
    const ry_problem *problem = prepared->problem;
    unsigned char *packed = malloc(prepared->packed);
    const void *in[CASE_OPERANDS] = {NULL};
    memset(packed, 0xff, prepared->packed);
    for (int i = 0; i < problem->inputs; i++) {
        if (!(ry_kernel_packs(prepared->kernel, problem) >> i & 1u)) {
            continue;
        }
        const size_t bytes = ry_tensor_bytes(&problem->in[i]);
        unsigned char *weights = malloc(bytes);
        for (size_t b = 0; b < bytes; b++) { /* no exponent of what is not finite */
            weights[b] = (unsigned char)((b * 2654435761u >> 13) & 0x3b);
        }
        in[i] = weights;
    }
    const ry_cpu_launch launch = {.problem = problem,
                                  .prepared = prepared,
                                  .state = prepared->state,
                                  .in = in,
                                  .packed_out = packed};
    for (size_t task = 0; task < prepared->pack_tasks; task++) {
        prepared->kernel->pack(&launch, task);
    }
    for (int i = 0; i < problem->inputs; i++) {
        free((void *)(uintptr_t)in[i]);
    }
    return packed;
}

/* Compares with what was packed with the same key, or keeps it. */
static void check(size_t index, size_t text, int image, const ry_prepared *prepared)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_text key = {.arena = &arena};
    assert_true(ry_packing_add(prepared, &key));
    assert_false(key.failed);
    unsigned char *bytes = pack(prepared);
    size_t i = 0;
    while (i < count &&
           !(all[i].text == text && all[i].kernel == prepared->kernel &&
             all[i].key_size == key.used && memcmp(all[i].key, key.at, key.used) == 0)) {
        i++;
    }
    if (i < count) {
        if (all[i].size != prepared->packed || memcmp(all[i].bytes, bytes, all[i].size) != 0) {
            char form[RY_FORM_TEXT];
            ry_form_print(prepared->kernel, &prepared->form, form);
            fail_msg("%s, '%s': images of %d and %d (%s) have one packing and other bytes",
                     prepared->kernel->name, texts[text], all[i].image, image, form);
        }
        shares[index] = shares[index] || all[i].image != image;
        free(bytes);
    } else if (count < PACKINGS) {
        all[count] = (packing){.kernel = prepared->kernel,
                               .text = text,
                               .key_size = key.used,
                               .size = prepared->packed,
                               .image = image,
                               .key = memcpy(malloc(key.used), key.at, key.used),
                               .bytes = bytes};
        count++;
    } else {
        free(bytes);
    }
    ry_arena_free(&arena);
}

static void check_forms(size_t index, size_t text, int image, const ry_problem *problem)
{
    const ry_kernel *kernel = every_kernel(index);
    const ry_target *target = every_kernel_target(kernel->isa);
    ry_query query = {kernel, problem, target, NULL};
    for (size_t i = 0; i < FORMS; i++) {
        ry_form form = ry_form_free();
        ry_arena arena;
        ry_prepared prepared;
        if (i > 0 && !ry_form_at(&query, i - 1, &form)) {
            break;
        }
        const ry_query asked = {kernel, problem, target, &form};
        if (ry_prepare(&asked, UINT32_MAX, &prepared, NULL) != RYND_OK || !prepared.packed) {
            continue;
        }
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_prepared_initialise(&prepared, NULL, target, &arena, NULL), RYND_OK);
        check(index, text, image, &prepared);
        ry_arena_free(&arena);
    }
}

static bool packs_here(const ry_kernel *kernel)
{
    return kernel->packed_inputs && kernel->pack && kernel->packing &&
           kernel_case_machine_has(kernel->isa);
}

static void put_extent(const char *text, int extent, char to[TEXT])
{
    size_t used = 0;
    for (; *text; text++) {
        used += (size_t)(*text == '#' ? snprintf(to + used, TEXT - used, "%d", extent)
                                      : snprintf(to + used, TEXT - used, "%c", *text));
    }
}

static void check_text(size_t text)
{
    for (int s = 0; s < SIZES; s++) {
        char problem_text[TEXT];
        ry_arena arena;
        ry_problem problem;
        ry_error error = {""};
        const int n = sizes[s];
        put_extent(texts[text], n, problem_text);
        ry_arena_init(&arena, &ry_system_allocator);
        if (ry_problem_parse(problem_text, &arena, &problem, &error) != RYND_OK) {
            fail_msg("'%s': %s", problem_text, error.text);
        }
        problem.accuracy = RY_ACCURACY_bf16;
        for (size_t k = 0; k < every_kernel_count(); k++) {
            const ry_kernel *kernel = every_kernel(k);
            if (packs_here(kernel) && kernel->op == problem.op && kernel->applicable(&problem)) {
                check_forms(k, text, n, &problem);
            }
        }
        ry_arena_free(&arena);
    }
    forget();
}

static void test_equal_packings_are_equal_bytes(void **state)
{
    (void)state;
    for (size_t text = 0; text < sizeof texts / sizeof *texts; text++) {
        check_text(text);
    }
    for (size_t k = 0; k < every_kernel_count(); k++) {
        if (packs_here(every_kernel(k)) && !shares[k]) {
            fail_msg("%s: no two sizes of an image have one packing", every_kernel(k)->name);
        }
    }
}

/* A kernel that packs weights tells their packing. */
static void test_every_kernel_tells_its_packing(void **state)
{
    (void)state;
    for (size_t k = 0; k < every_kernel_count(); k++) {
        const ry_kernel *kernel = every_kernel(k);
        if (kernel->packed_inputs && !kernel->packing &&
            !strstr(kernel->name, "bwd_weights")) { /* what it packs is no constant */
            fail_msg("%s packs weights and does not tell their packing", kernel->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_packings_are_equal_bytes),
        cmocka_unit_test(test_every_kernel_tells_its_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
