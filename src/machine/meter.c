/* SPDX-License-Identifier: Apache-2.0 */
/* Reads RAPL's counters of whole packages: what is below them (cores, memory) is part of them, or
 * not there on every processor. */
#include "machine/meter.h"

#include "base/number.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A whole number, alone in a file that may never end. */
static bool read_number(const char *path, uint64_t *number)
{
    char text[32];
    int64_t value;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return false;
    }
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) {
        return false;
    }
    text[got] = 0;
    if (!ry_integer_parse(text, strcspn(text, "\n"), &value) || value < 0) {
        return false;
    }
    *number = (uint64_t)value;
    return true;
}

/* "intel-rapl:0" is a package (AMD's are called so, too), "intel-rapl:0:1" a part of one. */
static bool is_package(const char *name)
{
    static const char prefix[] = "intel-rapl:";
    const size_t length = sizeof prefix - 1;
    return strncmp(name, prefix, length) == 0 && name[length] &&
           !name[length + strspn(name + length, "0123456789")];
}

static void add_package(ry_meter *meter, const char *folder, const char *name)
{
    char range[RY_METER_PATH];
    const int i = meter->packages;
    const int own = snprintf(meter->path[i], RY_METER_PATH, "%s/%s/energy_uj", folder, name),
              other = snprintf(range, sizeof range, "%s/%s/max_energy_range_uj", folder, name);
    if (own > 0 && own < RY_METER_PATH && other > 0 && other < RY_METER_PATH &&
        read_number(meter->path[i], &meter->last[i]) && read_number(range, &meter->range[i])) {
        meter->packages++;
    }
}

bool ry_meter_open(const char *given, ry_meter *meter)
{
    const char *own = getenv("RYND_METER"), *folder = given         ? given
                                                      : own && *own ? own
                                                                    : "/sys/class/powercap";
    *meter = (ry_meter){.packages = 0};
    DIR *all = strcmp(folder, "off") == 0 ? NULL : opendir(folder);
    if (!all) {
        return false;
    }
    for (struct dirent *entry;
         meter->packages < RY_METER_PACKAGES && (entry = readdir(all)) != NULL;) {
        if (is_package(entry->d_name)) {
            add_package(meter, folder, entry->d_name);
        }
    }
    closedir(all);
    return meter->packages > 0;
}

double ry_meter_take(ry_meter *meter)
{
    double joules = 0;
    for (int i = 0; i < meter->packages; i++) {
        uint64_t now;
        if (!read_number(meter->path[i], &now)) {
            return 0;
        }
        const uint64_t gone = now >= meter->last[i] ? now - meter->last[i]
                                                    : now + (meter->range[i] - meter->last[i]) + 1;
        joules += 1e-6 * (double)gone;
        meter->last[i] = now;
    }
    return joules;
}
