/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of a step. */
#include "limit.h"

#include "notes.h"

#include <string.h>

bool cli_limit_open(cli_limit *limit, const rynd_context *context, const cli_common *common,
                    cli_failure *failure)
{
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    *limit = (cli_limit){.machine = RYND_SIZED(rynd_machine)};
    if (rynd_context_get_info(context, &info) != RYND_OK ||
        rynd_context_get_machine(context, &limit->machine) != RYND_OK) {
        return cli_fail_library(failure);
    }
    /* a GPU's units all work, whatever the host's threads */
    limit->threads = limit->machine.step_items > 1 ? limit->machine.cores : info.threads;
    if (limit->machine.origin == RYND_MACHINE_BUILT_IN) {
        cli_detail(
            common,
            "the limit uses built-in rates (%s); `rynd devices --measure` measures this machine",
            limit->machine.architecture);
    }
    return true;
}

double cli_limit_rate(const cli_limit *l, const rynd_rate *rate)
{
    const unsigned cores = l->machine.cores, threads = l->threads < cores ? l->threads : cores;
    return cores > 1 ? rate->one + (rate->all - rate->one) * (threads - 1) / (cores - 1)
                     : rate->one;
}

/* Returns the bytes of all caches of a level that the threads use. */
static double level_bytes(const cli_limit *l, rynd_level level)
{
    const rynd_memory_level *m = &l->machine.level[level];
    const unsigned caches = m->shared_by ? (l->threads + m->shared_by - 1) / m->shared_by : 0;
    return (double)m->bytes * caches;
}

/* Quantised steps multiply bytes; GPUs' matrix units multiply halves. */
static const rynd_rate *arithmetic_of(const cli_limit *l, const rynd_step_info *step)
{
    if (strstr(step->kernel, "_units_gpu") && l->machine.bf16.one > 0) {
        return &l->machine.bf16;
    }
    const bool bytes = strncmp(step->problem, "qconv ", 6) == 0 && l->machine.int8.one > 0;
    return bytes ? &l->machine.int8 : &l->machine.f32;
}

double cli_limit_of(const cli_limit *l, const rynd_step_info *step)
{
    const char *dtype = strstr(step->problem, "dtype=");
    if (dtype && strncmp(dtype, "dtype=f32", 9) != 0) {
        return -1;
    }
    const double flop = step->kernel_flop < step->flop ? step->kernel_flop : step->flop;
    int level = 0;
    while (level < RYND_LEVEL_DRAM && step->bytes > level_bytes(l, (rynd_level)level)) {
        level++;
    }
    const double rate = cli_limit_rate(l, &l->machine.level[level].bandwidth),
                 arithmetic = flop / cli_limit_rate(l, arithmetic_of(l, step)),
                 memory = rate > 0 ? step->bytes / rate : 0;
    return arithmetic > memory ? arithmetic : memory;
}
