/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a photo larger: upscale MODEL.onnx SMALL.png LARGE.png
 *
 * The model takes [1, 3, height, width] of any height and width, and gives the same in another
 * size; values are 0 to 1. The plan is made for the photo's size. */
#include <png.h>
#include <rynd/rynd.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what)
{
    fprintf(stderr, "upscale: %s\n", what);
    return 1;
}

/* Reads a photo as [1, 3, height, width]; the caller frees input->data. */
static int read_photo(const char *path, rynd_tensor *input)
{
    png_image photo = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&photo, path)) {
        return failed(photo.message);
    }
    photo.format = PNG_FORMAT_RGB;
    size_t plane = (size_t)photo.width * photo.height;
    unsigned char *pixels = malloc(3 * plane);
    float *values = malloc(3 * plane * sizeof *values);
    if (!pixels || !values || !png_image_finish_read(&photo, NULL, pixels, 0, NULL)) {
        png_image_free(&photo);
        free(pixels);
        free(values);
        return failed(photo.message);
    }
    for (size_t i = 0; i < 3 * plane; i++) {
        values[i % 3 * plane + i / 3] = (float)pixels[i] / 255.0f;
    }
    free(pixels);
    *input = rynd_tensor_of(values, RYND_DTYPE_F32, 4,
                            (const int64_t[]){1, 3, photo.height, photo.width});
    return 0;
}

static int write_photo(const char *path, const rynd_tensor *output)
{
    png_image photo = {.version = PNG_IMAGE_VERSION,
                       .height = (png_uint_32)output->dim[2],
                       .width = (png_uint_32)output->dim[3]};
    photo.format = PNG_FORMAT_RGB;
    size_t plane = (size_t)photo.width * photo.height;
    unsigned char *pixels = malloc(3 * plane);
    const float *values = output->data;
    for (size_t i = 0; pixels && i < 3 * plane; i++) {
        float value = 255.0f * values[i % 3 * plane + i / 3] + 0.5f;
        pixels[i] = (unsigned char)(value > 0 ? (value < 255 ? value : 255) : 0);
    }
    int written = pixels && png_image_write_to_file(&photo, path, 0, pixels, 0, NULL);
    free(pixels);
    return written ? 0 : failed(photo.message);
}

int main(int argc, char **argv)
{
    rynd_tensor input = {0}, output = {0};
    if (argc != 4) {
        return failed("usage: upscale MODEL.onnx SMALL.png LARGE.png");
    }
    if (read_photo(argv[2], &input) != 0) {
        return 1;
    }
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    rynd_plan_options options = RYND_SIZED(rynd_plan_options, .inputs = &input);
    int code = 1;
    if (rynd_context_create(NULL, &context) != RYND_OK ||
        rynd_model_load(context, argv[1], &model) != RYND_OK) {
        failed(rynd_last_error());
    } else if (rynd_model_input_count(model) != 1) {
        failed("the model has more than one input");
    } else if (rynd_plan_create(model, &options, &plan) != RYND_OK ||
               rynd_session_create(plan, &session) != RYND_OK ||
               rynd_model_get_input(model, 0, &info) != RYND_OK ||
               rynd_session_bind(session, info.name, &input) != RYND_OK ||
               rynd_session_run(session) != RYND_OK ||
               rynd_session_get_output(session, 0, &output) != RYND_OK) {
        failed(rynd_last_error());
    } else if (output.dtype != RYND_DTYPE_F32 || output.rank != 4 || output.dim[0] != 1 ||
               output.dim[1] != 3) {
        failed("the model's output is not [1, 3, height, width] of f32");
    } else {
        code = write_photo(argv[3], &output);
    }
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    free(input.data);
    return code;
}
