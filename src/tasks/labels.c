/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the classes of well-known data sets. */
#include "tasks/labels.h"

#include <string.h>

/* Lin et al., "Microsoft COCO: Common objects in context", ECCV 2014: the 80 classes of detection. */
static const char *const coco[] = {
    "person",        "bicycle",      "car",
    "motorcycle",    "airplane",     "bus",
    "train",         "truck",        "boat",
    "traffic light", "fire hydrant", "stop sign",
    "parking meter", "bench",        "bird",
    "cat",           "dog",          "horse",
    "sheep",         "cow",          "elephant",
    "bear",          "zebra",        "giraffe",
    "backpack",      "umbrella",     "handbag",
    "tie",           "suitcase",     "frisbee",
    "skis",          "snowboard",    "sports ball",
    "kite",          "baseball bat", "baseball glove",
    "skateboard",    "surfboard",    "tennis racket",
    "bottle",        "wine glass",   "cup",
    "fork",          "knife",        "spoon",
    "bowl",          "banana",       "apple",
    "sandwich",      "orange",       "broccoli",
    "carrot",        "hot dog",      "pizza",
    "donut",         "cake",         "chair",
    "couch",         "potted plant", "bed",
    "dining table",  "toilet",       "tv",
    "laptop",        "mouse",        "remote",
    "keyboard",      "cell phone",   "microwave",
    "oven",          "toaster",      "sink",
    "refrigerator",  "book",         "clock",
    "vase",          "scissors",     "teddy bear",
    "hair drier",    "toothbrush",
};

/* Everingham et al., "The PASCAL visual object classes challenge", IJCV 2010, with the background
 * first. */
static const char *const voc[] = {
    "background", "aeroplane", "bicycle",      "bird",  "boat",         "bottle", "bus",
    "car",        "cat",       "chair",        "cow",   "dining table", "dog",    "horse",
    "motorbike",  "person",    "potted plant", "sheep", "sofa",         "train",  "tv monitor",
};

static const char *const face[] = {"face"};

#define ROW(labels)                                     \
    {                                                   \
#labels, labels, sizeof labels / sizeof *labels \
    }
static const struct {
    const char *name;
    const char *const *labels;
    size_t count;
} sets[] = {ROW(coco), ROW(voc), ROW(face)};

bool ry_labels_find(const char *name, const char *const **labels, size_t *count)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(sets[i].name, name) == 0) {
            *labels = sets[i].labels;
            *count = sets[i].count;
            return true;
        }
    }
    return false;
}
