/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a photo shows: classify MODEL.onnx PHOTO.png [LABELS.txt]
 *
 * The photo is scaled to the model's input by taking the nearest pixel, and normalised as
 * ImageNet's classifiers expect. */
#include <png.h>
#include <rynd/rynd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what)
{
    fprintf(stderr, "classify: %s\n", what);
    return 1;
}

/* Fills a [1, 3, height, width] tensor of floats. */
static int read_photo(const char *path, const rynd_tensor *input)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
    png_image photo = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&photo, path)) {
        return failed(photo.message);
    }
    photo.format = PNG_FORMAT_RGB;
    unsigned char *pixels = malloc(PNG_IMAGE_SIZE(photo));
    if (!pixels || !png_image_finish_read(&photo, NULL, pixels, 0, NULL)) {
        png_image_free(&photo);
        free(pixels);
        return failed(photo.message);
    }
    float *value = input->data;
    for (int64_t c = 0; c < 3; c++) {
        for (int64_t y = 0; y < input->dim[2]; y++) {
            for (int64_t x = 0; x < input->dim[3]; x++) {
                int64_t from = y * photo.height / input->dim[2] * photo.width +
                               x * photo.width / input->dim[3];
                *value++ = ((float)pixels[3 * from + c] / 255.0f - mean[c]) / deviation[c];
            }
        }
    }
    free(pixels);
    return 0;
}

/* The text of line `index` of a file, or "". */
static const char *label_of(const char *path, int64_t index, char *line, int size)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    int64_t at = 0;
    while (file && fgets(line, size, file) && at++ < index) {
    }
    if (file) {
        fclose(file);
    }
    line[at > index ? strcspn(line, "\n") : 0] = 0;
    return line;
}

static int classify(rynd_session *session, const rynd_value_info *info, rynd_tensor *input,
                    const char *photo, const char *labels)
{
    rynd_tensor output;
    if (read_photo(photo, input) != 0) {
        return 1;
    }
    if (rynd_session_bind(session, info->name, input) != RYND_OK ||
        rynd_session_run(session) != RYND_OK ||
        rynd_session_get_output(session, 0, &output) != RYND_OK) {
        return failed(rynd_last_error());
    }
    const float *scores = output.data;
    int64_t best = 0;
    for (int64_t i = 1; i < rynd_tensor_elements(&output); i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    char line[256];
    printf("%lld %s\n", (long long)best, label_of(labels, best, line, sizeof line));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        return failed("usage: classify MODEL.onnx PHOTO.png [LABELS.txt]");
    }
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    rynd_tensor input = {0};
    rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    int code = 1;
    if (rynd_context_create(NULL, &context) != RYND_OK ||
        rynd_model_load(context, argv[1], &model) != RYND_OK ||
        rynd_plan_create(model, &options, &plan) != RYND_OK ||
        rynd_session_create(plan, &session) != RYND_OK ||
        rynd_model_get_input(model, 0, &info) != RYND_OK ||
        rynd_plan_get_input(plan, 0, &input) != RYND_OK) {
        failed(rynd_last_error());
    } else if (input.dtype != RYND_DTYPE_F32 || input.rank != 4 || input.dim[0] != 1 ||
               input.dim[1] != 3) {
        failed("the model's input is not [1, 3, height, width] of f32");
    } else {
        input.data = malloc((size_t)rynd_tensor_elements(&input) * sizeof(float));
        code = input.data ? classify(session, &info, &input, argv[2], argc == 4 ? argv[3] : NULL)
                          : failed("out of memory");
    }
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    free(input.data);
    return code;
}
