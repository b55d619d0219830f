/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of the coefficients a machine's kernels are counted with. */
#include "kernels/costs.h"

#include "kernels/cpu/parts/tile_lines.h"
#include <string.h>

ry_cost_column ry_cost_column_of(const ry_machine *machine, int64_t width)
{
    return width < RY_LINE_FLOATS                         ? RY_COSTS_PARTS
           : strcmp(machine->vendor, "GenuineIntel") == 0 ? RY_COSTS_INTEL
                                                          : RY_COSTS_LINES;
}
