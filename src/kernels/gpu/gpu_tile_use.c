/* SPDX-License-Identifier: Apache-2.0 */
/* The prices follow the main loops that bench/gpu_code reads from machine code
 * (tests/cuda/instructions.txt): instructions within 15% of what NVRTC makes, registers within 20%,
 * but for bf16 in NHWC, which takes more. No price was compared with a GPU's time. */
#include "kernels/gpu/gpu_tile_use.h"

#include "kernels/gpu/gpu_costs.h"

#include <math.h>

/* Registers beside sums, operands and elements on their way to local memory: of matrix units; of work-items
 * alone (NVRTC's and AMD's compilers), whose walks (walk.cl) take more, and who are given half of them where
 * they have the most sums. */
enum { BASE_REGISTERS = 46, WINDOW_REGISTERS = 8 };
enum { ITEM_REGISTERS = 38, WALK_REGISTERS = 24, MOST_SUMS = 64, HALF_OF_REGISTERS = 128 };
/* Copied tiles: beside sums and operands, for a window, and for floats that become pairs. */
enum { COPIED_REGISTERS = 16, COPIED_WINDOW_REGISTERS = 40, PAIR_REGISTERS = 32 };
/* A sub-group's item has these beside its sums and operands. */
enum { SUBGROUP_REGISTERS = 12 };
/* Parts of a sum that join.cl reads at once, and residuals of an item's sums. */
enum { JOINED_AT_ONCE = 8, ENDED_AT_ONCE = 16 };
/* Products of matrix units' instruction: 16 by 8 sums of 32 bytes of terms, by 32 work-items. */
enum { UNIT_BYTES = 16 * 8 * 32, UNIT_ITEMS = 32 };
/* Rows of a wide product; registers beside the sums in wide tiles of so many sums, of more four times as
 * many (docs/notes/2026-11-28-wide-tiles.md: estimates within a fifth, but for bf16 of floats). */
enum { WIDE_ROWS = 64, WIDE_LEFT = 8, WIDE_SMALL = 128 * 128 };

static double items_of(const ry_gpu_tile *tile)
{
    return (double)(tile->m / tile->item_m) * (tile->n / tile->item_n) * tile->slices;
}

/* Words of local memory that a work-item reads for a multiply-add. Matrix units: 8 words deep, two
 * for each row of its sums, and one for each column. */
static double words_of(const ry_gpu_tile *tile, double size)
{
    const double sums = (double)tile->item_m * tile->item_n;
    return tile->subgroups ? 0
           : tile->units   ? (2.0 * tile->item_m + tile->item_n) / (8 * sizeof(float) / size) / sums
                           : (tile->item_m + tile->item_n) / sums;
}

/* Bytes of local memory that a wide product's multiply-add reads: an operand of x for all rows of the
 * other side or, if that is the left one, of the tile's other side; an operand of the right side for 64
 * rows. */
static double wide_bytes(const ry_gpu_product *product, const ry_gpu_tile *tile, double size)
{
    const bool x_left = product->rows_along;
    const double left = x_left ? (double)product->copied : size,
                 right = x_left ? size : (double)product->copied;
    return left / (x_left ? tile->m : tile->n) + right / WIDE_ROWS;
}

/* Operations at the multipliers' peak. Without matrix units a quad's 8 take as long as a float's at
 * the machine's rate for bytes; devices that have such units state their rate there. */
static double multiply_operations(const ry_gpu_product *product, const ry_gpu_tile *tile,
                                  const ry_machine *machine, double size)
{
    const double units = fmax(machine->bf16.one, machine->f32.one) * 2 / size,
                 bytes = fmax(machine->int8.one, machine->f32.one) / machine->f32.one;
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    return tile->units
               ? (tile->units == RY_GPU_WIDE ? cost->wide_product : cost->unit_product) *
                     machine->f32.one / units * (double)ry_gpu_operand_products(product->operands)
           : product->operands != RY_GPU_QUADS || machine->matrix_units ? 2
                                                                        : 8 / bytes;
}

/* Does each work-item walk through terms of its own? */
static bool walks(const ry_gpu_product *product)
{
    return product->window && !product->channels;
}

/* Elements that an item of a sub-group reads for a multiply-add: its own, and one of the shared side. */
static double subgroup_elements(const ry_gpu_tile *tile)
{
    const double sums = (double)tile->item_m * tile->item_n;
    return (sums / RY_GPU_SUBGROUP + 1) / sums;
}

/* Elements that a multiply-add's tile reads, in operations of their instructions: found and stored
 * one by one for matrix units, by fours for work-items, or copied 16 bytes at once and split into parts where
 * they are read. */
static double element_operations(const ry_gpu_product *product, const ry_gpu_tile *tile,
                                 const ry_gpu_costs *cost, double words)
{
    const double own = 1.0 / tile->m, /* an element of x; wide units' w is copied at once */
        sides = tile->units == RY_GPU_WIDE ? own : own + 1.0 / tile->n,
                 find = product->window ? cost->tile_gather : cost->tile_find;
    if (tile->subgroups) {
        return cost->tile_fetch * subgroup_elements(tile);
    }
    if (!tile->units) {
        return cost->tile_fetch * sides + (walks(product) ? cost->tile_walk / tile->m : 0);
    }
    if (!tile->stages) {
        return cost->tile_store * sides + find / tile->m;
    }
    return cost->tile_copy * sides +
           (ry_gpu_operand_products(product->operands) > 1 ? cost->tile_split * words : 0);
}

/* A GPU whose vector engines, several to a group, have sub-groups. */
static bool is_intel(const ry_machine *machine)
{
    return machine->subgroups && machine->unit_items && machine->group_units > 1;
}

/* Operations that take as long as a multiply-add's instructions, where an instruction is 2. */
static double instruction_operations(const ry_gpu_product *product, const ry_gpu_tile *tile,
                                     const ry_machine *machine, double size, int terms)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double sums = (double)tile->item_m * tile->item_n, words = words_of(tile, size),
                 products = (double)ry_gpu_operand_products(product->operands),
                 multiply = tile->units == RY_GPU_WIDE ? 0
                            : tile->units ? 2 * UNIT_ITEMS * size / UNIT_BYTES * products
                                          : 2,
                 reads = tile->units == RY_GPU_WIDE ? 0
                         : tile->subgroups          ? 0
                         : tile->stages             ? words / 4
                         : tile->units
                             ? words
                             : (ceil(tile->item_m / 4.0) + ceil(tile->item_n / 4.0)) / sums;
    const double loop = tile->subgroups ? cost->subgroup_loop : cost->tile_loop * tile->slices;
    const double read = is_intel(machine) ? cost->subgroup_read : cost->tile_read;
    return multiply + read * reads + loop / (sums * terms) +
           element_operations(product, tile, cost, words);
}

/* Registers of an item that there is no room for: Intel's GPUs give each as many, however few run. */
static double spilled_registers(const ry_gpu_product *product, const ry_gpu_tile *tile,
                                const ry_machine *machine)
{
    const double room =
        is_intel(machine) ? (double)machine->unit_registers / machine->unit_items : INFINITY;
    return fmax(ry_gpu_tile_registers(product, tile) - room, 0);
}

double ry_gpu_tile_operations(const ry_gpu_product *product, const ry_gpu_tile *tile, int terms,
                              const ry_machine *machine)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double size = (double)ry_gpu_operand_size(product->operands), peak = machine->f32.one,
                 issue = machine->issue.one > 0 ? machine->issue.one : peak / 2,
                 local = machine->level[RYND_LEVEL_L1].bandwidth.one,
                 read = tile->units == RY_GPU_WIDE
                            ? wide_bytes(product, tile, size)
                            : cost->tile_shared * sizeof(float) * words_of(tile, size),
                 bytes = tile->subgroups ? 0 : read + size * (1.0 / tile->m + 1.0 / tile->n);
    const double spilled = cost->tile_spill * spilled_registers(product, tile, machine) /
                           ((double)tile->item_m * tile->item_n * terms);
    const double instructions =
        (instruction_operations(product, tile, machine, size, terms) + spilled) * peak /
        (2 * issue);
    return fmax(fmax(multiply_operations(product, tile, machine, size), instructions),
                local > 0 ? bytes * peak / local : 0);
}

/* Registers beside sums, operands and elements. */
static int other_registers(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const int pairs = tile->stages && product->copied > (int)ry_gpu_operand_size(product->operands)
                          ? PAIR_REGISTERS
                          : 0;
    if (!tile->stages || tile->units == RY_GPU_WIDE ||
        ry_gpu_operand_products(product->operands) > 1) {
        return BASE_REGISTERS + (product->window ? WINDOW_REGISTERS : 0) +
               (tile->units == RY_GPU_WIDE ? pairs : 0);
    }
    return COPIED_REGISTERS + (product->window ? COPIED_WINDOW_REGISTERS : 0) + pairs;
}

static unsigned item_registers(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const int sums = tile->item_m * tile->item_n;
    const double elements = tile->k * (double)(tile->m + tile->n) / items_of(tile);
    const unsigned all = (unsigned)(sums + tile->item_m + tile->item_n + elements + ITEM_REGISTERS +
                                    (walks(product) ? WALK_REGISTERS : 0));
    return sums == MOST_SUMS && !walks(product) && all > HALF_OF_REGISTERS ? HALF_OF_REGISTERS
                                                                           : all;
}

/* Sums, operands of both sides and, of columns whose terms lie across the lanes, where each begins. */
static unsigned subgroup_registers(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const int columns = product->rows_along && product->terms_along ? 2 * tile->k : 2;
    return (unsigned)(tile->item_m * tile->item_n + 2 * tile->k + columns + SUBGROUP_REGISTERS);
}

unsigned ry_gpu_tile_registers(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    if (tile->subgroups) {
        return subgroup_registers(product, tile);
    }
    if (!tile->units) {
        return item_registers(product, tile);
    }
    const double size = (double)ry_gpu_operand_size(product->operands),
                 elements = tile->stages ? 0
                                         : tile->k * (double)(tile->m + tile->n) / items_of(tile) *
                                               (sizeof(float) / size);
    const int parts = ry_gpu_operand_products(product->operands) > 1 ? 2 : 1,
              operands = tile->units == RY_GPU_WIDE
                             ? tile->m * tile->n > WIDE_SMALL ? 4 * WIDE_LEFT : WIDE_LEFT
                             : parts * (2 * tile->item_m + tile->item_n);
    return (unsigned)(tile->item_m * tile->item_n + operands + 2 * elements +
                      other_registers(product, tile));
}

/* Seconds of a read from the second cache. */
static double near_wait(const ry_machine *machine)
{
    return machine->level[RYND_LEVEL_L2].latency.one;
}

double ry_gpu_tile_joined(const ry_machine *machine, double parts)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    return cost->tile_ends * machine->level[RYND_LEVEL_DRAM].latency.one +
           cost->tile_part * ceil(parts / JOINED_AT_ONCE) * near_wait(machine);
}

double ry_gpu_tile_ended(const ry_gpu_tile *tile, const ry_machine *machine)
{
    return ry_gpu_costs_of(machine)->tile_residual *
           ceil((double)tile->item_m * tile->item_n / ENDED_AT_ONCE) * near_wait(machine);
}

ry_gpu_use ry_gpu_tile_use(const ry_gpu_product *product, const ry_gpu_tile *tile,
                           const ry_machine *machine, double terms, double steps, double groups)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double size = (double)ry_gpu_operand_size(product->operands);
    return (ry_gpu_use){
        .many_sums = true,
        .registers = ry_gpu_tile_registers(product, tile),
        .latency = cost->tile_step * steps * near_wait(machine) +
                   cost->tile_ends * machine->level[RYND_LEVEL_DRAM].latency.one,
        .near = groups * (steps * terms * (tile->m + tile->n) * size +
                          (double)tile->m * tile->n * sizeof(float)),
    };
}
