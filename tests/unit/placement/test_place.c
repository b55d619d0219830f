/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets and placements, through the public functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "devices_file.h"
#include "tiny_loaded.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static rynd_fleet *fleet_of(const char *text)
{
    rynd_fleet *fleet;
    const devices_file file = devices_file_make(text);
    assert_int_equal(rynd_fleet_load(file.path, NULL, &fleet), RYND_OK);
    unlink(file.path);
    return fleet;
}

static void fleets(void **state)
{
    (void)state;
    rynd_fleet *fleet = fleet_of("device a cpu threads=1 watts=3\n"
                                 "device b cpu threads=2 memory=1e9\n"
                                 "link b a bandwidth=5e9 latency=1e-6\n");
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    double bandwidth, latency;
    assert_int_equal(rynd_fleet_device_count(fleet), 2);
    assert_int_equal(rynd_fleet_get_device(fleet, 1, &device), RYND_OK);
    assert_string_equal(device.name, "b");
    assert_string_equal(device.device, "cpu");
    assert_null(device.machine);
    assert_true(device.threads == 2 && device.memory == 1e9 && device.watts == 0);
    assert_non_null(device.context);
    assert_int_equal(rynd_fleet_get_device(fleet, 2, &device), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_fleet_get_link(fleet, 0, 1, &bandwidth, &latency), RYND_OK);
    assert_true(bandwidth == 5e9 && latency == 1e-6);
    assert_int_equal(rynd_fleet_get_link(fleet, 0, 0, &bandwidth, &latency), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_fleet_get_link(fleet, 0, 2, &bandwidth, &latency), RYND_ERROR_ARGUMENT);
    rynd_fleet_destroy(fleet);
    rynd_fleet_destroy(NULL);

    const devices_file wrong = devices_file_make("device a cpu\ndevice b nonsense\n");
    assert_int_equal(rynd_fleet_load(wrong.path, NULL, &fleet), RYND_ERROR_ARGUMENT);
    assert_null(fleet);
    assert_non_null(strstr(rynd_last_error(), "line 2: device 'b': "));
    unlink(wrong.path);
}

static rynd_placement *place(rynd_fleet *fleet, rynd_objective objective, size_t parts)
{
    rynd_placement *placement;
    const rynd_placement_options options =
        RYND_SIZED(rynd_placement_options, .objective = objective, .batch = 1, .parts = parts);
    assert_int_equal(rynd_placement_create(fleet, &model, 1, &options, &placement), RYND_OK);
    return placement;
}

static double predicted_whole(rynd_context *where, size_t *total)
{
    const rynd_part_options options = RYND_SIZED(rynd_part_options, .batch = 1);
    const rynd_plan_options looked_at = RYND_SIZED(rynd_plan_options, .without_weights = 1);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_model *part;
    rynd_plan *plan;
    assert_int_equal(rynd_model_create_part(model, where, &options, &part), RYND_OK);
    assert_int_equal(rynd_plan_create(part, &looked_at, &plan), RYND_OK);
    assert_int_equal(rynd_plan_predict(plan, &prediction), RYND_OK);
    assert_int_equal(rynd_plan_get_memory(plan, &memory), RYND_OK);
    rynd_plan_destroy(plan);
    rynd_model_destroy(part);
    *total = memory.total;
    return prediction.median;
}

/* An uncut network on one device takes the time of `rynd predict`. */
static void one_device(void **state)
{
    (void)state;
    rynd_fleet *fleet = fleet_of("device a cpu threads=1 watts=4\n");
    rynd_placement *placement = place(fleet, RYND_OBJECTIVE_LATENCY, 1);
    rynd_placement_info info = RYND_SIZED(rynd_placement_info);
    rynd_placed_part part = RYND_SIZED(rynd_placed_part);
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    size_t total;
    double seconds;
    assert_int_equal(rynd_fleet_get_device(fleet, 0, &device), RYND_OK);
    const double whole = predicted_whole(device.context, &total);
    assert_int_equal(rynd_placement_get_info(placement, &info), RYND_OK);
    assert_true(info.parts == 1 && info.complete && info.value == whole && info.bound == whole);
    assert_true(info.latency == whole && info.period == whole);
    assert_true(info.memory == (double)total && fabs(info.energy - 4 * whole) < 1e-12);
    assert_int_equal(rynd_placement_get_part(placement, 0, &part), RYND_OK);
    assert_true(part.seconds == whole && part.memory.total == total && part.first == 0);
    assert_true(part.bytes_in == 4 * TINY_CHANNELS * TINY_SIDE * TINY_SIDE);
    assert_true(part.bytes_out == 4 * TINY_CLASSES);
    assert_string_equal(part.last_node, "y");
    assert_int_equal(rynd_placement_get_part(placement, 1, &part), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_placement_get_makespan(placement, 3, &seconds), RYND_OK);
    assert_true(fabs(seconds - 3 * whole) < 1e-9 * whole);
    assert_int_equal(rynd_placement_get_makespan(placement, 0, &seconds), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_placement_get_makespan(placement, 1025, &seconds), RYND_ERROR_ARGUMENT);
    rynd_placement_destroy(placement);
    rynd_placement_destroy(NULL);
    rynd_fleet_destroy(fleet);
}

/* Two equal devices both get parts; the parts contain every node exactly once. */
static void cut_in_parts(void **state)
{
    (void)state;
    rynd_fleet *fleet = fleet_of("device a cpu threads=1\ndevice b cpu threads=1\n"
                                 "link a b bandwidth=1e15 latency=0\n");
    for (int objective = RYND_OBJECTIVE_THROUGHPUT; objective <= RYND_OBJECTIVE_MEMORY;
         objective += RYND_OBJECTIVE_MEMORY - RYND_OBJECTIVE_THROUGHPUT) {
        rynd_placement *placement = place(fleet, (rynd_objective)objective, 4);
        rynd_placement_info info = RYND_SIZED(rynd_placement_info);
        double load[2] = {0}, held[2] = {0};
        size_t next = 0;
        assert_int_equal(rynd_placement_get_info(placement, &info), RYND_OK);
        assert_true(info.parts >= 2 && info.bound == info.value && info.nodes >= 1);
        assert_true(info.energy == 0);
        for (size_t i = 0; i < info.parts; i++) {
            rynd_placed_part part = RYND_SIZED(rynd_placed_part);
            assert_int_equal(rynd_placement_get_part(placement, i, &part), RYND_OK);
            assert_true(part.first == next && part.end > part.first && part.device < 2);
            assert_true(part.steps > 0 && part.bytes_in > 0 && part.bytes_out > 0);
            load[part.device] += part.seconds;
            held[part.device] += (double)part.memory.total;
            next = part.end;
        }
        const double value =
            objective == RYND_OBJECTIVE_MEMORY ? fmax(held[0], held[1]) : fmax(load[0], load[1]);
        assert_true(load[0] > 0 && load[1] > 0);
        assert_true(fabs(info.value - value) <= 1e-9 * value);
        assert_true(fmax(load[0], load[1]) == info.period ||
                    fabs(fmax(load[0], load[1]) - info.period) <= 1e-9 * info.period);
        rynd_placement_destroy(placement);
    }
    rynd_fleet_destroy(fleet);
}

/* A device with too little memory gets nothing, or nobody does. */
static void within_memory(void **state)
{
    (void)state;
    rynd_fleet *fleet = fleet_of("device small cpu threads=1 memory=10\ndevice large cpu\n");
    rynd_placement *placement = place(fleet, RYND_OBJECTIVE_MEMORY, 3);
    rynd_placement_info info = RYND_SIZED(rynd_placement_info);
    rynd_placed_part part = RYND_SIZED(rynd_placed_part);
    assert_int_equal(rynd_placement_get_info(placement, &info), RYND_OK);
    assert_int_equal(info.parts, 1);
    assert_int_equal(rynd_placement_get_part(placement, 0, &part), RYND_OK);
    assert_int_equal(part.device, 1);
    rynd_placement_destroy(placement);
    rynd_fleet_destroy(fleet);

    fleet = fleet_of("device small cpu threads=1 memory=10\n");
    const rynd_placement_options options = RYND_SIZED(rynd_placement_options, .batch = 1);
    assert_int_equal(rynd_placement_create(fleet, &model, 1, &options, &placement),
                     RYND_ERROR_NOT_FOUND);
    assert_non_null(strstr(rynd_last_error(), "memory"));
    rynd_fleet_destroy(fleet);
}

static int stop(void *user, const rynd_progress *progress)
{
    *(size_t *)user = progress->all;
    return progress->done == 2;
}

static void what_is_refused(void **state)
{
    (void)state;
    rynd_fleet *fleet = fleet_of("device a cpu watts=1\ndevice b cpu threads=1\n");
    rynd_model *const none[] = {NULL};
    size_t all = 0;
    rynd_placement *placement;
    const struct {
        rynd_placement_options options;
        rynd_model *const *models;
        size_t count;
        rynd_status status;
        const char *message;
    } wrong[] = {
        {{.batch = 1, .objective = RYND_OBJECTIVE_ENERGY},
         &model,
         1,
         RYND_ERROR_UNSUPPORTED,
         "no meter: device 'b' (line 2 of the devices)"},
        {{.batch = 1, .objective = (rynd_objective)7},
         &model,
         1,
         RYND_ERROR_ARGUMENT,
         "objective 7"},
        {{.batch = -1}, &model, 1, RYND_ERROR_ARGUMENT, "batch is -1"},
        {{.batch = 1, .parts = 33}, &model, 1, RYND_ERROR_ARGUMENT, "parts is 33"},
        {{.batch = 1}, &model, 0, RYND_ERROR_ARGUMENT, "model_count is 0"},
        {{.batch = 1}, none, 1, RYND_ERROR_ARGUMENT, "models[0] is NULL"},
        {{.batch = 0}, &model, 1, RYND_ERROR_SHAPE, "'batch'"},
        {{.batch = 1, .progress = stop, .progress_user = &all},
         &model,
         1,
         RYND_ERROR_CANCELLED,
         "ended by its caller"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rynd_placement_options options = wrong[i].options;
        options.size = sizeof options;
        const rynd_status status =
            rynd_placement_create(fleet, wrong[i].models, wrong[i].count, &options, &placement);
        assert_null(placement);
        if (status != wrong[i].status || !strstr(rynd_last_error(), wrong[i].message)) {
            fail_msg("%zu: %s: '%s' is not in '%s'", i, rynd_status_text(status), wrong[i].message,
                     rynd_last_error());
        }
    }
    assert_true(all > 2);
    rynd_fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fleets), cmocka_unit_test(one_device), cmocka_unit_test(cut_in_parts),
        cmocka_unit_test(within_memory), cmocka_unit_test(what_is_refused)};
    return cmocka_run_group_tests(tests, begin, end);
}
