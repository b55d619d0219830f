/* SPDX-License-Identifier: Apache-2.0 */
/* One convolution on the caller's own memory, where it is stored: a 3x3 mean over a picture of
 * three channels that is a window of a larger one, first with the channels in planes (NCHW), then
 * interleaved (NHWC). Strides alone tell the two apart; the numbers must agree. */
#include <math.h>
#include <rynd/rynd.h>
#include <stdio.h>

enum { CHANNELS = 3, LARGE = 64, HEIGHT = 20, WIDTH = 30, TOP = 5, LEFT = 7 };

static const char problem[] = "conv n=1 c=3 h=20 w=30 k=3 r=3 s=3 pad=1 groups=3";

static float planes[CHANNELS][LARGE][LARGE], interleaved[LARGE][LARGE][CHANNELS];
static float planes_out[CHANNELS][HEIGHT][WIDTH], interleaved_out[HEIGHT][WIDTH][CHANNELS];
static float weights[CHANNELS][1][3][3];

static rynd_tensor picture(int64_t channel_stride, int64_t row_stride, int64_t column_stride)
{
    rynd_tensor tensor = {.dtype = RYND_DTYPE_F32, .rank = 4, .dim = {1, CHANNELS, HEIGHT, WIDTH}};
    tensor.stride[1] = channel_stride;
    tensor.stride[2] = row_stride;
    tensor.stride[3] = column_stride;
    return tensor;
}

/* The weights do not change: given now, they are packed once. The picture's place is named at each
 * run. */
static rynd_status convolve(rynd_context *context, rynd_tensor x, rynd_tensor y, const float *from,
                            float *to)
{
    rynd_tensor inputs[4] = {
        x, rynd_tensor_of(weights, RYND_DTYPE_F32, 4, (const int64_t[]){CHANNELS, 1, 3, 3})};
    rynd_op_options options = RYND_SIZED(rynd_op_options, .inputs = inputs, .outputs = &y);
    rynd_op *op = NULL;
    rynd_status status = rynd_op_create(context, problem, &options, &op);
    if (status == RYND_OK) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        rynd_op_get_info(op, &info);
        printf("%s by %s\n", info.problem, info.kernel);
        status =
            rynd_op_execute(op, (const void *const[]){from, NULL, NULL, NULL}, (void *const[]){to});
    }
    rynd_op_destroy(op);
    return status;
}

static void fill(void)
{
    for (int c = 0; c < CHANNELS; c++) {
        for (int y = 0; y < LARGE; y++) {
            for (int x = 0; x < LARGE; x++) {
                planes[c][y][x] = interleaved[y][x][c] = (float)((x * y + c) % 17);
            }
        }
        for (int i = 0; i < 9; i++) {
            weights[c][0][i / 3][i % 3] = 1.0f / 9;
        }
    }
}

int main(void)
{
    rynd_context *context = NULL;
    fill();
    rynd_tensor window = picture(LARGE * LARGE, LARGE, 1),
                window_nhwc = picture(1, LARGE * CHANNELS, CHANNELS);
    rynd_tensor result = picture(HEIGHT * WIDTH, WIDTH, 1),
                result_nhwc = picture(1, WIDTH * CHANNELS, CHANNELS);
    if (rynd_context_create(NULL, &context) != RYND_OK ||
        convolve(context, window, result, &planes[0][TOP][LEFT], &planes_out[0][0][0]) != RYND_OK ||
        convolve(context, window_nhwc, result_nhwc, &interleaved[TOP][LEFT][0],
                 &interleaved_out[0][0][0]) != RYND_OK) {
        fprintf(stderr, "convolve: %s\n", rynd_last_error());
        rynd_context_destroy(context);
        return 1;
    }
    rynd_context_destroy(context);
    float largest = 0;
    for (int i = 0; i < CHANNELS * HEIGHT * WIDTH; i++) {
        int c = i / (HEIGHT * WIDTH), y = i / WIDTH % HEIGHT, x = i % WIDTH;
        largest = fmaxf(largest, fabsf(planes_out[c][y][x] - interleaved_out[y][x][c]));
    }
    float mean = 0; /* mean of the window round pixel (1, 1), which needs no padding */
    for (int i = 0; i < 9; i++) {
        mean += planes[0][TOP + i / 3][LEFT + i % 3] / 9;
    }
    printf("mean at (1, 1): %g, directly: %g; largest difference of the layouts: %g\n",
           (double)planes_out[0][1][1], (double)mean, (double)largest);
    return largest < 1e-4f && fabsf(planes_out[0][1][1] - mean) < 1e-4f ? 0 : 1;
}
