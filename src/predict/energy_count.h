/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the operations of a run for its energy (energy.h). */
#ifndef RY_PREDICT_ENERGY_COUNT_H
#define RY_PREDICT_ENERGY_COUNT_H

#include "kernels/kernel.h"
#include "machine/machine.h"

/* Sets the operations in `does`, and bytes to 0. `arithmetic`: seconds that the kernel counts for
 * all its work; what multiply-adds do not take of them is other work. */
void ry_energy_count(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                     double arithmetic, double does[RYND_ENERGY_KINDS]);

#endif
