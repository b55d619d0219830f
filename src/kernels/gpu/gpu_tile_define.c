/* SPDX-License-Identifier: Apache-2.0 */
/* Defines igemm.cl's tiles for a program, and adds the texts that they are made of. */
#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"

#include <string.h>

/* How an element of so many bytes becomes an operand. */
static const char *loaded(const ry_gpu_product *product, int bytes)
{
    return bytes == 0                                            ? "AS_KEPT"
           : product->operands == RY_GPU_THREE_TF32              ? "SPLIT"
           : product->operands == RY_GPU_TF32                    ? "ROUNDED"
           : bytes > (int)ry_gpu_operand_size(product->operands) ? "PAIRS"
                                                                 : "AS_KEPT";
}

static void define_copied(const ry_gpu_product *product, const ry_gpu_tile *tile, int stages,
                          ry_text *text)
{
    ry_gpu_define(text, "COPIED", tile->stages > 0);
    if (!tile->stages) {
        return;
    }
    ry_gpu_define(text, "STAGES", stages);
    ry_gpu_define(text, "BYTES_X", product->copied);
    if (tile->units == RY_GPU_WIDE) {
        const char *how = loaded(product, product->copied);
        ry_gpu_define(text, "PAIRED", strcmp(how, "PAIRS") == 0);
        ry_gpu_define(text, "LOADED", strcmp(how, "AS_KEPT") != 0);
        ry_text_add(text, "#define RIGHT_ROWS %d\n", product->rows_along ? tile->m : tile->n);
        return;
    }
    ry_gpu_define(text, "W_ACROSS", product->w_across);
    ry_gpu_define(text, "X_ACROSS", product->x_across);
    ry_gpu_define(text, "BYTES_W",
                  product->copied_w ? product->copied_w
                                    : (int64_t)ry_gpu_operand_size(product->operands));
    ry_text_add(text, "#define LOADED_W LOADED_%s\n#define LOADED_X LOADED_%s\n",
                loaded(product, product->copied_w), loaded(product, product->copied));
}

void ry_gpu_tile_define(const ry_gpu_product *product, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_tile tile = ry_gpu_tile_fitted(product, prepared);
    const int64_t split = prepared->form.value[RY_GPU_KNOB_SPLIT];
    ry_gpu_operands_define(product->operands, text);
    define_copied(product, &tile, ry_gpu_tile_stages(product, prepared), text);
    ry_gpu_define(text, "PANELS", ry_gpu_tile_is_panel(&tile));
    ry_gpu_define(text, "STEPPED", ry_gpu_tile_is_stepped(product, prepared));
    if (product->channels) {
        ry_gpu_define(text, "TERM_CHANNELS", ry_gpu_tile_channels(product, prepared));
    } else {
        ry_text_add(text, "#define TERM_CHANNELS CHANNELS\n");
    }
    ry_gpu_define(text, "TILE_M", tile.m);
    ry_gpu_define(text, "TILE_N", tile.n);
    ry_gpu_define(text, "TILE_K", ry_gpu_tile_terms(product, prepared));
    ry_gpu_define(text, "ITEM_M", tile.item_m);
    ry_gpu_define(text, "ITEM_N", tile.item_n);
    ry_gpu_define(text, "TILES_M", ry_ceil_div(product->rows, tile.m));
    ry_gpu_define(text, "TILES_N", ry_ceil_div(product->columns, tile.n));
    ry_gpu_define(text, "SLICES", tile.slices);
    ry_gpu_define(text, "SUBGROUP_ITEMS", tile.subgroups ? RY_GPU_SUBGROUP : 0);
    ry_gpu_define(text, "SPLITS", split);
    ry_gpu_define(text, "SPLIT_TERMS", ry_gpu_tile_split_terms(product, prepared));
}

void ry_gpu_tile_add_text(const ry_gpu_product *product, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    ry_text_add(text, "%s%s", ry_gpu_text_igemm, ry_gpu_text_steps);
    if (tile.units == RY_GPU_WIDE) {
        ry_text_add(text, "%s%s%s", ry_gpu_text_wide, product->wide_text, ry_gpu_text_wide_loop);
        return;
    }
    if (tile.stages) {
        ry_text_add(text, "%s%s%s%s", ry_gpu_text_copied,
                    product->copied_w ? "" : ry_gpu_text_copied_weights, product->copied_text,
                    ry_gpu_text_pipeline);
        return;
    }
    if (tile.subgroups) {
        ry_text_add(text, "%s", ry_gpu_text_subgroups);
    } else if (ry_gpu_tile_is_panel(&tile)) {
        ry_text_add(text, "%s", ry_gpu_text_panels);
    } else if (tile.units) {
        ry_text_add(text, "%s", ry_gpu_text_items);
    } else {
        ry_text_add(text, "%s%s", ry_gpu_text_walk, ry_gpu_text_simt);
    }
}
