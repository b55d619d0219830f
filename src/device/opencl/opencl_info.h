/* SPDX-License-Identifier: Apache-2.0 */
/* Lists OpenCL's devices and their properties.
 *
 * They are numbered over all platforms in the loader's order. Functions with an index fail with
 * DEVICE where there is no OpenCL, and with NOT_FOUND, naming those that there are, where there is
 * no such device. */
#ifndef RY_DEVICE_OPENCL_OPENCL_INFO_H
#define RY_DEVICE_OPENCL_OPENCL_INFO_H

#include "base/status.h"

#include <rynd/machine.h>

#include <stdbool.h>
#include <stddef.h>

#define RY_OPENCL_POCL "Portable Computing Language" /* PoCL's platform */

typedef enum ry_opencl_type {
    RY_OPENCL_GPU,
    RY_OPENCL_CPU,
    RY_OPENCL_OTHER,
    RY_OPENCL_TYPES
} ry_opencl_type;

typedef struct ry_opencl_info {
    char platform[64], name[64], vendor[64], driver[64];
    ry_opencl_type type;
    unsigned units;             /* compute units */
    unsigned clock;             /* MHz */
    size_t memory, most_memory; /* bytes: of all buffers, of one */
    size_t local_memory, cache; /* bytes: of a work-group, of the cache behind all units */
    unsigned cache_line;        /* bytes */
    size_t group;               /* work-items of a work-group at most */
    unsigned floats, halves;    /* lanes of the device's preferred vectors */
    bool fp16, fp64;
    bool subgroups;        /* Intel's extension, whose sizes a kernel sets */
    bool dots_bytes;       /* multiplies and adds four bytes at once */
    bool rounds_divisions; /* correctly, if told to: and square roots */
    bool unified;          /* its memory is the host's */
    bool enlarges;         /* takes buffers beyond `most_memory` if told so: Intel's GPUs */
    bool compiles;         /* has a compiler */
    bool keeps_programs;   /* the driver keeps compiled programs on disk itself */
} ry_opencl_info;

rynd_status ry_opencl_device_count(unsigned *count, ry_error *error);
rynd_status ry_opencl_device_describe(unsigned index, ry_opencl_info *info, ry_error *error);

/* Guesses a device's machine data from its properties, in the form of a measurement. */
rynd_status ry_opencl_machine(unsigned index, rynd_machine *machine, ry_error *error);

/* The machines of cards that need not be here (opencl_cards.inc): "arc-a770"; NULL: there are
 * fewer. */
const char *ry_opencl_card_name(size_t index);
void ry_opencl_card(size_t index, rynd_machine *machine);

#endif
