/* SPDX-License-Identifier: Apache-2.0 */
/* Device lists: reading them, and errors with file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "placement/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rynd_status parse(const char *text, ry_arena *arena, ry_fleet *fleet, ry_error *error)
{
    char copy[4096];
    assert_true(strlen(text) < sizeof copy);
    memcpy(copy, text, strlen(text));
    return ry_fleet_parse("lists/devices.txt", copy, strlen(text), arena, fleet, error);
}

static void a_list(void **state)
{
    (void)state;
    static const char text[] = "# devices\n"
                               "device small cpu threads=1 memory=2e9 watts=15  # the first\r\n"
                               "\n"
                               "\tdevice gpu opencl:1\n"
                               "device server machine=server.txt threads=8\n"
                               "device other machine=/m/x.txt\n"
                               "link server small bandwidth=1e9 latency=2e-5";
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {""};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(parse(text, &arena, &fleet, &error), RYND_OK);
    assert_int_equal(fleet.count, 4);
    const ry_fleet_device *d = fleet.device;
    assert_string_equal(d[0].name, "small");
    assert_string_equal(d[0].kind, "cpu");
    assert_true(d[0].threads == 1 && d[0].memory == 2e9 && d[0].watts == 15 && !d[0].machine);
    assert_string_equal(d[1].kind, "opencl:1");
    assert_true(d[1].threads == 0 && d[1].memory == INFINITY && d[1].watts == 0);
    assert_string_equal(d[2].machine, "lists/server.txt");
    assert_string_equal(d[2].kind, "cpu");
    assert_string_equal(d[3].machine, "/m/x.txt");
    assert_true(fleet.bandwidth[0 * 4 + 2] == 1e9 && fleet.bandwidth[2 * 4 + 0] == 1e9);
    assert_true(fleet.latency[0 * 4 + 2] == 2e-5 && fleet.latency[2 * 4 + 0] == 2e-5);
    assert_true(fleet.bandwidth[0 * 4 + 1] == RY_FLEET_HERE_BANDWIDTH);
    assert_true(fleet.bandwidth[1 * 4 + 2] == RY_FLEET_FAR_BANDWIDTH);
    assert_true(fleet.latency[1 * 4 + 0] == RY_FLEET_HERE_LATENCY);
    assert_true(fleet.latency[3 * 4 + 2] == RY_FLEET_FAR_LATENCY);
    ry_arena_free(&arena);
}

static void longest_name(void **state)
{
    (void)state;
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {""};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(parse("device abcdefghijklmnopqrstuvwxyz01234", &arena, &fleet, &error),
                     RYND_OK);
    assert_string_equal(fleet.device[0].name, "abcdefghijklmnopqrstuvwxyz01234");
    ry_arena_free(&arena);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "names no device"},
        {"# nothing\n", "names no device"},
        {"device a cpu\nmachine b", "line 2: begins with 'machine'"},
        {"device", "line 1: 'device' takes a name"},
        {"device a/b", "line 1: 'device' takes a name"},
        {"device abcdefghijklmnopqrstuvwxyz012345",
         "line 1: 'device' takes a name of at most 31 letters"},
        {"device a\ndevice a", "line 2: device 'a' is there already, in line 1"},
        {"device a thread=1", "'thread=1' is not known here"},
        {"device a cpu cpu", "'cpu' is not known here"},
        {"device a threads=0", "threads takes a whole number from 1 to 1024, not '0'"},
        {"device a threads=1.5", "threads takes a whole number"},
        {"device a threads=", "threads takes a whole number"},
        {"device a threads=1 threads=2", "threads is given twice"},
        {"device a memory=nan", "memory takes bytes"},
        {"device a memory=-1", "memory takes bytes"},
        {"device a memory=4GB", "memory takes bytes"},
        {"device a watts=inf", "watts takes a number"},
        {"device a watts=0", "watts takes a number"},
        {"device a machine=", "machine takes the name of a file"},
        {"device a machine=x machine=y", "machine is given twice"},
        {"device a op/cl", "'op/cl' is no device"},
        {"link a b", "no device 'a' is named above this line"},
        {"device a\nlink a", "'link' takes the names of two devices"},
        {"device a\nlink a a bandwidth=1 latency=1", "not 'a' with itself"},
        {"device a\ndevice b\nlink a b bandwidth=1", "a link has bandwidth=B"},
        {"device a\ndevice b\nlink a b latency=1", "a link has bandwidth=B"},
        {"device a\ndevice b\nlink a b bandwidth=0 latency=1", "bandwidth takes bytes a second"},
        {"device a\ndevice b\nlink a b bandwidth=1 latency=-1", "latency takes seconds"},
        {"device a\ndevice b\nlink a b bandwidth=1 latency=1\nlink b a bandwidth=1 latency=1",
         "line 4: the link of 'b' and 'a' is there already, in line 3"},
        {"device a b=1 c=2 d e f g h i j k l m n o p q r s", "line 1: more than 16 words"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ry_arena arena;
        ry_fleet fleet;
        ry_error error = {""};
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(parse(wrong[i].text, &arena, &fleet, &error), RYND_ERROR_FORMAT);
        if (!strstr(error.text, wrong[i].message) || !strstr(error.text, "lists/devices.txt: ")) {
            fail_msg("'%s': '%s' is not in '%s'", wrong[i].text, wrong[i].message, error.text);
        }
        ry_arena_free(&arena);
    }
}

static void bytes_of_any_kind(void **state)
{
    (void)state;
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {""};
    char zero[] = "device a\0device b\n ";
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_fleet_parse("d", zero, sizeof zero - 2, &arena, &fleet, &error),
                     RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "byte 0"));
    /* pieces of good lines in any order, and noise: it never crashes, and failures have a line */
    static const char *const pieces[] = {"device", " ",  "a",        "link",        "\n",
                                         "cpu",    "=",  "threads=", "9",           "machine=x",
                                         "#",      "\t", "\x80",     "bandwidth=1", "latency=0"};
    srand(2);
    for (int round = 0; round < 20000; round++) {
        char text[600];
        size_t length = 0;
        for (int i = rand() % 40; i > 0; i--) {
            const char *piece = pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        if (ry_fleet_parse("d", text, length, &arena, &fleet, &error) != RYND_OK) {
            assert_true(strncmp(error.text, "d: ", 3) == 0);
        }
    }
    ry_arena_free(&arena);
}

static void too_many(void **state)
{
    (void)state;
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {""};
    char text[2048] = "";
    for (int i = 0; i <= RY_FLEET_DEVICES; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "device d%d\n", i);
    }
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(parse(text, &arena, &fleet, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "line 33: more than 32 devices"));
    ry_arena_free(&arena);
}

static void files(void **state)
{
    (void)state;
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {""};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_fleet_read("/nowhere/d.txt", &arena, &fleet, &error), RYND_ERROR_IO);
    assert_non_null(strstr(error.text, "/nowhere/d.txt: cannot read the devices"));
    assert_int_equal(ry_fleet_read("/dev/zero", &arena, &fleet, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "not a regular file"));
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),        cmocka_unit_test(longest_name),
        cmocka_unit_test(what_is_wrong), cmocka_unit_test(bytes_of_any_kind),
        cmocka_unit_test(too_many),      cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
