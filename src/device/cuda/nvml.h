/* SPDX-License-Identifier: Apache-2.0 */
/* The energy of an NVIDIA card by NVML (libnvidia-ml.so.1, of the driver), opened at run time: no
 * header of NVIDIA's is used. */
#ifndef RY_DEVICE_CUDA_NVML_H
#define RY_DEVICE_CUDA_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ry_nvml_meter {
    void *card;       /* nvmlDevice_t */
    bool counts;      /* the card counts millijoules; else only its power is known */
    uint64_t energy;  /* millijoules at the last call */
    double watts, at; /* power and time of the last call, in seconds */
} ry_nvml_meter;

/* Opens the meter of the card on a PCI bus ("0000:65:00.0"). The library is opened once in a process:
 * libnvidia-ml.so.1, or the file that RYND_NVML_LIBRARY names ("off": none). false: there is no
 * meter. Any thread. */
bool ry_nvml_open(const char *bus, ry_nvml_meter *meter);

/* Joules since the last call, or since it was opened. A card without a counter (older than Volta): the
 * mean of its power at both ends, times the time. The counter moves every 20 to 100 milliseconds.
 * false: it cannot be read any more. */
bool ry_nvml_take(ry_nvml_meter *meter, double *joules);

#endif
