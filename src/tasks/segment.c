/* SPDX-License-Identifier: Apache-2.0 */
/* The class of each pixel of a photo. */
#include "tasks/classes.h"

#include <inttypes.h>
#include <math.h>

/* Scores of one picture; channels 1: of class 1, or classes themselves. */
typedef struct map {
    const ry_tensor *tensor;
    int64_t start, height, width, channels, row, column, channel;
    bool labels;   /* values are classes */
    double middle; /* with one channel: least score of class 1 */
} map;

static double at(const map *m, int64_t y, int64_t x, int64_t c)
{
    return ry_get_f64((ry_dtype)m->tensor->dtype, m->tensor->data,
                      m->start + y * m->row + x * m->column + c * m->channel);
}

/* Probabilities have their middle at 0.5, logits at 0. */
static double find_middle(const map *m)
{
    for (int64_t y = 0; y < m->height; y++) {
        for (int64_t x = 0; x < m->width; x++) {
            const double value = at(m, y, x, 0);
            if (value < 0 || value > 1) {
                return 0;
            }
        }
    }
    return 0.5;
}

/* By the proportions of the input; where they do not tell, the fewer are the channels. */
static bool has_channels_last(const int64_t *dim, const int64_t input[2])
{
    const bool may_be_first = dim[1] * input[1] == dim[2] * input[0],
               may_be_last = dim[0] * input[1] == dim[1] * input[0];
    return may_be_first == may_be_last ? dim[2] < dim[0] : may_be_last;
}

static rynd_status take_map(const ry_tensor *output, int64_t index, const int64_t input[2], map *m,
                            ry_error *error)
{
    const bool labels = !ry_dtype_is_float((ry_dtype)output->dtype) && output->rank < 4;
    const int plane = labels ? 2 : 3, first = output->rank == plane + 1;
    if (output->rank != plane + first || ry_tensor_count(output) < 1) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "an output of rank %d is no map of classes: it needs [N, C, H, W], "
                       "[N, H, W, C], or integers [N, H, W]",
                       output->rank);
    }
    if (index < 0 || index >= (first ? output->dim[0] : 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "picture %" PRId64 " is outside the batch",
                       index);
    }
    const int64_t *dim = output->dim + first, *stride = output->stride + first;
    const bool last = !labels && has_channels_last(dim, input);
    const int row = labels || last ? 0 : 1, channel = last ? 2 : 0;
    *m = (map){.tensor = output,
               .start = first ? index * output->stride[0] : 0,
               .height = dim[row],
               .width = dim[row + 1],
               .channels = labels ? 1 : dim[channel],
               .row = stride[row],
               .column = stride[row + 1],
               .channel = labels ? 0 : stride[channel],
               .labels = labels};
    m->middle = labels || m->channels > 1 ? 0 : find_middle(m);
    return RYND_OK;
}

/* The two neighbours of a place between pixels, and the second one's weight. */
typedef struct between {
    int64_t low, high;
    double weight;
} between;

/* The map's place of a photo's pixel. */
static between place_of(int64_t pixel, double scale, double offset, int64_t input, int64_t size)
{
    double place = (((double)pixel + 0.5) * scale + offset) * (double)size / (double)input - 0.5;
    place = place > 0 ? place : 0;
    place = place < (double)(size - 1) ? place : (double)(size - 1);
    const int64_t low = (int64_t)place;
    return (between){low, low + 1 < size ? low + 1 : low, place - (double)low};
}

/* Interpolates the scores of a row of the photo along the height: [width of the map][channels]. */
static void blend_rows(const map *m, const between *y, float *line)
{
    for (int64_t x = 0; x < m->width; x++) {
        for (int64_t c = 0; c < m->channels; c++) {
            *line++ =
                (float)(at(m, y->low, x, c) * (1 - y->weight) + at(m, y->high, x, c) * y->weight);
        }
    }
}

static int64_t best_class(const map *m, const float *line, const between *x)
{
    const float *low = line + x->low * m->channels, *high = line + x->high * m->channels;
    const float weight = (float)x->weight;
    int64_t best = 0;
    float highest = -INFINITY;
    for (int64_t c = 0; c < m->channels; c++) {
        const float value = low[c] * (1 - weight) + high[c] * weight;
        if (value > highest) {
            highest = value;
            best = c;
        }
    }
    return m->channels > 1 ? best : (double)highest > m->middle;
}

static int64_t label_at(const map *m, const between *y, const between *x)
{
    return ry_get_i64((ry_dtype)m->tensor->dtype, m->tensor->data,
                      m->start + (y->weight < 0.5 ? y->low : y->high) * m->row +
                          (x->weight < 0.5 ? x->low : x->high) * m->column);
}

rynd_status ry_segment(const ry_tensor *output, int64_t index, const rynd_frame *frame,
                       const int64_t input[2], const ry_tensor *classes, ry_arena *arena,
                       ry_error *error)
{
    map m;
    RY_TRY(take_map(output, index, input, &m, error));
    between *columns = RY_TAKE(arena, between, frame->width);
    float *line = RY_TAKE(arena, float, m.width *m.channels);
    if (!columns || !line) {
        return ry_fail_memory(error);
    }
    for (int64_t x = 0; x < frame->width; x++) {
        columns[x] = place_of(x, frame->scale_x, frame->offset_x, input[1], m.width);
    }
    for (int64_t y = 0; y < frame->height; y++) {
        const between row = place_of(y, frame->scale_y, frame->offset_y, input[0], m.height);
        if (!m.labels) {
            blend_rows(&m, &row, line);
        }
        for (int64_t x = 0; x < frame->width; x++) {
            ry_set_i64((ry_dtype)classes->dtype, classes->data,
                       y * classes->stride[0] + x * classes->stride[1],
                       m.labels ? label_at(&m, &row, &columns[x])
                                : best_class(&m, line, &columns[x]));
        }
    }
    return RYND_OK;
}
