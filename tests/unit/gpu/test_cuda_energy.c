/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of CUDA devices: NVML's counter, or its power, of a stand-in (tests/cuda/fake_nvml.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/cuda/nvml.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call)                                          \
    do {                                                  \
        if ((call) != RYND_OK) {                          \
            fail_msg("%s: %s", #call, rynd_last_error()); \
        }                                                 \
    } while (0)

/* Joules of the stand-in's meter are its watts times the time between two calls. */
static void joules_of_a_meter(void **state)
{
    (void)state;
    ry_nvml_meter meter;
    double joules = -1;
    setenv("FAKE_NVML_WATTS", "250", 1);
    assert_false(ry_nvml_open("0000:7f:00.0", &meter));
    assert_true(ry_nvml_open("0000:01:00.0", &meter));
    const char *counter = getenv("FAKE_NVML_COUNTER");
    assert_int_equal(meter.counts, !counter);
    const double before = ry_clock_seconds();
    assert_true(ry_nvml_take(&meter, &joules));
    const double begin = ry_clock_seconds();
    while (ry_clock_seconds() - begin < 0.02) {
    }
    assert_true(ry_nvml_take(&meter, &joules));
    const double most = 250 * (ry_clock_seconds() - before);
    assert_true(joules >= 250 * 0.02 * 0.9 - 2e-3 && joules <= most + 2e-3);
}

/* A measured card has the meter's power, and predictions have energy by it. The stand-in emulates
 * every work-item, so the card is a small one: measuring a large one takes it many minutes. */
static void energy_of_a_card(void **state)
{
    (void)state;
    setenv("FAKE_CUDA_SMALL", "1", 1);
    static const char problem[] = "conv n=1 c=8 h=8 w=8 k=8 r=3 s=3 pad=1";
    rynd_context *context;
    rynd_op *op;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .device = "cuda", .wisdom = "off");
    const rynd_measure_options how = RYND_SIZED(rynd_measure_options, .seconds = 1);
    setenv("FAKE_NVML_WATTS", "300", 1);
    OK(rynd_context_create(&options, &context));
    OK(rynd_context_measure(context, &how, &machine));
    assert_string_equal(machine.meter, "nvml");
    assert_true(fabs(machine.watts.all / 300 - 1) < 0.1);
    assert_true(fabs(machine.memory_watts.all / 300 - 1) < 0.1);
    rynd_context_destroy(context);
    char path[] = "/tmp/rynd_energy_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    OK(rynd_machine_save(&machine, path));
    const rynd_context_options metered =
        RYND_SIZED(rynd_context_options, .device = "cuda", .wisdom = "off", .machine = path);
    OK(rynd_context_create(&metered, &context));
    OK(rynd_op_create(context, problem, NULL, &op));
    OK(rynd_op_predict(op, &prediction));
    assert_string_equal(prediction.meter, "nvml");
    assert_true(fabs(prediction.joule / (prediction.median * machine.watts.all) - 1) < 0.05);
    assert_true(prediction.joule_low < prediction.joule &&
                prediction.joule < prediction.joule_high);
    rynd_op_destroy(op);
    rynd_context_destroy(context);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joules_of_a_meter),
                                       cmocka_unit_test(energy_of_a_card)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
