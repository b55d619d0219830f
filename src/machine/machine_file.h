/* SPDX-License-Identifier: Apache-2.0 */
/* A machine as a file: one name and its whole numbers, or its text, a line.
 *
 *   rynd machine 1
 *   vendor AuthenticAMD
 *   f32 118400000000 236800000000        operations a second of one thread, of all
 *   l2_latency 3780 3900                 picoseconds
 *   end */
#ifndef RY_MACHINE_MACHINE_FILE_H
#define RY_MACHINE_MACHINE_FILE_H

#include "machine/machine.h"

enum { RY_MACHINE_PATH = 1024 };

/* Where the file of this machine is: RYND_MACHINE, or in rynd/ under XDG_CACHE_HOME or HOME/.cache.
 * false: nowhere, as with RYND_MACHINE=off; path is "" then. */
bool ry_machine_path(const ry_cpu_info *cpu, ry_isa isa, char path[RY_MACHINE_PATH]);

/* The same of a device beside the CPU, by its name and compute units. */
bool ry_machine_device_path(const ry_machine *machine, char path[RY_MACHINE_PATH]);

/* Makes the folders above a file; what fails shows when the file is opened. */
void ry_machine_make_folders(const char *path);

/* Fails with IO (no such file, not a regular one) and FORMAT. */
rynd_status ry_machine_read(const char *path, ry_machine *machine, ry_error *error);

/* Written beside the file and renamed, so that a reader sees the old one or the new one, whole. */
rynd_status ry_machine_write(const ry_machine *machine, const char *path, ry_error *error);

/* Do they have vendor, family, model, instruction set and number of cores in common? */
bool ry_machine_same(const ry_machine *a, const ry_machine *b);

#endif
