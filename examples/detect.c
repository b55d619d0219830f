/* SPDX-License-Identifier: Apache-2.0 */
/* Finds objects in a photo: detect MODEL.onnx PHOTO.png FOUND.png
 *
 * The model is any detector whose head rynd knows (docs/tasks.md), with a fixed input of f32. */
#include <png.h>
#include <rynd/rynd.h>
#include <rynd/tasks.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100 };

static int failed(const char *what)
{
    fprintf(stderr, "detect: %s\n", what);
    return 1;
}

/* Pixels as [height, width, 3] of bytes; the caller frees them. */
static unsigned char *read_photo(const char *path, png_image *photo, rynd_tensor *pixels)
{
    *photo = (png_image){.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(photo, path)) {
        return NULL;
    }
    photo->format = PNG_FORMAT_RGB;
    unsigned char *bytes = malloc((size_t)3 * photo->width * photo->height);
    if (!bytes || !png_image_finish_read(photo, NULL, bytes, 0, NULL)) {
        png_image_free(photo);
        free(bytes);
        return NULL;
    }
    *pixels =
        rynd_tensor_of(bytes, RYND_DTYPE_U8, 3, (const int64_t[]){photo->height, photo->width, 3});
    return bytes;
}

/* Runs the model on a photo; boxes in the photo's pixels. */
static rynd_status find(rynd_model *model, const rynd_head *head, const rynd_tensor *photo,
                        const rynd_tensor *input, rynd_box *boxes, size_t *count)
{
    enum { OUTPUTS = 16 };
    const char *names[OUTPUTS];
    rynd_tensor outputs[OUTPUTS];
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    rynd_frame frame;
    const size_t all = rynd_model_output_count(model), used = all < OUTPUTS ? all : OUTPUTS;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .inputs = input);
    const rynd_detection detection = RYND_SIZED(
        rynd_detection, .head = head->name, .names = names, .outputs = outputs,
        .output_count = used, .height = input->dim[2], .width = input->dim[3], .frame = &frame);
    rynd_status status = rynd_picture_prepare(NULL, photo, &head->preparation, input, 0, &frame);
    status = status == RYND_OK ? rynd_plan_create(model, &options, &plan) : status;
    status = status == RYND_OK ? rynd_session_create(plan, &session) : status;
    status = status == RYND_OK ? rynd_session_bind_input(session, 0, input) : status;
    status = status == RYND_OK ? rynd_session_run(session) : status;
    for (size_t i = 0; status == RYND_OK && i < used; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        status = rynd_model_get_output(model, i, &info);
        names[i] = info.name;
        status = status == RYND_OK ? rynd_session_get_output(session, i, &outputs[i]) : status;
    }
    status = status == RYND_OK ? rynd_detect(NULL, &detection, boxes, count) : status;
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    return status;
}

static int detect(rynd_model *model, const rynd_tensor *photo)
{
    static rynd_box boxes[MOST];
    size_t count = MOST, label_count = 0;
    const char *const *labels = NULL;
    rynd_head head = RYND_SIZED(rynd_head);
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    if (rynd_model_get_head(model, NULL, &head) != RYND_OK ||
        rynd_model_get_input(model, 0, &info) != RYND_OK) {
        return failed(rynd_last_error());
    }
    if (info.dtype != RYND_DTYPE_F32 || info.rank != 4 || info.dim[1] != 3 || info.dim[2] < 1 ||
        info.dim[3] < 1) {
        return failed("the model's input is not [N, 3, height, width] of f32");
    }
    const int64_t dim[] = {1, 3, info.dim[2], info.dim[3]};
    float *values = malloc((size_t)(3 * dim[2] * dim[3]) * sizeof *values);
    const rynd_tensor input = rynd_tensor_of(values, RYND_DTYPE_F32, 4, dim);
    if (!values) {
        return failed("out of memory");
    }
    if (head.labels) {
        rynd_labels_get(head.labels, &labels, &label_count);
    }
    rynd_status status = find(model, &head, photo, &input, boxes, &count);
    free(values);
    for (size_t i = 0; status == RYND_OK && i < count; i++) {
        const rynd_box *box = &boxes[i];
        const int named = labels && box->label >= 0 && (size_t)box->label < label_count;
        printf("%s %.2f: %.0f %.0f %.0f %.0f\n", named ? labels[box->label] : "class",
               (double)box->score, (double)box->left, (double)box->top, (double)box->right,
               (double)box->bottom);
    }
    status = status == RYND_OK ? rynd_draw_boxes(photo, boxes, count, labels, label_count) : status;
    return status == RYND_OK ? 0 : failed(rynd_last_error());
}

int main(int argc, char **argv)
{
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_tensor photo;
    png_image file;
    if (argc != 4) {
        return failed("usage: detect MODEL.onnx PHOTO.png FOUND.png");
    }
    unsigned char *pixels = read_photo(argv[2], &file, &photo);
    if (!pixels) {
        return failed(file.message);
    }
    int code = 1;
    if (rynd_context_create(NULL, &context) != RYND_OK ||
        rynd_model_load(context, argv[1], &model) != RYND_OK) {
        failed(rynd_last_error());
    } else {
        code = detect(model, &photo);
    }
    if (code == 0 && !png_image_write_to_file(&file, argv[3], 0, pixels, 0, NULL)) {
        code = failed(file.message);
    }
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    free(pixels);
    return code;
}
