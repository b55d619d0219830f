/* SPDX-License-Identifier: Apache-2.0 */
/* Lists CUDA's devices and their properties, in the driver's order.
 *
 * Functions with an index fail with DEVICE if CUDA is absent, and with NOT_FOUND, naming the
 * present devices, if the index is too large. */
#ifndef RY_DEVICE_CUDA_CUDA_INFO_H
#define RY_DEVICE_CUDA_CUDA_INFO_H

#include "base/status.h"

#include <rynd/machine.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct ry_cuda_info {
    char name[64];
    int driver;                /* the driver's CUDA version: 12090 is 12.9 */
    int capability;            /* compute capability: 90 is 9.0 */
    unsigned units;            /* streaming multiprocessors */
    unsigned clock;            /* kHz */
    unsigned memory_clock;     /* kHz; 0: it does not say */
    unsigned bus;              /* bits between it and its memory */
    size_t memory;             /* bytes */
    size_t cache;              /* bytes of the one behind all units */
    size_t local_memory;       /* bytes that the groups of a unit share */
    size_t group_memory;       /* most bytes of local memory for a group */
    unsigned registers, group; /* 4-byte registers of a unit; most items of a group */
    bool unified;              /* its memory is the host's */
    bool watched;              /* a watchdog ends long launches: it drives a display */
    int compiler;              /* NVRTC's major version; 0: unknown, or not here */
} ry_cuda_info;

/* Do groups of 128 work-items multiply (wgmma)? PTX ISA, "wgmma.mma_async": sm_90a alone, which NVRTC
 * knows from CUDA 12.0 on. No later capability runs its code. */
static inline bool ry_cuda_has_wide_units(const ry_cuda_info *info)
{
    return info->capability == 90 && info->compiler >= 12;
}

rynd_status ry_cuda_device_count(unsigned *count, ry_error *error);
rynd_status ry_cuda_device_describe(unsigned index, ry_cuda_info *info, ry_error *error);

/* What a device offers, by its capability, clocks and sizes; as a measurement would say it. */
rynd_status ry_cuda_machine(unsigned index, rynd_machine *machine, ry_error *error);

/* The machines of cards that need not be here (cuda_cards.inc): "h100"; NULL: there are fewer. */
const char *ry_cuda_card_name(size_t index);
void ry_cuda_card(size_t index, rynd_machine *machine);

#endif
