/* SPDX-License-Identifier: Apache-2.0 */
/* A meter of the processor's energy: RAPL, as Linux's powercap shows it
 * (Documentation/power/powercap). Where there is none, or it may not be read, nothing is known of
 * energy. */
#ifndef RY_MACHINE_METER_H
#define RY_MACHINE_METER_H

#include <stdbool.h>
#include <stdint.h>

enum { RY_METER_PACKAGES = 16, RY_METER_PATH = 256 };

/* A counter of microjoules for each package of the machine, which begins again at `range`. */
typedef struct ry_meter {
    char path[RY_METER_PACKAGES][RY_METER_PATH];
    uint64_t range[RY_METER_PACKAGES], last[RY_METER_PACKAGES];
    int packages;
} ry_meter;

/* Finds the packages below `folder`; NULL: RYND_METER, or /sys/class/powercap. "off": none. false:
 * there is no meter. */
bool ry_meter_open(const char *folder, ry_meter *meter);

/* Joules of all packages since the last call, or since it was opened; 0 where it cannot be read any
 * more. Counters move once a millisecond. */
double ry_meter_take(ry_meter *meter);

#endif
