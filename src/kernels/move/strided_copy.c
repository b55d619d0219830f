/* SPDX-License-Identifier: Apache-2.0 */
/* The strided-copy engine: brings a box into its simplest form, cuts it into pieces and walks its
 * outer dims. */
#include "kernels/move/strided_copy.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/move/strided_planes.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

void ry_box_add(ry_box *box, int64_t dim, int64_t dst_stride, int64_t src_stride)
{
    assert(box->rank < RY_BOX_RANK);
    int i = box->rank++;
    box->dim[i] = dim;
    box->dst[i] = ry_box_times(dst_stride, (int64_t)box->size);
    box->src[i] = ry_box_times(src_stride, (int64_t)box->size);
}

static void remove_dim(ry_box *box, int at)
{
    size_t tail = (size_t)(box->rank - at - 1) * sizeof(int64_t);
    memmove(box->dim + at, box->dim + at + 1, tail);
    memmove(box->dst + at, box->dst + at + 1, tail);
    memmove(box->src + at, box->src + at + 1, tail);
    box->rank--;
}

static void swap_dims(ry_box *box, int a, int b)
{
    int64_t dim = box->dim[a], dst = box->dst[a], src = box->src[a];
    box->dim[a] = box->dim[b], box->dst[a] = box->dst[b], box->src[a] = box->src[b];
    box->dim[b] = dim, box->dst[b] = dst, box->src[b] = src;
}

/* Outermost first in the destination; among equals (only one of them has more than one element) the
 * order does not matter. */
static void sort_dims(ry_box *box)
{
    for (int i = 1; i < box->rank; i++) {
        for (int j = i; j > 0 && magnitude(box->dst[j - 1]) < magnitude(box->dst[j]); j--) {
            swap_dims(box, j - 1, j);
        }
    }
}

static void merge_dims(ry_box *box)
{
    for (int i = box->rank - 2; i >= 0; i--) {
        if (box->dst[i] == box->dst[i + 1] * box->dim[i + 1] &&
            box->src[i] == box->src[i + 1] * box->dim[i + 1]) {
            box->dst[i] = box->dst[i + 1];
            box->src[i] = box->src[i + 1];
            box->dim[i] *= box->dim[i + 1];
            remove_dim(box, i + 1);
        }
    }
}

/* A contiguous run of 2, 4, 8 or 16 bytes is one wider element: four bytes of an NHWC pixel move as
 * one. */
static void widen_element(ry_box *box)
{
    int last = box->rank - 1;
    if (last < 1 || box->dst[last] != (int64_t)box->size || box->src[last] != (int64_t)box->size) {
        return;
    }
    int64_t bytes = box->dim[last] * (int64_t)box->size;
    if (bytes <= 16 && (bytes & (bytes - 1)) == 0) {
        box->size = (size_t)bytes;
        box->rank--;
    }
}

/* Where the source is denser along another dim than along the innermost, that dim becomes the
 * second innermost: the two form the planes that are transposed. Returns whether there is one. */
static bool pair_dims(ry_box *box)
{
    int last = box->rank - 1, best = -1;
    if (last < 1 || box->src[last] == 0) {
        return false;
    }
    for (int i = 0; i < last; i++) {
        int64_t than = magnitude(box->src[best < 0 ? last : best]);
        if (box->src[i] != 0 && magnitude(box->src[i]) < than) {
            best = i;
        }
    }
    for (int i = best; i >= 0 && i < last - 1; i++) {
        swap_dims(box, i, i + 1);
    }
    return best >= 0;
}

/* Cuts the box into pieces of at most so many bytes: whole inner dims as far as they fit, then a
 * part of one, then single positions. */
static void tile_dims(ry_box *box, bool paired)
{
    int64_t room = box->piece > 0 ? ry_max(1, box->piece / (int64_t)box->size) : INT64_MAX;
    box->pieces = 1;
    for (int i = box->rank - 1; i >= 0; i--) {
        int64_t limit = room;
        /* leave room for lines of 64 elements along the source's dense dim */
        if (paired && i == box->rank - 1) {
            limit = ry_max(1, room / ry_min(64, box->dim[i - 1]));
        }
        int64_t tile = ry_min(box->dim[i], limit);
        if (tile < box->dim[i] && tile > 64) {
            tile -= tile % 64;
        }
        box->tile[i] = tile;
        room = ry_max(1, room / tile);
        box->pieces *= (size_t)((box->dim[i] + tile - 1) / tile);
    }
}

void ry_box_prepare(ry_box *box)
{
    for (int i = box->rank - 1; i >= 0; i--) {
        if (box->dim[i] <= 0) {
            box->rank = 0;
            box->pieces = 0;
            return;
        }
        if (box->dim[i] == 1) {
            remove_dim(box, i);
        }
    }
    sort_dims(box);
    merge_dims(box);
    if (!box->keep_size) {
        widen_element(box);
    }
    tile_dims(box, pair_dims(box));
}

/* The two innermost dims. */
static ry_plane plane_of(const ry_box *box, const int64_t *dim)
{
    const int last = box->rank - 1;
    ry_plane plane = {.n1 = 1, .n0 = 1, .d0 = (int64_t)box->size, .s0 = (int64_t)box->size};
    if (box->rank > 0) {
        plane.n0 = dim[last], plane.d0 = box->dst[last], plane.s0 = box->src[last];
    }
    if (box->rank > 1) {
        plane.n1 = dim[last - 1], plane.d1 = box->dst[last - 1], plane.s1 = box->src[last - 1];
    }
    return plane;
}

static double elements_of(const ry_box *box)
{
    double count = box->pieces > 0 ? 1 : 0;
    for (int i = 0; i < box->rank; i++) {
        count *= (double)box->dim[i];
    }
    return count;
}

double ry_box_moved(const ry_box *box)
{
    const double bytes = elements_of(box) * (double)box->size;
    return box->rank > 0 && box->src[box->rank - 1] == 0 ? bytes : 2 * bytes;
}

/* Work of a kind that takes as many latencies of the second-level cache. */
static double latency_work(double latencies, int kind, const ry_machine *machine)
{
    return ry_cost_weight(kind) * latencies * machine->level[RYND_LEVEL_L2].latency.one *
           machine->f32.one;
}

/* Work of the permutations, without moving bytes in order: of whole blocks by lines, of the planes'
 * ends by elements. */
static double transposed_work(const ry_box *box, const ry_plane *plane, const ry_machine *machine)
{
    const struct ry_move_costs *cost = &ry_costs_of(RY_COSTS_PARTS)->move;
    const int64_t lanes = RY_PLANE_BLOCK / (int64_t)box->size;
    const double count = elements_of(box),
                 whole = (double)(plane->n1 - plane->n1 % lanes) / (double)plane->n1 *
                         (double)(plane->n0 - plane->n0 % lanes) / (double)plane->n0;
    const double lines =
        machine->line_bytes > 0 ? whole * count * (double)box->size / machine->line_bytes : 0;
    return latency_work(cost->transposed * lines, RYND_KIND_PERMUTE, machine) +
           latency_work(cost->any * (1 - whole) * count, RYND_KIND_SCALAR, machine);
}

/* Work of a loop over elements, so many latencies long, beside moving their bytes. */
static double element_work(double latencies, double ordered, const ry_machine *machine)
{
    return ry_overlapped_work(latency_work(latencies, RYND_KIND_SCALAR, machine), ordered);
}

double ry_box_work(const ry_box *box, const ry_machine *machine)
{
    const struct ry_move_costs *cost = &ry_costs_on(machine, 0)->move;
    const double count = elements_of(box), moved = ry_box_moved(box);
    if (count == 0) {
        return 0;
    }
    const ry_plane plane = plane_of(box, box->tile);
    const double lines = ry_machine_exceeds_cache(machine, moved) && machine->line_bytes > 0
                             ? moved / 2 / machine->line_bytes
                             : 0;
    const double ordered = ry_stream_work(machine, moved),
                 from_memory = ry_memory_lines_work(machine, lines);
    switch (ry_plane_loop_of(&plane, box->size)) {
    case RY_PLANE_ROWS:
    case RY_PLANE_FILL: return ordered + count / (double)plane.n0 * cost->row;
    case RY_PLANE_REVERSED: return element_work(count * cost->reversed, ordered, machine);
    case RY_PLANE_INTERLEAVED: return element_work(count * cost->interleaved, ordered, machine);
    case RY_PLANE_STEPPED: return element_work(count * cost->stepped, ordered, machine);
    case RY_PLANE_TRANSPOSED: return ordered + transposed_work(box, &plane, machine) + from_memory;
    default: return element_work(count * cost->any, ordered, machine) + from_memory;
    }
}

static void copy_part(const ry_box *box, const int64_t *dim, char *dst, const char *src)
{
    const int outer = box->rank > 2 ? box->rank - 2 : 0;
    ry_plane plane = plane_of(box, dim);
    int64_t index[RY_BOX_RANK] = {0};
    for (;;) {
        plane.dst = dst;
        plane.src = src;
        ry_plane_copy(&plane, box->size);
        int i = outer - 1;
        for (; i >= 0; i--) {
            dst += box->dst[i];
            src += box->src[i];
            if (++index[i] < dim[i]) {
                break;
            }
            dst -= box->dst[i] * dim[i];
            src -= box->src[i] * dim[i];
            index[i] = 0;
        }
        if (i < 0) {
            return;
        }
    }
}

int64_t ry_box_contiguous(const ry_box *box)
{
    int64_t bytes = (int64_t)box->size;
    for (int i = box->rank - 1; i >= 0; i--) {
        if (box->dst[i] != bytes || box->src[i] != bytes) {
            return 0;
        }
        bytes *= box->dim[i];
    }
    return box->pieces > 0 ? bytes : 0;
}

void ry_box_copy(const ry_box *box, void *dst, const void *src)
{
    const int64_t bytes = ry_box_contiguous(box);
    if (bytes > 0) {
        memcpy(dst, src, (size_t)bytes);
    } else if (box->pieces > 0) {
        copy_part(box, box->dim, dst, src);
    }
}

void ry_box_locate(const ry_box *box, size_t piece, int64_t *dst_offset, int64_t *src_offset,
                   int64_t *dim)
{
    *dst_offset = 0;
    *src_offset = 0;
    for (int i = box->rank - 1; i >= 0; i--) {
        size_t parts = (size_t)((box->dim[i] + box->tile[i] - 1) / box->tile[i]);
        int64_t from = (int64_t)(piece % parts) * box->tile[i];
        piece /= parts;
        dim[i] = ry_min(box->tile[i], box->dim[i] - from);
        *dst_offset += from * box->dst[i];
        *src_offset += from * box->src[i];
    }
}

void ry_box_copy_piece(const ry_box *box, void *dst, const void *src, size_t piece)
{
    int64_t to, from, dim[RY_BOX_RANK];
    ry_box_locate(box, piece, &to, &from, dim);
    copy_part(box, dim, (char *)dst + to, (const char *)src + from);
}
