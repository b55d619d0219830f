/* SPDX-License-Identifier: Apache-2.0 */
/* A launch's arguments as a CPU kernel sees them. */
#include "kernels/kernel.h"

void ry_kernel_cpu_program(const void *call, void *const *arguments, int phase, size_t task, unsigned worker)
{
    const ry_kernel_call *c = call;
    void *const *out = arguments + c->problem->inputs;
    void *const *memory = out + c->problem->outputs;
    _Alignas(RY_ALIGNMENT) char nothing; /* where a kernel without scratch would find it: adding a worker's 0 bytes to NULL is undefined */
    ry_cpu_launch launch = {
        .problem = c->problem,
        .prepared = c->prepared,
        .state = c->state,
        .in = (const void *const *)arguments,
        .out = out,
        .packed = memory[0],
        .workspace = memory[1],
        .scratch = memory[2] ? memory[2] : &nothing,
        .actual = c->actual,
        .fault = c->fault,
    };
    c->kernel->run(&launch, phase, task, worker);
}

void ry_kernel_cpu_pack_program(const void *call, void *const *arguments, int phase, size_t task, unsigned worker)
{
    (void)phase;
    (void)worker;
    const ry_kernel_call *c = call;
    ry_cpu_launch launch = {
        .problem = c->problem,
        .prepared = c->prepared,
        .state = c->state,
        .in = (const void *const *)arguments,
        .packed_out = arguments[c->problem->inputs],
    };
    c->kernel->pack(&launch, task);
}
