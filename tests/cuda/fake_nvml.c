/* SPDX-License-Identifier: Apache-2.0 */
/* NVML without a card: a meter of FAKE_NVML_WATTS (100), whose counter FAKE_NVML_COUNTER=off takes
 * away. It knows one card, on the bus of fake_cuda's device 0. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **found);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);

static int card;

static double watts(void)
{
    const char *given = getenv("FAKE_NVML_WATTS");
    return given ? atof(given) : 100;
}

EXPORT int nvmlInit_v2(void)
{
    return OK;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **found)
{
    *found = &card;
    return strcmp(bus, "0000:01:00.0") == 0 ? OK : NOT_FOUND;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now;
    const char *counter = getenv("FAKE_NVML_COUNTER");
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    *millijoules = (unsigned long long)(1e3 * watts() * seconds);
    return device == &card && !(counter && strcmp(counter, "off") == 0) ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = (unsigned)(1e3 * watts());
    return device == &card ? OK : NOT_SUPPORTED;
}
