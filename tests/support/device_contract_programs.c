/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling programs, messages of failed compilations, and conversion of every 16-bit number. */
#include "device_contract_parts.h"

#include <pthread.h>
#include <string.h>

void contract_test_compile_errors(void **state)
{
    (void)state;
    contract_need_device();
    ry_program program;
    ry_gpu_source source = {"broken",
                            "#define GROUP_OF_run 1\n#define GROUP_OF_walk 1\n"
                            "#define ARGUMENTS ARGUMENT(in0)\n",
                            "KERNEL(run)(ARGUMENTS)\n{\n    undeclared = 1;\n}\n", 1,
                            (const char *const[]){"run"}};
    assert_int_equal(
        held.device->table->program_create(held.device, &source, &program, &held.error),
        RYND_ERROR_DEVICE);
    assert_non_null(strstr(held.error.text, "kernel 'broken' does not compile"));
    assert_non_null(strstr(held.error.text, "undeclared"));
    source.text = "KERNEL(walk)(ARGUMENTS)\n{\n    IN(float, 0);\n}\n"; /* a warning */
    assert_int_equal(
        held.device->table->program_create(held.device, &source, &program, &held.error),
        RYND_ERROR_DEVICE);
    source.text = "KERNEL(walk)(ARGUMENTS)\n{\n    (void)IN(float, 0);\n}\n";
    assert_int_equal(
        held.device->table->program_create(held.device, &source, &program, &held.error),
        RYND_ERROR_DEVICE);
    assert_non_null(strstr(held.error.text, "kernel 'broken' has no entry 'run'"));
}

static size_t made(void)
{
    ry_device_figures figures;
    held.device->table->figures(held.device, &figures);
    return figures.compiled + figures.read;
}

static void *create_program(void *context)
{
    *(ry_program *)context = contract_program_of(7, true);
    return NULL;
}

void contract_test_shared_programs(void **state)
{
    (void)state;
    contract_need_device();
    enum { THREADS = 4 };
    const ry_program a = contract_program_of(3, false), b = contract_program_of(4, false),
                     c = contract_program_of(3, false);
    assert_ptr_equal(a.gpu, c.gpu);
    assert_ptr_not_equal(a.gpu, b.gpu);
    assert_int_equal(made(), 2);
    held.device->table->program_destroy(held.device, a);
    contract_run(c, 3, false);
    contract_run(b, 4, false);
    held.device->table->program_destroy(held.device, b);
    held.device->table->program_destroy(held.device, c);
    pthread_t thread[THREADS];
    ry_program program[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, create_program, &program[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_ptr_equal(program[i].gpu, program[0].gpu);
    }
    assert_int_equal(made(), 3);
    contract_run(program[0], 7, true);
    for (int i = 0; i < THREADS; i++) {
        held.device->table->program_destroy(held.device, program[i]);
    }
}

/* Every number that the dialect converts. */
void contract_test_dialect(void **state)
{
    (void)state;
    contract_need_device();
    enum { ALL = 65536 };
    static const char convert[] =
        "KERNEL(run)(ARGUMENTS)\n"
        "{\n"
        "    const int at = GROUP * 64 + ITEM;\n"
        "    STORE_f16(OUT(TYPE_f16, 0), at, LOAD_f16(IN(TYPE_f16, 0), at));\n"
        "    STORE_bf16(OUT(TYPE_bf16, 1), at, LOAD_bf16(IN(TYPE_bf16, 0), at));\n"
        "    if (at % 4 == 0) {\n"
        "        const VECTOR4 v = LOAD4_bf16(IN(TYPE_bf16, 0), at);\n"
        "        STORE4_bf16(OUT(TYPE_bf16, 2), at, MAKE_VECTOR4(v.x, v.y, v.z, v.w));\n"
        "        STORE4_f16(OUT(TYPE_f16, 3), at, LOAD4_f16(IN(TYPE_f16, 0), at));\n"
        "    }\n"
        "}\n";
    const ry_gpu_source source = {"convert",
                                  "#define GROUP_OF_run 64\n#define ARGUMENTS ARGUMENT(in0), "
                                  "ARGUMENT(out0), ARGUMENT(out1), ARGUMENT(out2), "
                                  "ARGUMENT(out3)\n",
                                  convert, 1, (const char *const[]){"run"}};
    static uint16_t in[ALL], out[4 * ALL];
    for (int i = 0; i < ALL; i++) {
        in[i] = (uint16_t)i;
    }
    void *resolved[5];
    ry_program program;
    ry_buffer *from, *to;
    OK(held.device->table->program_create(held.device, &source, &program, &held.error));
    OK(held.device->table->buffer_wrap(held.device, in, sizeof in, &from, &held.error));
    OK(held.device->table->buffer_create(held.device, sizeof out, &to, &held.error));
    const ry_pointer arguments[] = {
        {from, 0}, {to, 0}, {to, sizeof in}, {to, 2 * sizeof in}, {to, 3 * sizeof in}};
    const ry_launch l = {.program = program,
                         .phases = 1,
                         .tasks = (size_t[]){ALL / 64},
                         .group = (unsigned[]){64},
                         .argument_count = 5,
                         .arguments = arguments,
                         .resolved = resolved};
    OK(held.device->table->launch(held.stream, &l, &held.error));
    OK(contract_fetch(out, arguments[1], sizeof out));
    for (int i = 0; i < ALL; i++) {
        const bool f16_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff),
                   bf16_nan = (i & 0x7f80) == 0x7f80 && (i & 0x7f);
        if (!f16_nan) {
            assert_int_equal(out[i], i);
            assert_int_equal(out[3 * ALL + i], i);
        }
        assert_int_equal(out[ALL + i], bf16_nan ? i | 0x40 : i);
        assert_int_equal(out[2 * ALL + i], bf16_nan ? i | 0x40 : i);
    }
    held.device->table->buffer_destroy(held.device, from);
    held.device->table->buffer_destroy(held.device, to);
    held.device->table->program_destroy(held.device, program);
}
