/* SPDX-License-Identifier: Apache-2.0 */
/* THE list of detection heads. The first row that fits a model is its head, so rows that ask for
 * more come first. */
#include "tasks/codings.h"
#include "tasks/head.h"

/* Anchors, width and height, by the configuration files of darknet and YOLOv5. */
static const float v3_anchors[9][2] = {{10, 13},  {16, 30},  {33, 23},   {30, 61},  {62, 45},
                                       {59, 119}, {116, 90}, {156, 198}, {373, 326}};
static const float v4_anchors[9][2] = {{12, 16},  {19, 36},   {40, 28},   {36, 75},  {76, 55},
                                       {72, 146}, {142, 110}, {192, 243}, {459, 401}};
static const float tiny_anchors[6][2] = {{10, 14}, {23, 27},   {37, 58},
                                         {81, 82}, {135, 169}, {344, 319}};
static const float v2_tiny_anchors[5][2] = {{34.56f, 38.08f},
                                            {109.44f, 141.12f},
                                            {212.16f, 364.16f},
                                            {301.44f, 163.52f},
                                            {531.84f, 336.64f}};
/* RetinaFace: two squares a cell. */
static const float retina_anchors[6][2] = {{16, 16},   {32, 32},   {64, 64},
                                           {128, 128}, {256, 256}, {512, 512}};
/* SSD300: sides s and sqrt(s s'), then s * sqrt(r) by s / sqrt(r) for the ratios r = 2, 1/2 (and 3,
 * 1/3), with s = 30, 60, 111, 162, 213, 264, 315 (Liu et al. 2016, as in ssd.pytorch's voc). */
static const float ssd_anchors[30][2] = {
    {30, 30},
    {42.4264f, 42.4264f},
    {42.4264f, 21.2132f},
    {21.2132f, 42.4264f},
    {60, 60},
    {81.6088f, 81.6088f},
    {84.8528f, 42.4264f},
    {42.4264f, 84.8528f},
    {103.923f, 34.641f},
    {34.641f, 103.923f},
    {111, 111},
    {134.097f, 134.097f},
    {156.978f, 78.4889f},
    {78.4889f, 156.978f},
    {192.258f, 64.0859f},
    {64.0859f, 192.258f},
    {162, 162},
    {185.758f, 185.758f},
    {229.103f, 114.551f},
    {114.551f, 229.103f},
    {280.592f, 93.5307f},
    {93.5307f, 280.592f},
    {213, 213},
    {237.133f, 237.133f},
    {301.227f, 150.614f},
    {150.614f, 301.227f},
    {264, 264},
    {288.375f, 288.375f},
    {373.352f, 186.676f},
    {186.676f, 373.352f},
};

/* clang-format off */
#define PLAIN_8_16_32   {{8, 1, NULL, 0}, {16, 1, NULL, 0}, {32, 1, NULL, 0}}
#define PLAIN_8_TO_64   {{8, 1, NULL, 0}, {16, 1, NULL, 0}, {32, 1, NULL, 0}, {64, 1, NULL, 0}}
#define THREE_8_16_32   {{8, 3, NULL, 0}, {16, 3, NULL, 0}, {32, 3, NULL, 0}}
#define THREE_8_TO_64   {{8, 3, NULL, 0}, {16, 3, NULL, 0}, {32, 3, NULL, 0}, {64, 3, NULL, 0}}
#define V3_LEVELS       {{8, 3, v3_anchors, 0}, {16, 3, v3_anchors + 3, 0}, {32, 3, v3_anchors + 6, 0}}
#define V4_LEVELS       {{8, 3, v4_anchors, 1.2f}, {16, 3, v4_anchors + 3, 1.1f}, {32, 3, v4_anchors + 6, 1.05f}}
#define TINY_LEVELS     {{16, 3, tiny_anchors, 0}, {32, 3, tiny_anchors + 3, 0}}
#define RETINA_LEVELS   {{8, 2, retina_anchors, 0}, {16, 2, retina_anchors + 2, 0}, {32, 2, retina_anchors + 4, 0}}
#define SSD300_LEVELS   {{8, 4, ssd_anchors, 0}, {16, 6, ssd_anchors + 4, 0}, {32, 6, ssd_anchors + 10, 0}, \
                         {64, 6, ssd_anchors + 16, 0}, {100, 4, ssd_anchors + 22, 0}, {300, 4, ssd_anchors + 26, 0}}

/* Preparations. */
#define ULTRALYTICS {.fit = RYND_FIT_LETTERBOX, .fill = 114, .no_antialias = 1, .scale = 1.0 / 255}
#define DARKNET     {.fit = RYND_FIT_LETTERBOX, .fill = 128, .no_antialias = 1, .scale = 1.0 / 255}
#define MEGVII      {.fit = RYND_FIT_CORNER, .fill = 114, .no_antialias = 1, .bgr = 1, .scale = 1}
#define UNIT        {.fit = RYND_FIT_STRETCH, .scale = 1.0 / 255}
#define IMAGENET    {.fit = RYND_FIT_STRETCH, .scale = 1.0 / 255, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}}
#define SIGNED      {.fit = RYND_FIT_STRETCH, .no_antialias = 1, .scale = 1, .mean = {127, 127, 127}, .deviation = {128, 128, 128}}
#define CAFFE       {.fit = RYND_FIT_STRETCH, .no_antialias = 1, .bgr = 1, .scale = 1, .mean = {104, 117, 123}}
#define BYTES_BGR   {.fit = RYND_FIT_STRETCH, .no_antialias = 1, .bgr = 1, .scale = 1.0 / 255}
#define BYTES       {.fit = RYND_FIT_STRETCH, .scale = 1}
#define FACES_BGR   {.fit = RYND_FIT_CORNER, .no_antialias = 1, .bgr = 1, .scale = 1}
#define NANODET     {.fit = RYND_FIT_STRETCH, .no_antialias = 1, .bgr = 1, .scale = 1, \
                     .mean = {103.53, 116.28, 123.675}, .deviation = {57.375, 57.12, 58.395}}
#define NO_BACKGROUND .background = RY_HEAD_NONE

const ry_head ry_heads[] = {
    /* By names. */
    {"yunet", "YuNet faces: cls_S [N,A,1], obj_S [N,A,1], bbox_S [N,A,4], kps_S [N,A,10] for the strides S 8, 16, 32",
     {{"cls_%", "nac", "c1"}, {"obj_%", "nac", "o1"}, {"bbox_%", "nac", "b4"}, {"kps_%", "nac", "k10"}},
     PLAIN_8_16_32, .split = true, .coding = ry_coding_grid, .power = 0.5, .class_power = 0.5, NO_BACKGROUND,
     .preparation = FACES_BGR, .score = 0.6, .overlap = 0.3, .labels = "face"},
    {"nanodet", "NanoDet: cls_pred_stride_S [N,A,C], dis_pred_stride_S [N,A,32] for the strides S 8, 16, 32",
     {{"cls_pred_stride_%", "nac", "c*"}, {"dis_pred_stride_%", "nac", "d32"}},
     PLAIN_8_16_32, .split = true, .coding = ry_coding_distance, .centre = 0.5, NO_BACKGROUND,
     .preparation = NANODET, .score = 0.35, .overlap = 0.6},
    {"tensorflow", "TensorFlow's detectors with suppression: detection_boxes [N,A,4], detection_scores [N,A], detection_classes [N,A]",
     {{"detection_boxes*", "nac", "b4"}, {"detection_scores*", "na", "s1"}, {"detection_classes*", "na", "l1"}},
     .rest = true, .coding = ry_coding_rows, .fraction = true, .first_label = 1, NO_BACKGROUND,
     .preparation = BYTES, .score = 0.4},
    {"suppressed", "detectors with suppression (EfficientNMS): boxes [N,A,4], scores [N,A], classes [N,A]",
     {{"det_boxes|boxes", "nac", "b4"}, {"det_scores|scores", "na", "s1"}, {"det_classes|classes", "na", "l1"}},
     .rest = true, .coding = ry_coding_corners, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25},
    {"ssd-suppressed", "SSD with suppression, of the ONNX model zoo: bboxes [N,A,4], labels [N,A], scores [N,A]",
     {{"bboxes", "nac", "b4"}, {"scores", "na", "s1"}, {"labels", "na", "l1"}},
     .coding = ry_coding_corners, .fraction = true, .first_label = 1, NO_BACKGROUND, .preparation = IMAGENET, .score = 0.4},
    {"torchvision", "torchvision's detectors: boxes [A,4], labels [A], scores [A]",
     {{"boxes", "ac", "b4"}, {"scores", "a", "s1"}, {"labels", "a", "l1"}},
     .rest = true, .coding = ry_coding_corners, NO_BACKGROUND, .preparation = UNIT, .score = 0.5},
    {"ultraface", "UltraFace: scores [N,A,2] with class 0 the background, boxes [N,A,4] as corners in fractions",
     {{"scores", "nac", "c2"}, {"boxes", "nac", "b4"}},
     .coding = ry_coding_corners, .fraction = true, .background = 0, .preparation = SIGNED, .score = 0.7, .overlap = 0.3, .labels = "face"},
    {"pytorch-ssd", "pytorch-ssd: scores [N,A,C] with class 0 the background, boxes [N,A,4] as corners in fractions",
     {{"scores", "nac", "c*"}, {"boxes", "nac", "b4"}},
     .coding = ry_coding_corners, .fraction = true, .background = 0, .preparation = SIGNED, .score = 0.4, .overlap = 0.45},
    {"yolov4-pytorch", "pytorch-YOLOv4: boxes [N,A,1,4] as corners in fractions, confs [N,A,C]",
     {{"boxes", "naxc", "b4"}, {"confs", "nac", "c*"}},
     .coding = ry_coding_corners, .fraction = true, NO_BACKGROUND, .preparation = UNIT, .score = 0.4, .overlap = 0.6},
    {"detr", "DETR: logits [N,100,C+1] with the last class no object, pred_boxes [N,100,4]",
     {{"logits|pred_logits", "nac", "c*"}, {"pred_boxes|boxes", "nac", "b4"}}, .candidates = 100,
     .rest = true, .queries = true, .coding = ry_coding_centre, .fraction = true, .softmax = true, .background = RY_HEAD_LAST,
     .preparation = IMAGENET, .score = 0.7},
    {"rf-detr", "RF-DETR: labels [N,A,C] as logits, dets [N,A,4]",
     {{"labels", "nac", "c*"}, {"dets", "nac", "b4"}},
     .queries = true, .coding = ry_coding_centre, .fraction = true, .sigmoid = true, NO_BACKGROUND, .preparation = IMAGENET, .score = 0.5},
    {"rt-detr", "RT-DETR, Deformable DETR, D-FINE: logits [N,A,C], pred_boxes [N,A,4]",
     {{"logits|pred_logits", "nac", "c*"}, {"pred_boxes|boxes", "nac", "b4"}},
     .rest = true, .queries = true, .coding = ry_coding_centre, .fraction = true, .sigmoid = true, NO_BACKGROUND,
     .preparation = UNIT, .score = 0.5},
    {"yolov6", "YOLO v6: outputs [N,A,5+C], one box a cell, in pixels",
     {{"outputs", "nac", "b4 o1 c*"}}, PLAIN_8_16_32,
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.45},

    /* By shapes. */
    {"yolox", "YOLOX: [N,A,5+C], one box a cell, as offsets and logarithms",
     {{NULL, "nac", "b4 o1 c*"}}, PLAIN_8_16_32,
     .coding = ry_coding_grid, NO_BACKGROUND, .preparation = MEGVII, .score = 0.3, .overlap = 0.45},
    {"nanodet-plus", "NanoDet-Plus: [N,A,C+32], classes and distributions of distances, strides 8 to 64",
     {{NULL, "nac", "c* d32"}}, PLAIN_8_TO_64,
     .coding = ry_coding_distance, NO_BACKGROUND, .preparation = NANODET, .score = 0.35, .overlap = 0.6},
    {"yolov5", "YOLO v5 and v7: [N,A,5+C], three boxes a cell, in pixels",
     {{NULL, "nac", "b4 o1 c*"}}, THREE_8_16_32, .rest = true,
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.45},
    {"yolov5-p6", "YOLO v5 and v7 with strides to 64: [N,A,5+C], three boxes a cell, in pixels",
     {{NULL, "nac", "b4 o1 c*"}}, THREE_8_TO_64, .rest = true,
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.45},
    {"yolov8-pose", "YOLO v8 and v11, poses: [N,56,A]",
     {{NULL, "nca", "b4 c1 K51"}},
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.7},
    {"yolov8-seg", "YOLO v8 and v11, masks (their boxes are used): [N,4+C+32,A], [N,32,H,W]",
     {{NULL, "nca", "b4 c* m32"}, {NULL, "nchw", "m32"}}, PLAIN_8_16_32,
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.7},
    {"yolov8", "YOLO v8, v9, v11, v12: [N,4+C,A], one box a cell, in pixels",
     {{NULL, "nca", "b4 c*"}}, PLAIN_8_16_32,
     .coding = ry_coding_centre, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.7},
    {"yolo-end", "YOLO v10 and others with suppression inside: [N,A,6], corners, score, class",
     {{NULL, "nac", "b4 s1 l1"}},
     .coding = ry_coding_corners, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25},
    {"yolo-end-pose", "YOLO poses with suppression inside: [N,A,57]",
     {{NULL, "nac", "b4 s1 l1 K51"}},
     .coding = ry_coding_corners, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25},
    {"yolov7-end", "YOLO v7 with suppression inside: [A,7], picture, corners, class, score",
     {{NULL, "ac", "i1 b4 l1 s1"}},
     .coding = ry_coding_corners, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25},
    {"rt-detr-ultralytics", "RT-DETR by Ultralytics: [N,300,4+C], centres in fractions",
     {{NULL, "nac", "b4 c*"}}, .candidates = 300,
     .queries = true, .coding = ry_coding_centre, .fraction = true, NO_BACKGROUND, .preparation = UNIT, .score = 0.25},
    {"retinaface", "RetinaFace: [N,A,4], [N,A,2], [N,A,10], priors of two squares a cell",
     {{NULL, "nac", "b4"}, {NULL, "nac", "c2"}, {NULL, "nac", "k10"}}, RETINA_LEVELS,
     .coding = ry_coding_prior, .background = 0, .centre = 0.5, .preparation = CAFFE, .score = 0.6, .overlap = 0.4, .labels = "face"},
    {"ssd300", "SSD with the priors of SSD300: [N,8732,4], [N,8732,C] as logits with class 0 the background",
     {{NULL, "nac", "b4"}, {NULL, "nac", "c*"}}, SSD300_LEVELS, .candidates = 8732,
     .coding = ry_coding_prior, .softmax = true, .background = 0, .centre = 0.5, .preparation = CAFFE, .score = 0.4, .overlap = 0.45},
    {"ssd", "SSD with its priors as an output: [N,A,4], [N,A,C] as logits with class 0 the background, [A,4]",
     {{NULL, "nac", "b4"}, {NULL, "nac", "c*"}, {NULL, "ac", "p4"}},
     .coding = ry_coding_prior, .softmax = true, .background = 0, .preparation = CAFFE, .score = 0.4, .overlap = 0.45},
    {"yolo-nas", "YOLO-NAS: [N,A,4] as corners in pixels, [N,A,C]",
     {{NULL, "nac", "b4"}, {NULL, "nac", "c*"}}, PLAIN_8_16_32,
     .coding = ry_coding_corners, NO_BACKGROUND, .preparation = UNIT, .score = 0.25, .overlap = 0.7},
    {"yolov5-maps", "YOLO v5 and v7 before decoding: three outputs [N,3,H,W,5+C]",
     {{NULL, "nkhwc", "b4 o1 c*"}}, V3_LEVELS, .split = true,
     .coding = ry_coding_square, .sigmoid = true, NO_BACKGROUND, .preparation = ULTRALYTICS, .score = 0.25, .overlap = 0.45},
    {"yolov4", "YOLO v4 before decoding: three outputs [N,H,W,3,5+C]",
     {{NULL, "nhwkc", "b4 o1 c*"}}, V4_LEVELS, .split = true,
     .coding = ry_coding_anchor, .sigmoid = true, NO_BACKGROUND, .preparation = DARKNET, .score = 0.25, .overlap = 0.45},
    {"yolov3", "YOLO v3 before decoding: three outputs [N,3*(5+C),H,W]",
     {{NULL, "nChw", "b4 o1 c*"}}, V3_LEVELS, .split = true,
     .coding = ry_coding_anchor, .sigmoid = true, NO_BACKGROUND, .preparation = DARKNET, .score = 0.25, .overlap = 0.45},
    {"yolov4-maps", "YOLO v4 before decoding, in the shapes of YOLO v3: three outputs [N,3*(5+C),H,W]; only by name",
     {{NULL, "nChw", "b4 o1 c*"}}, V4_LEVELS, .split = true, .by_name = true,
     .coding = ry_coding_anchor, .sigmoid = true, NO_BACKGROUND, .preparation = DARKNET, .score = 0.25, .overlap = 0.45},
    {"yolov3-tiny", "YOLO v3 tiny before decoding: two outputs [N,3*(5+C),H,W], strides 16 and 32",
     {{NULL, "nChw", "b4 o1 c*"}}, TINY_LEVELS, .split = true,
     .coding = ry_coding_anchor, .sigmoid = true, NO_BACKGROUND, .preparation = DARKNET, .score = 0.25, .overlap = 0.45},
    {"yolov2-tiny", "YOLO v2 tiny: [N,125,H,W], five anchors a cell, stride 32",
     {{NULL, "nChw", "b4 o1 c20"}}, {{32, 5, v2_tiny_anchors, 0}}, .split = true,
     .coding = ry_coding_anchor, .sigmoid = true, .softmax = true, NO_BACKGROUND, .preparation = BYTES, .score = 0.3, .overlap = 0.45},
    {"fastestdet", "FastestDet: [N,5+C,H,W], one box a cell, stride 16",
     {{NULL, "nChw", "o1 b4 c*"}}, {{16, 1, NULL, 0}}, .split = true,
     .coding = ry_coding_tanh, .power = 0.6, .class_power = 0.4, NO_BACKGROUND, .preparation = BYTES_BGR, .score = 0.5, .overlap = 0.45},
};
/* clang-format on */

const size_t ry_head_count = sizeof ry_heads / sizeof *ry_heads;
