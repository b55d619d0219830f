/* SPDX-License-Identifier: Apache-2.0 */
/* Machines: built in for their micro-architectures, written to files and read again, hostile files.
 */
#include "machine/machine_fields.h"
#include "machine/machine_file.h"
#include "machine/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/rynd_machine_XXXXXX";
static char path[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/machine.txt", mkdtemp(folder) ? folder : "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder);
}

static ry_cpu_info some_cpu(const char *vendor, int family, int model)
{
    ry_cpu_info cpu = {.name = "some CPU",
                       .family = family,
                       .model = model,
                       .cores = 2,
                       .machine_cores = 8,
                       .l1d = 32 << 10,
                       .l2 = 1 << 20,
                       .l3 = 32 << 20};
    snprintf(cpu.vendor, sizeof cpu.vendor, "%s", vendor);
    cpu.l2_shared = 1;
    cpu.l3_shared = 8;
    cpu.line = 64;
    return cpu;
}

static void test_architectures(void **state)
{
    (void)state;
    static const struct {
        const char *vendor;
        int family, model;
        const char *architecture;
    } known[] = {
        {"AuthenticAMD", 0x17, 0x31, "Zen 2"},
        {"AuthenticAMD", 0x19, 0x01, "Zen 3"},
        {"AuthenticAMD", 0x19, 0x21, "Zen 3"},
        {"AuthenticAMD", 0x19, 0x11, "Zen 4"},
        {"AuthenticAMD", 0x19, 0x61, "Zen 4"},
        {"AuthenticAMD", 0x19, 0xa0, "Zen 4"},
        {"AuthenticAMD", 0x1a, 0x02, "Zen 5"},
        {"GenuineIntel", 0x06, 0x55, "Skylake-X"},
        {"GenuineIntel", 0x06, 0x6a, "Ice Lake"},
        {"GenuineIntel", 0x06, 0x8f, "Sapphire Rapids"},
        {"GenuineIntel", 0x06, 0x97, "Alder Lake"},
        {"Arm", 0x41, 0xd0c, "Neoverse N1"},
        {"Arm", 0x41, 0xd40, "Neoverse V1"},
        {"GenuineIntel", 0x06, 0x0f, "unknown"},
        {"", 0, 0, "unknown"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const ry_cpu_info cpu = some_cpu(known[i].vendor, known[i].family, known[i].model);
        ry_machine machine;
        ry_machine_built_in(&cpu, RY_ISA_generic, &machine);
        assert_string_equal(machine.architecture, known[i].architecture);
    }
}

/* An unlisted or hidden CPU model is recognised by its features. */
static void test_unknown_with_tiles(void **state)
{
    (void)state;
    ry_cpu_info cpu = some_cpu("GenuineIntel", 0x06, 0x0f);
    ry_machine tiles, plain;
    cpu.isa = RY_ISA_amx;
    ry_machine_built_in(&cpu, RY_ISA_amx, &tiles);
    cpu.isa = RY_ISA_avx512;
    ry_machine_built_in(&cpu, RY_ISA_avx512, &plain);
    assert_string_equal(tiles.architecture, "unknown, with AMX");
    assert_string_equal(plain.architecture, "unknown");
    assert_true(tiles.bf16.one > 8 * tiles.f32.one && plain.bf16.one == 0);
}

/* More cores, wider vectors and nearer memory never offer less. */
static void test_order(void **state)
{
    (void)state;
    const ry_cpu_info cpu = some_cpu("GenuineIntel", 0x06, 0x8f);
    ry_machine last = {0};
    for (ry_isa isa = RY_ISA_generic; isa <= RY_ISA_amx; isa++) {
        ry_machine m;
        ry_machine_built_in(&cpu, isa, &m);
        assert_true(m.f32.one >= last.f32.one && m.bf16.one >= last.bf16.one &&
                    m.int8.one >= last.int8.one);
        assert_true(m.f32.all > 0 && m.f32.all >= m.f32.one);
        for (int i = 0; i < RYND_LEVELS; i++) {
            const rynd_memory_level *level = &m.level[i];
            assert_true(level->bandwidth.all >= level->bandwidth.one && level->bandwidth.one > 0);
            assert_true(i == 0 || (level->bandwidth.one <= level[-1].bandwidth.one &&
                                   level->latency.one > level[-1].latency.one));
        }
        assert_true(m.vector_bytes >= last.vector_bytes);
        last = m;
    }
    assert_int_equal(last.vector_bytes, 64);
    assert_int_equal(ry_machine_kept_bytes(&last), 8 << 20);
    assert_true(!ry_machine_exceeds_cache(&last, 8 << 20) &&
                ry_machine_exceeds_cache(&last, (8 << 20) + 4));
    assert_int_equal(ry_machine_core_bytes(&last, RYND_LEVEL_L2), 1 << 20);
    assert_int_equal(ry_machine_core_bytes(&last, RYND_LEVEL_L3), 4 << 20);
    last.level[RYND_LEVEL_L1] = (rynd_memory_level){0};
    assert_int_equal(ry_machine_core_bytes(&last, RYND_LEVEL_L1), 32 << 10);
}

static void test_tasks(void **state)
{
    (void)state;
    const ry_cpu_info cpu = some_cpu("AuthenticAMD", 0x19, 0x11);
    ry_machine m;
    ry_machine_built_in(&cpu, RY_ISA_avx2, &m);
    m.cores = 8;
    m.task_seconds = 0;
    assert_int_equal(ry_machine_task_bytes(&m, 1 << 30), 64 << 10);
    assert_int_equal(ry_machine_task_bytes(&m, 8 * 4 * (48 << 10)), 48 << 10);
    assert_int_equal(ry_machine_task_bytes(&m, 0), 32 << 10);
    m.task_seconds = 1e-6;
    m.level[RYND_LEVEL_L2].bandwidth.one = 1e11;
    assert_int_equal(ry_machine_task_bytes(&m, 0), 800000);
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void read_text(char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static ry_machine written_machine(void)
{
    const ry_cpu_info cpu = some_cpu("AuthenticAMD", 0x19, 0x11);
    ry_machine machine;
    ry_error error = {""};
    ry_machine_built_in(&cpu, RY_ISA_avx2, &machine);
    machine.disturbance = 0.0625;
    if (ry_machine_write(&machine, path, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    return machine;
}

/* Rates are kept to one operation, times to a picosecond: what is read is what was written. */
static void test_file(void **state)
{
    (void)state;
    const ry_machine written = written_machine();
    ry_machine read;
    ry_error error = {""};
    char first[4096], second[4096];
    read_text(first, sizeof first);
    if (ry_machine_read(path, &read, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(read.origin, RYND_MACHINE_IMPORTED);
    assert_true(ry_machine_same(&written, &read) && read.disturbance == written.disturbance);
    assert_true(read.level[RYND_LEVEL_L3].bytes == 32 << 20 &&
                read.level[RYND_LEVEL_L3].shared_by == 8);
    assert_int_equal(ry_machine_write(&read, path, &error), RYND_OK);
    read_text(second, sizeof second);
    assert_string_equal(first, second);
}

/* Each line changed, or missing, or cut: an error that names file and line, or a machine whose
 * other lines count; never anything else. */
static void test_hostile_files(void **state)
{
    (void)state;
    char text[4096], changed[8192];
    ry_machine machine;
    ry_error error = {""};
    written_machine();
    read_text(text, sizeof text);
    static const char *const values[] = {
        "", " ", "-1", "1e9", "99999999999999999999", "1 2 3", "nan nan", "\t", "\x1b[31m"};
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const size_t key = strcspn(line, " \n");
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            snprintf(changed, sizeof changed, "%.*s %s%s", (int)(line + key - text), text,
                     values[i], strchr(line, '\n'));
            write_text(changed);
            error.text[0] = 0;
            if (ry_machine_read(path, &machine, &error) != RYND_OK) {
                assert_non_null(strstr(error.text, path));
            } else {
                assert_true(machine.f32.one > 0 && machine.cores > 0);
            }
        }
    }
    for (size_t length = 0; length < strlen(text); length += 7) {
        snprintf(changed, sizeof changed, "%.*s", (int)length, text);
        write_text(changed);
        assert_int_equal(ry_machine_read(path, &machine, &error), RYND_ERROR_FORMAT);
    }
    write_text("rynd machine 1\nlater 1 2 3 4\nend\n");
    assert_int_equal(ry_machine_read(path, &machine, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "cores is missing"));
}

static void replace_line(const char *key, const char *line)
{
    char text[4096], changed[4096];
    written_machine();
    read_text(text, sizeof text);
    const char *at = strstr(text, key);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, line,
             strchr(at + 1, '\n'));
    write_text(changed);
}

/* Each number just inside and outside its range: the error names file, line, key, value and range.
 */
static void test_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < RY_MACHINE_FIELDS; i++) {
        const ry_machine_field *f = &ry_machine_fields[i];
        const double values[] = {f->least, f->most, f->least - 1, f->most * 1.001 + 1, 0};
        for (int v = 0; f->kind != RY_MACHINE_TEXT && v < 5; v++) {
            char key[64], line[160], number[64], range[RY_MACHINE_RANGE];
            ry_machine machine;
            ry_error error = {""};
            const bool legal = v < 2 || (values[v] == 0 && (f->optional || f->least == 0));
            snprintf(number, sizeof number, "%.0f", values[v]);
            snprintf(key, sizeof key, "\n%s ", f->name);
            const bool rate = f->kind == RY_MACHINE_RATE;
            snprintf(line, sizeof line, "\n%s %s%s%s", f->name, number, rate ? " " : "",
                     rate ? number : "");
            replace_line(key, line);
            const rynd_status status = ry_machine_read(path, &machine, &error);
            const bool share = strstr(error.text, "a core's share") != NULL;
            ry_machine_field_range(f, range);
            if (legal ? status != RYND_OK && !share
                      : status != RYND_ERROR_FORMAT || !strstr(error.text, path) ||
                            !strstr(error.text, "line ") || !strstr(error.text, number) ||
                            !strstr(error.text, f->name) || !strstr(error.text, range)) {
                fail_msg("%s: %s", line + 1, status == RYND_OK ? "taken" : error.text);
            }
        }
    }
    ry_machine machine;
    ry_error error = {""};
    replace_line("\nl2_shared_by ", "\nl2_shared_by 65536");
    assert_int_equal(ry_machine_read(path, &machine, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "l2_bytes is 1048576 and l2_shared_by 65536"));
}

/* What a driver or the system says beyond the ranges. */
static void test_settled(void **state)
{
    (void)state;
    ry_error error = {""};
    ry_machine machine = written_machine();
    machine.level[RYND_LEVEL_L1].bytes = 16;
    machine.level[RYND_LEVEL_L2] = (rynd_memory_level){.bytes = 1 << 20, .shared_by = 5000};
    machine.level[RYND_LEVEL_DRAM].bandwidth = (rynd_rate){0, 1e30};
    machine.cores = 1 << 20;
    assert_int_equal(ry_machine_write(&machine, path, &error), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "cores is 1048576"));
    ry_machine_settle(&machine);
    assert_int_equal(ry_machine_check(&machine, &error), RYND_OK);
    assert_true(machine.level[RYND_LEVEL_L1].bytes == 0 && machine.level[RYND_LEVEL_L2].bytes == 0);
    assert_true(machine.cores == 65536 && machine.level[RYND_LEVEL_DRAM].bandwidth.one == 1e6);
}

static void test_not_a_file(void **state)
{
    (void)state;
    ry_machine machine = written_machine();
    ry_error error = {""};
    remove(path);
    assert_int_equal(ry_machine_read(path, &machine, &error), RYND_ERROR_NOT_FOUND);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ry_machine_read(path, &machine, &error), RYND_ERROR_FORMAT);
    assert_int_equal(ry_machine_write(&machine, path, &error), RYND_ERROR_IO);
    remove(path);
    memset(machine.name, 'x', sizeof machine.name);
    assert_int_equal(ry_machine_write(&machine, path, &error), RYND_ERROR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void write_number(const char *root, const char *package, const char *name,
                         const char *number)
{
    char file_name[512];
    snprintf(file_name, sizeof file_name, "%s/%s", root, package);
    mkdir(file_name, 0700);
    snprintf(file_name, sizeof file_name, "%s/%s/%s", root, package, name);
    FILE *file = fopen(file_name, "w");
    assert_non_null(file);
    fputs(number, file);
    fclose(file);
}

/* Counters of packages are summed, begin again at their range, and may go away; parts of packages,
 * what is no number and what is not there count nothing. */
static void test_meter(void **state)
{
    (void)state;
    char root[] = "/tmp/rynd-meter-XXXXXX", command[128];
    ry_meter meter;
    assert_non_null(mkdtemp(root));
    assert_false(ry_meter_open(root, &meter));
    assert_true(ry_meter_take(&meter) == 0);
    write_number(root, "intel-rapl:7", "energy_uj", "none\n");
    write_number(root, "intel-rapl:7", "max_energy_range_uj", "1000\n");
    assert_false(ry_meter_open(root, &meter));
    const char *const packages[] = {"intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "psys"};
    for (size_t i = 0; i < 4; i++) {
        write_number(root, packages[i], "energy_uj", "5000000\n");
        write_number(root, packages[i], "max_energy_range_uj", "9999999\n");
    }
    assert_true(ry_meter_open(root, &meter));
    assert_int_equal(meter.packages, 2);
    assert_true(ry_meter_take(&meter) == 0);
    write_number(root, "intel-rapl:0", "energy_uj", "7500000\n");
    write_number(root, "intel-rapl:0:0", "energy_uj", "8000000\n");
    double joules = ry_meter_take(&meter);
    assert_true(joules > 2.4999 && joules < 2.5001);
    write_number(root, "intel-rapl:1", "energy_uj", "1000000\n"); /* 5 more, then 1 */
    joules = ry_meter_take(&meter);
    assert_true(joules > 5.9999 && joules < 6.0001);
    write_number(root, "intel-rapl:1", "energy_uj", "-3\n");
    assert_true(ry_meter_take(&meter) == 0);
    assert_false(ry_meter_open("off", &meter));
    assert_false(ry_meter_open("/no/such/folder", &meter));
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_with_tiles),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_meter),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_not_a_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
