/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared kernel's way to a device: make, pack, bind, launch, for plans, operators, transfers,
 * folding and tests. */
#ifndef RY_KERNELS_PREPARED_H
#define RY_KERNELS_PREPARED_H

#include "kernels/kernel.h"

/* Prepares the query's kernel. `constants`: bit i, input i keeps its value, and is packed once
 * (ry_prepared_pack); where not all that the kernel packs is constant it packs before every run, in
 * its workspace. A form's values must be legal (ARGUMENT, naming those that are). The query's
 * problem must outlive `prepared`. */
rynd_status ry_prepare(const ry_query *query, unsigned constants, ry_prepared *prepared,
                       ry_error *error);

/* Fills the state, in an arena that must outlive `prepared`, and compiles the program of a GPU:
 * before it is packed or bound. */
rynd_status ry_prepared_initialise(ry_prepared *prepared, ry_device *device,
                                   const ry_target *target, ry_arena *arena, ry_error *error);

/* The same for a form that nobody asked for: if the driver says that the program admits smaller
 * groups than the form has, takes a form with such groups, if there is one. (Mesa's rusticl 22.3
 * says 32 of any program, and runs 256.) Before anybody has read sizes or tasks. */
rynd_status ry_prepared_fit(ry_prepared *prepared, ry_device *device, const ry_target *target,
                            ry_arena *arena, ry_error *error);

/* Gives the program back. */
void ry_prepared_release(ry_prepared *prepared, ry_device *device);

/* Bytes to be packed once. */
static inline size_t ry_prepared_packed(const ry_prepared *prepared)
{
    return prepared->packs ? 0 : prepared->packed;
}

/* Where in the workspace the weights are stored that are packed before every run. */
static inline size_t ry_prepared_own_packed(const ry_prepared *prepared)
{
    return (prepared->workspace + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
}

static inline size_t ry_prepared_workspace(const ry_prepared *prepared)
{
    return prepared->packs ? ry_prepared_own_packed(prepared) + prepared->packed
                           : prepared->workspace;
}

/* Packs once, on a stream. constants: host memory of each input that is packed, aligned to its
 * elements, which may go when this returns; others are ignored. Takes memory from `scratch`. */
rynd_status ry_prepared_pack(const ry_prepared *prepared, ry_device *device, ry_stream *stream,
                             const void *const *constants, ry_pointer packed, ry_arena *scratch,
                             ry_error *error);

/* A prepared kernel with memory. */
typedef struct ry_bound {
    ry_kernel_call call;
    ry_fault fault;
    size_t tasks[RY_MAX_PHASES + 1];
    unsigned group[RY_MAX_PHASES + 1];
    /* inputs, outputs, packed, workspace, scratch: set those that a run needs, at any time
     * between runs */
    ry_pointer *arguments;
    ry_launch launch;
} ry_bound;

/* Takes room for the arguments, all absent, from an arena. `bound` must stay where it is;
 * `prepared` and what `seconds` (of each phase of the launch on one worker; NULL: not known) and
 * `actual` point to must outlive it. */
rynd_status ry_bind(const ry_prepared *prepared, const double *seconds,
                    int64_t (*actual)[RY_MAX_RANK], ry_arena *arena, ry_bound *bound,
                    ry_error *error);

void ry_bound_set_memory(ry_bound *bound, ry_pointer packed, ry_pointer workspace,
                         ry_pointer scratch);
/* GPU: sets the memory of a ry_fault; the caller zeroes it before the launch. */
void ry_bound_set_fault(ry_bound *bound, ry_pointer fault);

/* Launches it. Its fault is for ry_bound_check, when the stream has come there. */
rynd_status ry_bound_launch(ry_bound *bound, ry_device *device, ry_stream *stream, ry_error *error);

/* Fails where the content of an input was illegal (fault.h). */
rynd_status ry_bound_check(const ry_bound *bound, ry_error *error);

/* Runs a problem on the calling thread, host memory in and out, for constant folding, tests and
 * tools. in[], out[] carry data. actual may be NULL. Fails where the content of an input is
 * illegal. */
rynd_status ry_kernel_execute(const ry_query *query, const void *const *in, void *const *out,
                              int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator,
                              ry_error *error);

#endif
