/* SPDX-License-Identifier: Apache-2.0 */
/* Each function of rynd/tasks.h for Python. A preparation is a tuple (fit, share, fill, bgr,
 * no_antialias, scale, mean, deviation), a frame (scale_y, scale_x, offset_y, offset_x, height,
 * width), a box (left, top, right, bottom, score, label, keypoints). */
#include "tasks.h"

#include "errors.h"
#include "lend.h"

static PyObject *head_tuple(const rynd_head *head)
{
    const rynd_preparation *p = &head->preparation;
    return Py_BuildValue("(ssLz(iddiid(ddd)(ddd))dd)", head->name, head->about,
                         (long long)head->classes, head->labels, (int)p->fit, p->share, p->fill,
                         p->bgr, p->no_antialias, p->scale, p->mean[0], p->mean[1], p->mean[2],
                         p->deviation[0], p->deviation[1], p->deviation[2], head->score,
                         head->overlap);
}

bool py_append(PyObject *list, PyObject *item)
{
    const bool fine = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return fine;
}

PyObject *py_heads(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_head_count(); i++) {
        rynd_head head = RYND_SIZED(rynd_head);
        const rynd_status status = rynd_head_get(i, &head);
        if (!py_append(list, status == RYND_OK ? head_tuple(&head) : py_raise(status))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *py_model_head(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *model;
    const char *name;
    rynd_head head = RYND_SIZED(rynd_head);
    if (!PyArg_ParseTuple(args, "O!z", py_model_type, &model, &name)) {
        return NULL;
    }
    const rynd_status status = rynd_model_get_head(((model_object *)model)->model, name, &head);
    return status == RYND_OK ? head_tuple(&head) : py_raise(status);
}

PyObject *py_labels(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    const char *const *labels;
    size_t count;
    if (!PyArg_ParseTuple(args, "s", &name)) {
        return NULL;
    }
    const rynd_status status = rynd_labels_get(name, &labels, &count);
    PyObject *list = status == RYND_OK ? PyList_New(0) : py_raise(status);
    for (size_t i = 0; list && i < count; i++) {
        if (!py_append(list, PyUnicode_FromString(labels[i]))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyObject *py_prepare(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *picture, *input;
    long long index;
    int fit;
    rynd_preparation p = RYND_SIZED(rynd_preparation);
    rynd_frame frame;
    py_lent from, to;
    if (!PyArg_ParseTuple(args, "O(iddppd(ddd)(ddd))OL", &picture, &fit, &p.share, &p.fill, &p.bgr,
                          &p.no_antialias, &p.scale, &p.mean[0], &p.mean[1], &p.mean[2],
                          &p.deviation[0], &p.deviation[1], &p.deviation[2], &input, &index) ||
        !py_lend(picture, "the picture", false, &from)) {
        return NULL;
    }
    if (!py_lend(input, "the input", true, &to)) {
        py_give_back(&from);
        return NULL;
    }
    p.fit = (rynd_fit)fit;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_picture_prepare(NULL, &from.tensor, &p, &to.tensor, index, &frame);
    Py_END_ALLOW_THREADS
    py_give_back(&from);
    py_give_back(&to);
    return status == RYND_OK
               ? Py_BuildValue("(ddddLL)", frame.scale_y, frame.scale_x, frame.offset_y,
                               frame.offset_x, (long long)frame.height, (long long)frame.width)
               : py_raise(status);
}

static bool take_frame(PyObject *tuple, rynd_frame *frame)
{
    long long height, width;
    if (!PyArg_ParseTuple(tuple, "ddddLL", &frame->scale_y, &frame->scale_x, &frame->offset_y,
                          &frame->offset_x, &height, &width)) {
        return false;
    }
    frame->height = height;
    frame->width = width;
    return true;
}

static PyObject *box_tuple(const rynd_box *box)
{
    PyObject *points = PyList_New(0);
    for (int64_t i = 0; points && i < box->keypoint_count; i++) {
        if (!py_append(points, Py_BuildValue("(dd)", (double)box->keypoints[i][0],
                                             (double)box->keypoints[i][1]))) {
            Py_CLEAR(points);
        }
    }
    return points ? Py_BuildValue("(dddddLN)", (double)box->left, (double)box->top,
                                  (double)box->right, (double)box->bottom, (double)box->score,
                                  (long long)box->label, points)
                  : NULL;
}

/* The boxes of a detection whose outputs are lent. */
static PyObject *detect(const rynd_detection *detection)
{
    enum { MOST = 1000 };
    size_t count = MOST;
    rynd_status status;
    rynd_box *boxes = PyMem_Malloc(MOST * sizeof *boxes);
    if (!boxes) {
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    status = rynd_detect(NULL, detection, boxes, &count);
    Py_END_ALLOW_THREADS
    PyObject *list = status == RYND_OK ? PyList_New(0) : py_raise(status);
    for (size_t i = 0; list && i < count; i++) {
        if (!py_append(list, box_tuple(&boxes[i]))) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(boxes);
    return list;
}

/* Texts of a list of str, which keeps them alive. PyMem_Free the result; NULL: an exception. */
static const char **take_texts(PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (!texts[i]) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts ? texts : (const char **)PyErr_NoMemory();
}

/* Lends the arrays of a list while `detection` is used. */
static PyObject *detect_in(rynd_detection *detection, PyObject *names, PyObject *outputs)
{
    const Py_ssize_t count = PyList_Size(outputs);
    const char **texts = take_texts(names);
    py_lent *lent = PyMem_Calloc((size_t)count + 1, sizeof *lent);
    rynd_tensor *tensors = PyMem_Calloc((size_t)count + 1, sizeof *tensors);
    PyObject *result = NULL;
    Py_ssize_t held = 0;
    bool fine = texts && lent && tensors;
    if (!fine && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    for (; fine && held < count; held += fine) {
        fine = py_lend(PyList_GetItem(outputs, held), texts[held], false, &lent[held]);
        tensors[held] = fine ? lent[held].tensor : (rynd_tensor){.data = NULL};
    }
    if (fine) {
        detection->names = texts;
        detection->outputs = tensors;
        detection->output_count = (size_t)count;
        result = detect(detection);
    }
    for (Py_ssize_t i = 0; i < held; i++) {
        py_give_back(&lent[i]);
    }
    PyMem_Free(texts);
    PyMem_Free(lent);
    PyMem_Free(tensors);
    return result;
}

PyObject *py_detect(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *names, *outputs, *place;
    long long height, width, index;
    rynd_frame frame;
    rynd_detection detection = RYND_SIZED(rynd_detection, .frame = &frame);
    if (!PyArg_ParseTuple(args, "zO!O!LLLO!dd", &detection.head, &PyList_Type, &names, &PyList_Type,
                          &outputs, &height, &width, &index, &PyTuple_Type, &place,
                          &detection.score, &detection.overlap) ||
        !take_frame(place, &frame)) {
        return NULL;
    }
    if (PyList_Size(names) != PyList_Size(outputs)) {
        return py_fail_value("as many names as outputs are needed");
    }
    detection.height = height;
    detection.width = width;
    detection.index = index;
    return detect_in(&detection, names, outputs);
}

PyObject *py_segment(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *output, *place, *classes;
    long long index, height, width;
    rynd_frame frame;
    py_lent from, to;
    if (!PyArg_ParseTuple(args, "OLO!LLO", &output, &index, &PyTuple_Type, &place, &height, &width,
                          &classes) ||
        !take_frame(place, &frame) || !py_lend(output, "the output", false, &from)) {
        return NULL;
    }
    if (!py_lend(classes, "the classes", true, &to)) {
        py_give_back(&from);
        return NULL;
    }
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_segment(NULL, &from.tensor, index, &frame, height, width, &to.tensor);
    Py_END_ALLOW_THREADS
    py_give_back(&from);
    py_give_back(&to);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

PyObject *py_classify(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *output;
    long long index;
    Py_ssize_t top;
    py_lent from;
    if (!PyArg_ParseTuple(args, "OLn", &output, &index, &top) ||
        !py_lend(output, "the output", false, &from)) {
        return NULL;
    }
    size_t count = top > 0 ? (size_t)top : 0;
    rynd_class *classes = PyMem_Calloc(count + 1, sizeof *classes);
    PyObject *list = classes ? PyList_New(0) : PyErr_NoMemory();
    const rynd_status status =
        list ? rynd_classify(NULL, &from.tensor, index, classes, &count) : RYND_OK;
    py_give_back(&from);
    if (status != RYND_OK) {
        Py_CLEAR(list);
        py_raise(status);
    }
    for (size_t i = 0; list && i < count; i++) {
        if (!py_append(list, Py_BuildValue("(Ld)", (long long)classes[i].label,
                                           (double)classes[i].score))) {
            Py_CLEAR(list);
        }
    }
    PyMem_Free(classes);
    return list;
}

bool py_take_box(PyObject *tuple, rynd_box *box)
{
    PyObject *points;
    long long label;
    *box = (rynd_box){.label = 0};
    if (!PyArg_ParseTuple(tuple, "fffffLO!", &box->left, &box->top, &box->right, &box->bottom,
                          &box->score, &label, &PyList_Type, &points)) {
        return false;
    }
    box->label = label;
    for (Py_ssize_t i = 0; i < PyList_Size(points) && i < RYND_MAX_KEYPOINTS; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(points, i), "ff", &box->keypoints[i][0],
                              &box->keypoints[i][1])) {
            return false;
        }
        box->keypoint_count = i + 1;
    }
    return true;
}

PyObject *py_draw_boxes(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *picture, *list, *labels;
    py_lent to;
    if (!PyArg_ParseTuple(args, "OO!O!", &picture, &PyList_Type, &list, &PyList_Type, &labels)) {
        return NULL;
    }
    const Py_ssize_t count = PyList_Size(list);
    const char **texts = take_texts(labels);
    rynd_box *boxes = texts ? PyMem_Calloc((size_t)count + 1, sizeof *boxes) : NULL;
    bool fine = boxes != NULL;
    if (texts && !boxes) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        fine = py_take_box(PyList_GetItem(list, i), &boxes[i]);
    }
    PyObject *result = NULL;
    if (fine && py_lend(picture, "the picture", true, &to)) {
        const rynd_status status =
            rynd_draw_boxes(&to.tensor, boxes, (size_t)count, texts, (size_t)PyList_Size(labels));
        py_give_back(&to);
        result = status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
    }
    PyMem_Free(texts);
    PyMem_Free(boxes);
    return result;
}

PyObject *py_draw_classes(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *picture, *classes;
    double opacity;
    py_lent to, map;
    if (!PyArg_ParseTuple(args, "OOd", &picture, &classes, &opacity) ||
        !py_lend(classes, "the classes", false, &map)) {
        return NULL;
    }
    if (!py_lend(picture, "the picture", true, &to)) {
        py_give_back(&map);
        return NULL;
    }
    const rynd_status status = rynd_draw_classes(&to.tensor, &map.tensor, opacity);
    py_give_back(&map);
    py_give_back(&to);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}
