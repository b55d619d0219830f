/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed and drawn of a sweep. */
#ifndef CLI_SWEEP_REPORT_H
#define CLI_SWEEP_REPORT_H

#include "sweep.h"

/* A row a point, with a bar of its time; then the cliffs. */
bool cli_sweep_print(const cli_sweep *sweep, cli_failure *failure);
/* One document. */
bool cli_sweep_print_json(const cli_sweep *sweep, cli_failure *failure);
/* Writes an SVG: times over the first range, a line for each combination of the others' values.
 * `machine`: what ran it, or would. */
bool cli_sweep_draw(const cli_sweep *sweep, const char *machine, const char *path,
                    cli_failure *failure);

/* "pad=1 k=8": the values of a point, of the ranges from `first` on. */
void cli_sweep_values(const cli_sweep *sweep, size_t point, size_t first, char *text, size_t size);

#endif
