/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and the links between them, as a text file states them.
 *
 *   # comment
 *   device small cpu threads=1 memory=2e9 watts=15
 *   device gpu opencl:0
 *   device server machine=server.txt threads=8
 *   link small server bandwidth=1.2e8 latency=1e-4
 *
 * The file is hostile input: what is wrong is told with file and line. */
#ifndef RY_PLACEMENT_FLEET_H
#define RY_PLACEMENT_FLEET_H

#include "base/memory.h"
#include "base/status.h"

enum { RY_FLEET_DEVICES = 32, RY_FLEET_NAME = 32 };

typedef struct ry_fleet_device {
    char name[RY_FLEET_NAME];
    char kind[RY_FLEET_NAME]; /* as rynd_context_options.device takes it: "cpu", "opencl:1" */
    const char *machine;      /* file of its machine, beside the list's; NULL: it is here */
    unsigned threads;         /* 0: all */
    double memory;            /* bytes; INFINITY: no limit is stated */
    double watts;             /* while it computes; 0: no meter */
    int line;
} ry_fleet_device;

typedef struct ry_fleet {
    size_t count;
    ry_fleet_device device[RY_FLEET_DEVICES];
    /* bytes a second, seconds; both ways */
    double bandwidth[RY_FLEET_DEVICES * RY_FLEET_DEVICES]; /* [a * count + b] */
    double latency[RY_FLEET_DEVICES * RY_FLEET_DEVICES];
} ry_fleet;

/* Links that the file does not state: between devices that are here, a copy in memory; else
 * Ethernet of a gigabit a second. */
#define RY_FLEET_HERE_BANDWIDTH 8e9
#define RY_FLEET_HERE_LATENCY   10e-6
#define RY_FLEET_FAR_BANDWIDTH  125e6
#define RY_FLEET_FAR_LATENCY    100e-6

/* Profiles' names go into the arena. Fails with IO (no such file), FORMAT, OUT_OF_MEMORY. */
rynd_status ry_fleet_read(const char *path, ry_arena *arena, ry_fleet *fleet, ry_error *error);
/* text: `length` bytes, which are changed, and room for one more. path: for messages, and where
 * machines are. */
rynd_status ry_fleet_parse(const char *path, char *text, size_t length, ry_arena *arena,
                           ry_fleet *fleet, ry_error *error);

#endif
