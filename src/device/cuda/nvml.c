/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and signatures are those of NVML's documentation ("NVML API Reference Guide", NVIDIA). */
#include "device/cuda/nvml.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0 };

static struct nvml {
    int (*init)(void);
    int (*find)(const char *bus, void **card);
    int (*energy)(void *card, unsigned long long *millijoules);
    int (*power)(void *card, unsigned *milliwatts);
    bool opened;
} nvml;

static const struct function {
    const char *symbol;
    size_t offset;
} functions[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml, find)},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml, energy)},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power)},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The library stays open, as the driver's does. */
static void open_library(void)
{
    const char *own = getenv("RYND_NVML_LIBRARY"), *file = own && *own ? own : "libnvidia-ml.so.1";
    void *library = strcmp(file, "off") == 0 ? NULL : dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].symbol);
        if (!found) {
            return;
        }
        memcpy((char *)&nvml + functions[i].offset, &found, sizeof found);
    }
    nvml.opened = nvml.init() == OK;
}

static bool read_power(ry_nvml_meter *meter, double *watts)
{
    unsigned milliwatts;
    const bool read = nvml.power(meter->card, &milliwatts) == OK;
    *watts = read ? 1e-3 * (double)milliwatts : 0;
    return read;
}

bool ry_nvml_open(const char *bus, ry_nvml_meter *meter)
{
    unsigned long long energy = 0;
    *meter = (ry_nvml_meter){.at = ry_clock_seconds()};
    pthread_once(&once, open_library);
    if (!nvml.opened || nvml.find(bus, &meter->card) != OK) {
        return false;
    }
    meter->counts = nvml.energy(meter->card, &energy) == OK;
    meter->energy = energy;
    return meter->counts || read_power(meter, &meter->watts);
}

static bool take_power(ry_nvml_meter *meter, double *joules)
{
    const double before = meter->watts, begin = meter->at;
    if (!read_power(meter, &meter->watts)) {
        return false;
    }
    meter->at = ry_clock_seconds();
    *joules = (before + meter->watts) / 2 * (meter->at - begin);
    return true;
}

bool ry_nvml_take(ry_nvml_meter *meter, double *joules)
{
    unsigned long long energy;
    if (!meter->counts) {
        return take_power(meter, joules);
    }
    if (nvml.energy(meter->card, &energy) != OK) {
        return false;
    }
    *joules = energy > meter->energy ? 1e-3 * (double)(energy - meter->energy) : 0;
    meter->energy = energy;
    return true;
}
