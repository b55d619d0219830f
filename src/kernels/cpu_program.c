/* SPDX-License-Identifier: Apache-2.0 */
/* A launch's arguments as a CPU kernel sees them. */
#include "kernels/prepared.h"

void ry_kernel_cpu_program(const void *call, void *const *arguments, int phase, size_t task,
                           unsigned worker)
{
    const ry_kernel_call *c = call;
    const ry_prepared *prepared = c->prepared;
    void *const *out = arguments + prepared->problem->inputs;
    void *const *memory = out + prepared->problem->outputs;
    void *packed =
        prepared->packs ? (char *)memory[1] + ry_prepared_own_packed(prepared) : memory[0];
    /* where a kernel without scratch would find it: adding a worker's 0 bytes to NULL is
     * undefined */
    _Alignas(RY_ALIGNMENT) char nothing;
    const ry_cpu_launch launch = {
        .problem = prepared->problem,
        .prepared = prepared,
        .state = prepared->state,
        .in = (const void *const *)arguments,
        .out = out,
        .packed = packed,
        .packed_out = packed,
        .workspace = memory[1],
        .scratch = memory[2] ? (char *)memory[2] + worker * prepared->scratch : &nothing,
        .phase = phase - prepared->packs,
        .actual = c->actual,
        .fault = c->fault,
    };
    if (prepared->packs && phase == 0) {
        prepared->kernel->pack(&launch, task);
    } else {
        prepared->kernel->run(&launch, task);
    }
}

void ry_kernel_cpu_pack_program(const void *call, void *const *arguments, int phase, size_t task,
                                unsigned worker)
{
    (void)phase;
    (void)worker;
    const ry_prepared *prepared = ((const ry_kernel_call *)call)->prepared;
    const ry_cpu_launch launch = {
        .problem = prepared->problem,
        .prepared = prepared,
        .state = prepared->state,
        .in = (const void *const *)arguments,
        .packed_out = arguments[prepared->problem->inputs],
    };
    prepared->kernel->pack(&launch, task);
}
