/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what energy is paid for beside time and bytes. */
#include "predict/energy_count.h"

#include <math.h>
#include <string.h>

static rynd_energy_kind kind_of(const ry_problem *problem)
{
    switch (problem->inputs > 0 ? (ry_dtype)problem->in[0].dtype : RY_f32) {
    case RY_bf16:
    case RY_f16: return RYND_ENERGY_BF16;
    case RY_u8:
    case RY_i8: return RYND_ENERGY_INT8;
    default: return RYND_ENERGY_F32;
    }
}

static rynd_rate peak_of(const ry_machine *machine, rynd_energy_kind kind)
{
    const rynd_rate peak = kind == RYND_ENERGY_BF16   ? machine->bf16
                           : kind == RYND_ENERGY_INT8 ? machine->int8
                                                      : machine->f32;
    return peak.one > 0 ? peak : machine->f32;
}

void ry_energy_count(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                     double arithmetic, double does[RYND_ENERGY_KINDS])
{
    const rynd_energy_kind kind = kind_of(prepared->problem);
    const rynd_rate own = peak_of(machine, kind);
    const double peak = ry_machine_rate(&own, machine, threads),
                 f32 = ry_machine_rate(&machine->f32, machine, threads);
    memset(does, 0, RYND_ENERGY_KINDS * sizeof *does);
    does[kind] = fmin(prepared->counts.flop, peak * arithmetic);
    does[RYND_ENERGY_OTHER] = peak > 0 ? f32 * fmax(0, arithmetic - does[kind] / peak) : 0;
}
