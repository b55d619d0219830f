/* SPDX-License-Identifier: Apache-2.0 */
/* Counters move once a millisecond (RAPL), or every 20 to 100 (NVML), so runs are metered for many
 * times that. */
#include "tune/energy_meter.h"

#include "base/clock.h"

/* Seconds of a sample. */
static const double CPU_SPAN = 0.03, DEVICE_SPAN = 0.4;

static bool is_cpu(const ry_energy_meter *meter)
{
    return meter->device->table->kind == RY_DEVICE_cpu;
}

/* Joules since the last call; false: the meter is gone. */
static bool take(ry_energy_meter *meter, double *joules)
{
    if (is_cpu(meter)) {
        *joules = ry_meter_take(&meter->packages);
        return true;
    }
    return meter->device->table->take_energy(meter->device, joules);
}

void ry_energy_meter_open(ry_device *device, ry_energy_sample *samples, int room,
                          ry_energy_meter *meter)
{
    *meter = (ry_energy_meter){.device = device, .name = "", .samples = samples, .room = room};
    double joules;
    if (is_cpu(meter)) {
        meter->name = ry_meter_open(NULL, &meter->packages) ? "rapl" : "";
    } else if (device->table->take_energy && take(meter, &joules)) {
        meter->name = "nvml";
    }
}

static bool has_sample(const ry_energy_meter *meter, int problem)
{
    for (int i = 0; i < meter->count; i++) {
        if (meter->samples[i].problem == problem) {
            return true;
        }
    }
    return false;
}

rynd_status ry_energy_meter_run(ry_energy_meter *meter, ry_trial *trial, int problem,
                                const ry_prepared *prepared, double limit, ry_error *error)
{
    if (!*meter->name || meter->count == meter->room || has_sample(meter, problem) ||
        (!is_cpu(meter) && meter->spent >= limit)) {
        return RYND_OK;
    }
    double joules = 0, seconds, span = 0;
    int runs = 0;
    (void)take(meter, &joules);
    const double begin = ry_clock_seconds(), least = is_cpu(meter) ? CPU_SPAN : DEVICE_SPAN;
    do {
        RY_TRY(ry_trial_measure(trial, &seconds, error));
        runs += trial->runs;
        span = ry_clock_seconds() - begin;
    } while (span < least);
    meter->spent += span;
    if (take(meter, &joules) && joules > 0) {
        meter->samples[meter->count++] = (ry_energy_sample){.problem = problem,
                                                            .prepared = prepared,
                                                            .joules = joules / runs,
                                                            .seconds = span / runs};
    }
    return RYND_OK;
}

void ry_energy_meter_fit(ry_energy_meter *meter, const ry_machine *machine, unsigned threads,
                         ry_energy_fit *fit)
{
    for (int i = 0; i < meter->count; i++) {
        ry_energy_sample *s = &meter->samples[i];
        s->time = ry_predict_parts(s->prepared, machine, threads,
                                   ry_trial_constants(s->prepared->problem), 0, 1);
    }
    ry_energy_fit_samples(meter->samples, meter->count, machine, threads, fit);
}
