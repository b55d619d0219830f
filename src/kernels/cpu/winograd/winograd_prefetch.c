/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the lines of x and y that a block of tiles reads and writes, and fetches them. */
#include "kernels/cpu/winograd/winograd_prefetch.h"

#include "base/integer.h"

/* A box of positions, whose rows are stored `row_step` floats apart, of `channels` channels. */
typedef struct box {
    const float *at;
    int64_t rows, row_step, columns, column_step, channels, channel_step;
} box;

static int64_t lines_of(const float *at, int64_t floats)
{
    const int64_t start = (int64_t)((uintptr_t)at % RY_LINE_BYTES), size = (int64_t)sizeof(float);
    return (start + floats * size + RY_LINE_BYTES - 1) / RY_LINE_BYTES;
}

static void add_box(const box *b, winograd_prefetch *prefetch)
{
    const int64_t size = (int64_t)sizeof(float);
    if (b->rows <= 0 || b->columns <= 0 || prefetch->count == WINOGRAD_PREFETCH_PIECES) {
        return;
    }
    winograd_piece *piece = &prefetch->pieces[prefetch->count++];
    *piece = (winograd_piece){
        .at = (const char *)b->at, .outer = b->rows, .outer_step = b->row_step * size, .inner = 1};
    if (b->channel_step != 1) {
        piece->outer = b->channels;
        piece->outer_step = b->channel_step * size;
        piece->inner = b->rows;
        piece->inner_step = b->row_step * size;
        piece->lines = lines_of(b->at, (b->columns - 1) * b->column_step + 1);
    } else if (b->column_step == b->channels) {
        piece->lines = lines_of(b->at, b->columns * b->channels);
    } else {
        piece->inner = b->columns;
        piece->inner_step = b->column_step * size;
        piece->lines = lines_of(b->at, b->channels);
    }
    prefetch->lines += piece->outer * piece->inner * piece->lines;
}

/* Drops positions outside [0, extent) from both ends of start, start + step, ...
 */
static void clip(int64_t *start, int64_t step, int64_t *count, int64_t extent)
{
    while (*count > 0 && *start < 0) {
        *start += step;
        --*count;
    }
    while (*count > 0 && *start + (*count - 1) * step >= extent) {
        --*count;
    }
}

void ry_winograd_prefetch_input(const winograd_plan *plan, const float *x, int64_t first,
                                int64_t count, winograd_prefetch *prefetch)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t read_span = (w->points - 1) * w->step + w->classes;
    winograd_run run;
    for (int64_t done = 0; done < count; done += run.count) {
        run = ry_winograd_find_run(plan, first + done, count - done, read_span, INT64_MAX);
        const winograd_tile *tile = winograd_tiles(plan, 1) + run.column;
        const int64_t step = h->stride > 1 ? 1 : h->step;
        int64_t top = winograd_tiles(plan, 0)[run.row].origin * h->stride - h->pad,
                rows = h->points * h->stride;
        int64_t left = tile[0].origin * w->stride - w->pad,
                columns = (tile[run.count - 1].origin - tile[0].origin) * w->stride + read_span;
        clip(&top, step, &rows, g->in[1]);
        clip(&left, 1, &columns, g->in[2]);
        for (int64_t t = 0; t < g->kernel[0]; t++) {
            const int64_t depth = run.depth * g->stride[0] + t * g->dilation[0] - g->before[0];
            if (depth >= 0 && depth < g->in[0]) {
                add_box(&(box){x + run.image * g->x_batch + depth * g->x_step[0] +
                                   top * g->x_step[1] + left * g->x_step[2],
                               rows, step * g->x_step[1], columns, g->x_step[2], g->channels_in,
                               g->x_channel},
                        prefetch);
            }
        }
    }
}

void ry_winograd_prefetch_output(const winograd_plan *plan, const float *y, int64_t first,
                                 int64_t count, int64_t channel, int64_t channels,
                                 winograd_prefetch *prefetch)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t read_span = (w->outputs - 1) * w->dilation + 1, *y_step = plan->steps.y_step;
    winograd_run run;
    for (int64_t done = 0; done < count; done += run.count) {
        run = ry_winograd_find_run(plan, first + done, count - done, read_span, INT64_MAX);
        const winograd_tile *tile = winograd_tiles(plan, 1) + run.column,
                            *last = tile + run.count - 1;
        const winograd_tile *row = winograd_tiles(plan, 0) + run.row;
        const int64_t step = h->output_stride > 1 ? 1 : h->dilation;
        int64_t top = row->origin * h->output_stride - h->output_offset,
                rows = row->outputs * h->output_stride;
        int64_t left = tile->origin * w->output_stride - w->output_offset;
        int64_t columns =
            (last->origin - tile->origin + (w->outputs - 1) * w->dilation + 1) * w->output_stride;
        clip(&top, step, &rows, g->out[1]);
        clip(&left, 1, &columns, g->out[2]);
        const float *at =
            y + run.image * g->y_batch + run.depth * y_step[0] + top * y_step[1] + left * y_step[2];
        const int64_t room = plan->fold.channels ? plan->fold.room : g->channels_out;
        for (int64_t k = channel; k < channel + channels; k += room - k % room) {
            const int64_t adjacent = winograd_adjacent_columns(plan, k, channel + channels - k);
            add_box(&(box){at + winograd_column_y(plan, k), rows, step * y_step[1], columns,
                           y_step[2], adjacent, g->y_channel},
                    prefetch);
        }
    }
}

void ry_winograd_prefetch_spread(const winograd_plan *plan, int64_t oc_blocks, int64_t tiles,
                                 winograd_prefetch *prefetch)
{
    prefetch->at_once = ry_ceil_div(prefetch->lines, oc_blocks * plan->points * plan->phases *
                                                         ry_ceil_div(tiles, plan->tile_rows));
}

static void step(winograd_prefetch *prefetch)
{
    const winograd_piece *piece = &prefetch->pieces[prefetch->piece];
    prefetch->line = 0;
    if (++prefetch->inner == piece->inner) {
        prefetch->inner = 0;
        if (++prefetch->outer == piece->outer) {
            prefetch->outer = 0;
            prefetch->piece++;
        }
    }
}

int ry_winograd_prefetch_next(winograd_prefetch *prefetch, ry_tile_lines *lines, int room)
{
    int count = 0;
    for (int64_t max = prefetch->at_once; max > 0 && prefetch->lines > 0 && count < room; count++) {
        const winograd_piece *piece = &prefetch->pieces[prefetch->piece];
        const int64_t take = ry_min(max, piece->lines - prefetch->line);
        lines[count] = (ry_tile_lines){piece->at + prefetch->outer * piece->outer_step +
                                           prefetch->inner * piece->inner_step +
                                           prefetch->line * RY_LINE_BYTES,
                                       take};
        max -= take;
        prefetch->lines -= take;
        prefetch->line += take;
        if (prefetch->line == piece->lines) {
            step(prefetch);
        }
    }
    return count;
}
