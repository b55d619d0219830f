/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises pictures in tensors, and copies between the two. */
#include "picture_layout.h"

static bool is_channels(int64_t dim)
{
    return dim == 1 || dim == 3;
}

bool cli_picture_layout_of(int rank, const int64_t *dim, int otherwise, cli_picture_layout *layout)
{
    int batch = rank == 4 ? 0 : -1, first = rank == 4; /* the first dimension of one picture */
    if (rank == 2) {
        *layout = (cli_picture_layout){-1, -1, 0, 1, 1};
        return true;
    }
    if (rank != 3 && rank != 4) {
        return false;
    }
    if (is_channels(dim[first]) || (dim[first] < 0 && !is_channels(dim[first + 2]))) {
        *layout = (cli_picture_layout){batch, first, first + 1, first + 2,
                                       dim[first] < 0 ? otherwise : (int)dim[first]};
        return true;
    }
    *layout = (cli_picture_layout){batch, first + 2, first, first + 1, (int)dim[first + 2]};
    return is_channels(dim[first + 2]);
}

rynd_tensor cli_picture_of(const rynd_tensor *tensor)
{
    cli_picture_layout at;
    rynd_tensor view = *tensor;
    if (cli_picture_layout_of(tensor->rank, tensor->dim, 1, &at)) {
        const int order[] = {at.height, at.width, at.channel};
        for (int i = 0; i < 3; i++) {
            view.dim[i] = tensor->dim[order[i]];
            view.stride[i] = tensor->stride[order[i]];
        }
    }
    return view;
}

static int64_t stride_of(const rynd_tensor *tensor, int dimension)
{
    return dimension < 0 ? 0 : tensor->stride[dimension];
}

void cli_picture_put(const rynd_tensor *tensor, const cli_picture_layout *layout, int64_t index,
                     const cli_image *image)
{
    int64_t channel = stride_of(tensor, layout->channel), row = stride_of(tensor, layout->height),
            column = stride_of(tensor, layout->width);
    const float *pixel = image->pixels;
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++) {
            for (int c = 0; c < image->channels; c++) {
                int64_t at =
                    index * stride_of(tensor, layout->batch) + c * channel + y * row + x * column;
                cli_element_set(tensor->dtype, tensor->data, at, (cli_number)*pixel++);
            }
        }
    }
}

bool cli_picture_get(const rynd_tensor *tensor, const cli_picture_layout *layout, double scale,
                     bool swap, cli_image *image, cli_failure *failure)
{
    if (!cli_image_make(image, tensor->dim[layout->height], tensor->dim[layout->width],
                        layout->channels, "output", failure)) {
        return false;
    }
    int64_t channel = stride_of(tensor, layout->channel), row = stride_of(tensor, layout->height),
            column = stride_of(tensor, layout->width);
    float *pixel = image->pixels;
    for (int64_t y = 0; y < image->height; y++) {
        for (int64_t x = 0; x < image->width; x++) {
            for (int c = 0; c < image->channels; c++) {
                int from = swap && image->channels == 3 ? 2 - c : c;
                *pixel++ =
                    (float)(scale * (double)cli_element_get(tensor->dtype, tensor->data,
                                                            from * channel + y * row + x * column));
            }
        }
    }
    return true;
}
