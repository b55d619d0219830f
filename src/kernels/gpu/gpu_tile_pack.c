/* SPDX-License-Identifier: Apache-2.0 */
/* Packed first matrices of igemm.cl's tiles: their sizes, definitions and keys. */
#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/packing.h"

void ry_gpu_tile_pack(const ry_query *query, const ry_gpu_product *product, int64_t packed,
                      ry_prepared *prepared)
{
    const int64_t group = ry_gpu_group_most(query->target->machine, 128, 0);
    prepared->packed = (size_t)packed * ry_gpu_operand_size(product->operands);
    prepared->pack_tasks = (size_t)ry_ceil_div(packed, group);
    prepared->pack_group = (unsigned)group;
}

int64_t ry_gpu_tile_pitch(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return ry_round_up(product->rows, ry_gpu_tile_of(prepared).m);
}

/* Rows that are beside each other in the packed weights. */
static int64_t panel_of(const ry_prepared *prepared, int64_t pitch, bool along)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    return tile.subgroups                 ? RY_GPU_SUBGROUP
           : !ry_gpu_tile_is_panel(&tile) ? pitch
           : along                        ? RY_GPU_ALONG
                                          : RY_GPU_ACROSS;
}

void ry_gpu_tile_packing(const ry_gpu_product *product, const ry_prepared *prepared,
                         const ry_gpu_window *window, ry_text *key)
{
    const int64_t pitch = ry_gpu_tile_pitch(product, prepared);
    const bool along = window->x_along_channels;
    /* blocks of copied tiles are packed for their form */
    const int64_t blocks =
        ry_gpu_tile_of(prepared).stages ? prepared->form.value[RY_GPU_KNOB_TILE] + 1 : 0;
    RY_PACKING_NUMBERS(key, blocks, product->copied, ry_gpu_tile_is_stepped(product, prepared),
                       ry_gpu_tile_channels(product, prepared), pitch,
                       panel_of(prepared, pitch, along), along, product->operands, window->groups,
                       window->channels, window->rows, window->window, window->axis[0].taps,
                       window->axis[1].taps, window->axis[2].taps);
}

void ry_gpu_tile_define_packed(const ry_gpu_product *product, const ry_prepared *prepared,
                               int64_t terms, bool along, ry_text *text)
{
    const int64_t pitch = ry_gpu_tile_pitch(product, prepared);
    ry_gpu_define(text, "PACKED_A", 1);
    ry_gpu_define(text, "PACKED_TERMS", terms);
    ry_gpu_define(text, "PACKED_PITCH", pitch);
    ry_gpu_define(text, "PANEL", panel_of(prepared, pitch, along));
}
