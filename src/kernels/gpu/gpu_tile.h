/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of igemm.cl: the tile of a work-group, and how many share a long sum. */
#ifndef RY_KERNELS_GPU_GPU_TILE_H
#define RY_KERNELS_GPU_GPU_TILE_H

#include "kernels/gpu/gpu_tile_use.h"
#include "kernels/gpu/gpu_window.h"
#include "machine/machine.h"

/* What panels multiply at once: sums of a row or column, of which so many are across. */
enum { RY_GPU_ACROSS = 8, RY_GPU_ALONG = 32 };

enum { RY_GPU_KNOB_TILE, RY_GPU_KNOB_SPLIT, RY_GPU_TILE_KNOBS };

extern const ry_knob ry_gpu_tile_knobs[RY_GPU_TILE_KNOBS];
/* Words for the values of knob `tile`. */
extern const char *const ry_gpu_tile_words[];

/* Has the machine groups and local memory for a tile: of floats, or of matrix units? */
bool ry_gpu_tile_runs_floats(const ry_problem *problem, const ry_machine *machine);
bool ry_gpu_tile_runs_units(const ry_problem *problem, const ry_machine *machine);
/* The same for floats by three products, whose tiles are copied. */
bool ry_gpu_tile_runs_three(const ry_problem *problem, const ry_machine *machine);
/* The same for quads, and for bytes as floats, which panels alone multiply. */
bool ry_gpu_tile_runs_quads(const ry_problem *problem, const ry_machine *machine);
bool ry_gpu_tile_runs_bytes(const ry_problem *problem, const ry_machine *machine);

void ry_gpu_tile_values(const ry_query *query, const ry_gpu_product *product, int knob,
                        ry_knob_values *values);

/* Completes the form by least work, and sets tasks, groups, workspace, work and counts of the
 * phases: `run` and, of sums that are shared, `join`. ARGUMENT where the form cannot be. */
rynd_status ry_gpu_tile_prepare(const ry_query *query, const ry_gpu_product *product,
                                ry_prepared *prepared, ry_error *error);

ry_gpu_tile ry_gpu_tile_of(const ry_prepared *prepared);

/* The same with the sums that a work-item has of this product. */
ry_gpu_tile ry_gpu_tile_fitted(const ry_gpu_product *product, const ry_prepared *prepared);

/* Are terms stepped through, all channels of a tap before the next one's? How many has a tap then, with those
 * that fill its last tile? */
bool ry_gpu_tile_is_stepped(const ry_gpu_product *product, const ry_prepared *prepared);
int64_t ry_gpu_tile_channels(const ry_gpu_product *product, const ry_prepared *prepared);

/* So many terms, filled up to whole tiles where a tile reads all of its packed ones. */
int64_t ry_gpu_tile_whole_terms(const ry_gpu_product *product, const ry_prepared *prepared,
                                int64_t terms);

/* Terms that a tile multiplies at once. */
int ry_gpu_tile_terms(const ry_gpu_product *product, const ry_prepared *prepared);

/* Stages of a copied tile in local memory; terms of a work-group. */
int ry_gpu_tile_stages(const ry_gpu_product *product, const ry_prepared *prepared);
int64_t ry_gpu_tile_split_terms(const ry_gpu_product *product, const ry_prepared *prepared);

/* Does a work-item have the tile to itself? */
bool ry_gpu_tile_is_panel(const ry_gpu_tile *tile);

/* Adds the texts before join.cl, behind all that they are defined for. */
void ry_gpu_tile_add_text(const ry_gpu_product *product, const ry_prepared *prepared,
                          ry_text *text);

/* Defines tile, tiles and splits. */
void ry_gpu_tile_define(const ry_gpu_product *product, const ry_prepared *prepared, ry_text *text);

/* A first matrix that is packed as igemm.cl reads it: sets its size of so many elements and the
 * groups that pack them; the rows that a term has, which fill tiles; and the definitions, for
 * matrices of so many terms. `along`: the second matrix's terms are beside each other. */
void ry_gpu_tile_pack(const ry_query *query, const ry_gpu_product *product, int64_t packed,
                      ry_prepared *prepared);
int64_t ry_gpu_tile_pitch(const ry_gpu_product *product, const ry_prepared *prepared);
void ry_gpu_tile_define_packed(const ry_gpu_product *product, const ry_prepared *prepared,
                               int64_t terms, bool along, ry_text *text);

/* The numbers of ry_gpu_tile_define_packed, and the window's, for a kernel's `packing`. */
void ry_gpu_tile_packing(const ry_gpu_product *product, const ry_prepared *prepared,
                         const ry_gpu_window *window, ry_text *key);

#endif
