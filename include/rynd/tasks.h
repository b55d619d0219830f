/* SPDX-License-Identifier: Apache-2.0 */
/** @file tasks.h
 *  @brief Experimental (see <rynd/rynd.h>): from a picture to boxes, masks and classes.
 *
 *      rynd_model_get_head(model, NULL, &head);               how the model codes its boxes
 *      rynd_picture_prepare(context, &photo, &head.preparation, &input, 0, &frame);
 *      rynd_session_run(session);
 *      rynd_detect(context, &detection, boxes, &count);       boxes in the photo's pixels
 *      rynd_draw_boxes(&photo, boxes, count, labels, label_count);
 *
 * A picture is a tensor [height, width, 3] of red, green and blue, or [height, width, 1] of grey,
 * with values from 0 to 255, any dtype and any strides. docs/tasks.md lists the heads.
 *
 * Any thread may call these functions, as long as no other one writes the same tensors. Memory comes
 * from the allocator of `context`, and is freed before the call returns; context NULL: from the
 * system. */
#ifndef RYND_TASKS_H
#define RYND_TASKS_H

#include <rynd/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a picture gets the size of a network's input. */
typedef enum rynd_fit {
    RYND_FIT_STRETCH = 0, /**< resize both sides, whatever the proportions */
    RYND_FIT_LETTERBOX,   /**< keep the proportions; fill the rest around the picture */
    RYND_FIT_CORNER,      /**< keep the proportions; fill the rest to the right and below */
    RYND_FIT_CROP,        /**< resize, then cut the middle out */
} rynd_fit;

/** How a picture becomes an input: (pixel * scale - mean) / deviation. */
typedef struct rynd_preparation {
    size_t size;
    rynd_fit fit;
    double share;        /**< CROP: part of the shorter side that is kept; 0: 1 */
    double fill;         /**< value of the pixels around the picture, 0 to 255 */
    int bgr;             /**< 1: channels are blue, green, red */
    int no_antialias;    /**< 1: bilinear between four pixels also when a picture becomes smaller */
    double scale;        /**< 0: 1 */
    double mean[3];      /**< a number for each channel, in the input's order */
    double deviation[3]; /**< 0: 1 */
} rynd_preparation;

/** Where a picture lies in a network's input: input = picture * scale + offset, in pixels. */
typedef struct rynd_frame {
    double scale_y, scale_x, offset_y, offset_x;
    int64_t height, width; /**< size of the picture */
} rynd_frame;

/** Resizes a picture: bilinear, with a wider filter when it becomes smaller (antialias 1), as
 * Pillow's BILINEAR; or between four pixels (0), as OpenCV's INTER_LINEAR. `to` has the new height
 * and width and the channels of `from`. Fails with SHAPE, ARGUMENT, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_picture_resize(rynd_context *context, const rynd_tensor *from,
                                         const rynd_tensor *to, int antialias);

/** Fills picture `index` of a network's input [N, C, H, W] or [N, H, W, C], where C is 1 or 3: fits
 * the size, changes grey to colour or colour to grey (the luma of ITU-R BT.601), and the values.
 * preparation NULL: stretch only. `frame` may be NULL. Fails with SHAPE, ARGUMENT,
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_picture_prepare(rynd_context *context, const rynd_tensor *picture,
                                          const rynd_preparation *preparation,
                                          const rynd_tensor *input, int64_t index,
                                          rynd_frame *frame);

/** A way in which detectors code boxes in their outputs. */
typedef struct rynd_head {
    size_t size;
    const char *name;   /**< "yolov8" */
    const char *about;  /**< the networks, and the shapes of their outputs */
    int64_t classes;    /**< number of classes; 0: the outputs do not tell */
    const char *labels; /**< name of the likely set of labels (rynd_labels_get); NULL: none */
    rynd_preparation preparation;
    double score; /**< the least score of a box, by default */
    double
        overlap; /**< the most overlap of two boxes of one class, by default; 0: all boxes stay */
} rynd_head;

/** Number of known heads. */
RYND_API size_t rynd_head_count(void);

/** Describes a head by its index. */
RYND_API rynd_status rynd_head_get(size_t index, rynd_head *head);

/** Finds the head of a model, by the names and shapes of its outputs. name: of a head, which the
 * model's outputs must fit; NULL: the first one that fits. Fails with ARGUMENT (no head has this
 * name) and UNSUPPORTED (no head fits; the message lists the outputs). */
RYND_API rynd_status rynd_model_get_head(const rynd_model *model, const char *name,
                                         rynd_head *head);

/** The most keypoints of a box. */
#define RYND_MAX_KEYPOINTS 17

/** A detected object, in the photo's pixels: (0, 0) is the corner of the first pixel. */
typedef struct rynd_box {
    float left, top, right, bottom;
    float score;
    int64_t label; /**< class index from 0 */
    int64_t keypoint_count;
    float keypoints[RYND_MAX_KEYPOINTS][2]; /**< x, y */
} rynd_box;

/** What boxes are made from. Zeros are defaults. */
typedef struct rynd_detection {
    size_t size;
    const char *head;           /**< name of the head; NULL: found by names and shapes */
    const char *const *names;   /**< names of the outputs */
    const rynd_tensor *outputs; /**< all outputs of the model, of numbers */
    size_t output_count;
    int64_t height, width;   /**< size of the network's input in pixels */
    int64_t index;           /**< the picture in the batch, from 0 */
    const rynd_frame *frame; /**< from rynd_picture_prepare; NULL: boxes in the input's pixels */
    double score;            /**< least score, above 0; 0: the head's */
    double overlap;          /**< most intersection over union within a class; 0: the head's */
} rynd_detection;

/** Decodes boxes, best score first. Of boxes of one class that overlap, the best stays. `count` is
 * the room in `boxes` before, and the number of boxes after the call; further boxes are left out.
 * Boxes are clipped to the photo.
 *
 * Fails with UNSUPPORTED (no head fits), SHAPE (an output has another size than the input's size
 * gives), ARGUMENT, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_detect(rynd_context *context, const rynd_detection *detection,
                                 rynd_box *boxes, size_t *count);

/** Finds the class of each pixel of a photo. `output`: scores [N, C, H, W], [N, H, W, C] (C is the
 * smaller one), or without N; with C = 1 a probability or a logit of class 1; or classes of
 * integers, [N, H, W] or [H, W]. `classes` [height, width] has the photo's size. Scores are
 * interpolated between the output's pixels. `frame`: from rynd_picture_prepare for an input of
 * `input_height` x `input_width`. Fails with SHAPE, ARGUMENT, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_segment(rynd_context *context, const rynd_tensor *output, int64_t index,
                                  const rynd_frame *frame, int64_t input_height,
                                  int64_t input_width, const rynd_tensor *classes);

/** A class of a picture. */
typedef struct rynd_class {
    int64_t label; /**< class index from 0 */
    float score;   /**< probability */
} rynd_class;

/** Sorts the classes of picture `index`, best first. `output` [N, C], [N, C, 1, 1] or [C]:
 * probabilities, or logits, which get a softmax. `count`: room before, number after the call. Fails
 * with SHAPE, ARGUMENT, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_classify(rynd_context *context, const rynd_tensor *output, int64_t index,
                                   rynd_class *classes, size_t *count);

/** Gives the names of the classes of a well-known data set: "coco" (80 classes of detection), "voc"
 * (21 of segmentation, the first one the background), "face". They are static. Fails with ARGUMENT:
 * no set has this name. */
RYND_API rynd_status rynd_labels_get(const char *name, const char *const **labels, size_t *count);

/** Draws boxes with their labels, scores and keypoints into a picture of colours. labels: names of
 * the classes; NULL, or beyond label_count: the class's number. */
RYND_API rynd_status rynd_draw_boxes(const rynd_tensor *picture, const rynd_box *boxes,
                                     size_t count, const char *const *labels, size_t label_count);

/** Colours a picture by the classes of its pixels. opacity: 0 to 1; class 0, the background, keeps
 * its colour. */
RYND_API rynd_status rynd_draw_classes(const rynd_tensor *picture, const rynd_tensor *classes,
                                       double opacity);

/** Red, green and blue of a class in drawings: red << 16 | green << 8 | blue. */
RYND_API uint32_t rynd_class_colour(int64_t label);

#ifdef __cplusplus
}
#endif
#endif
