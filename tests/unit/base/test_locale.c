/* SPDX-License-Identifier: Apache-2.0 */
/* Inside a program whose locale has a decimal comma: texts and files have a point all the same. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "machine/machine_file.h"

#include <ftw.h>
#include <locale.h>
#include <rynd/rynd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/rynd_locale_XXXXXX";

static int set_up(void **state)
{
    (void)state;
    char command[256], machine[64], half[16];
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", folder);
    snprintf(machine, sizeof machine, "%s/machine.txt", folder);
    setenv("LOCPATH", folder, 1);
    setenv("RYND_MACHINE", machine, 1);
    if (system(command) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8")) {
        fprintf(stderr, "the locale de_DE.UTF-8 cannot be made: install the package locales\n");
        return -1;
    }
    snprintf(half, sizeof half, "%.1f", 0.5);
    return strcmp(half, "0,5");
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void test_numbers(void **state)
{
    (void)state;
    char text[RY_NUMBER_SIZE];
    double number = 0;
    ry_number_print(0.25, text);
    assert_string_equal(text, "0.25");
    ry_number_print_fixed(1234.56, 1, text);
    assert_string_equal(text, "1234.6");
    assert_true(ry_number_parse("-2.5e3", 6, &number) && number == -2500);
    assert_false(ry_number_parse("2,5", 3, &number));
}

/* A problem's own numbers, and an expression's. */
static void test_problems(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "conv c=8 h=8 w=8 k=8 r=3 s=3 act=leaky_relu alpha=0.125",
        "expr x0=64x64:f32 y0=64x64:f32 program='y0 = x0 * 0.125'",
    };
    rynd_context *context;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rynd_op *op;
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        if (rynd_op_create(context, texts[i], NULL, &op) != RYND_OK) {
            fail_msg("%s", rynd_last_error());
        }
        assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
        assert_non_null(strstr(info.problem, "0.125"));
        rynd_op_destroy(op);
    }
    rynd_context_destroy(context);
}

/* The predicted time of a choice. */
static void test_reason(void **state)
{
    (void)state;
    rynd_context *context;
    rynd_op *op;
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(rynd_op_create(context, "conv c=8 h=8 w=8 k=8 r=3 s=3", NULL, &op), RYND_OK);
    assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
    assert_int_equal(strncmp(info.reason, "cost ", 5), 0);
    assert_int_equal(info.reason[5 + strspn(info.reason + 5, "0123456789")], '.');
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

static void test_message(void **state)
{
    (void)state;
    rynd_context *context;
    rynd_op *op;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(rynd_op_create(context,
                                    "resize x0=1x1x4x4:f32 y0=1x1x4x8:f32 scales=1,1,-0.5,2", NULL,
                                    &op),
                     RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "the scale of dim 2 is -0.5,"));
    rynd_context_destroy(context);
}

/* A machine file written under this locale reads the same under it and under C's. */
static void test_machine(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_machine written, read;
    ry_error error = {""};
    char line[160];
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, cpu.isa, &written);
    written.f32 = (rynd_rate){1.25e10, 2.5e10};
    if (ry_machine_write(&written, getenv("RYND_MACHINE"), &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    FILE *file = fopen(getenv("RYND_MACHINE"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && strncmp(line, "f32 ", 4) != 0) {
    }
    fclose(file);
    assert_string_equal(line, "f32 12500000000 25000000000\n");
    static const char *const locales[] = {"de_DE.UTF-8", "C"};
    for (int i = 0; i < 2; i++) {
        assert_non_null(setlocale(LC_ALL, locales[i]));
        assert_int_equal(ry_machine_read(getenv("RYND_MACHINE"), &read, &error), RYND_OK);
        assert_true(read.f32.one == 1.25e10 && read.f32.all == 2.5e10);
    }
    setlocale(LC_ALL, "de_DE.UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_problems),
        cmocka_unit_test(test_reason),  cmocka_unit_test(test_message),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
