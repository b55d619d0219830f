/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of CUDA without a device: host memory is the device's, launches run at once, and every
 * call can be made to fail. What it counts and what it does next is the struct `fake_cuda`, which
 * the library exports. It runs what fake_nvrtc compiles; of NVRTC's own code it runs nothing. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct fake_cuda_state {
    /* what there is */
    int devices, capability, version;
    size_t memory;
    int function_items; /* most threads of a block for any function; 0: the device's limit */
    /* call `name` returns `code` after it was made `after` times; `sticky`: and every call then */
    const char *fail_name;
    int fail_after, fail_code, fail_sticky;
    int lost; /* the code of the sticky failure; 0: none */
    /* what is alive */
    atomic_int contexts, buffers, pinned, streams, events, modules, graphs;
    atomic_size_t bytes;
    /* calls without a context, with memory that is none, of what is not alive */
    atomic_int misused;
    /* the last launch */
    unsigned groups, group;
    size_t argument_bytes;
    void *arguments[64];
    atomic_int launches, uploads, downloads, replays;
} fake_cuda_state;

#endif
