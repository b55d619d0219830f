/* SPDX-License-Identifier: Apache-2.0 */
/* The module rynd._rynd: its types and functions. */
#define _GNU_SOURCE /* dladdr */
#include "array.h"
#include "describe.h"
#include "digest.h"
#include "errors.h"
#include "exchange.h"
#include "lend.h"
#include "save.h"
#include "tasks.h"
#include "tune.h"
#include "wisdom.h"

#include <dlfcn.h>
#include <string.h>

static PyObject *describe(PyObject *module, PyObject *object)
{
    (void)module;
    py_lent lent;
    if (!py_lend(object, "the array", false, &lent)) {
        return NULL;
    }
    PyObject *description = py_describe(&lent.tensor);
    py_give_back(&lent);
    return description;
}

static PyObject *set_result_type(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, py_array_type)) {
        return py_fail_type("no type that is derived of Array");
    }
    Py_XDECREF((PyObject *)py_result_type);
    py_result_type = (PyTypeObject *)PY_TAKE(type);
    return PY_TAKE(Py_None);
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(rynd_version());
}

/* The library that this process has loaded: what is compiled later is linked with the same. */
static PyObject *library(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Dl_info info;
    const char *(*const address)(void) = rynd_version;
    void *symbol;
    memcpy(&symbol, &address, sizeof symbol);
    if (dladdr(symbol, &info) == 0 || !info.dli_fname) {
        return py_fail_value("the dynamic linker does not know librynd's file");
    }
    return PyUnicode_DecodeFSDefault(info.dli_fname);
}

static PyObject *devices(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < rynd_device_count(); i++) {
        char text[64];
        const rynd_status status = rynd_device_get_name(i, text, sizeof text);
        PyObject *name = status == RYND_OK ? PyUnicode_FromString(text) : py_raise(status);
        if (!name || PyList_Append(names, name) != 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *cards(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const char *name, *device;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && rynd_card_get(i, &name, &device, &machine) == RYND_OK; i++) {
        PyObject *card = Py_BuildValue("(sss)", name, device, machine.name);
        if (!card || PyList_Append(all, card) != 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(card);
    }
    return all;
}

static PyObject *competition_begin(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    rynd_competition begin = RYND_SIZED(rynd_competition);
    const rynd_status status = rynd_competition_begin(&begin);
    return status == RYND_OK ? Py_BuildValue("dd", begin.all, begin.others) : py_raise(status);
}

static PyObject *competition_since(PyObject *module, PyObject *args)
{
    (void)module;
    rynd_competition begin = RYND_SIZED(rynd_competition);
    return PyArg_ParseTuple(args, "dd:competition_since", &begin.all, &begin.others)
               ? PyFloat_FromDouble(rynd_competition_since(&begin))
               : NULL;
}

static PyObject *disturbance_since(PyObject *module, PyObject *args)
{
    (void)module;
    rynd_competition begin = RYND_SIZED(rynd_competition);
    double best, mean;
    return PyArg_ParseTuple(args, "dddd:disturbance_since", &begin.all, &begin.others, &best, &mean)
               ? PyFloat_FromDouble(rynd_disturbance_since(&begin, best, mean))
               : NULL;
}

static PyMethodDef functions[] = {
    {"random", py_random, METH_VARARGS, "(kind, seed, stream, step, first, count): an array."},
    {"digest", py_digest, METH_O, "A number that changes with the bytes of a list of buffers."},
    {"array", py_array_from, METH_VARARGS, "(description, bytes): an array."},
    {"host_allocate", py_host_allocate, METH_VARARGS, "(context, description): a pinned array."},
    {"describe", describe, METH_O, "(dtype, shape, strides in elements) of any array."},
    {"set_result_type", set_result_type, METH_O, "What results are made of."},
    {"version", version, METH_NOARGS, "The library's version."},
    {"library", library, METH_NOARGS, "The path of the library's file."},
    {"devices", devices, METH_NOARGS, "The names of all devices."},
    {"cards", cards, METH_NOARGS, "Cards with built-in machines."},
    {"competition_begin", competition_begin, METH_NOARGS, "(all, others): processor seconds."},
    {"disturbance_since", disturbance_since, METH_VARARGS,
     "(all, others, best, mean): how disturbed repeated runs were."},
    {"competition_since", competition_since, METH_VARARGS, "(all, others): others' share since."},
    {"mpi_ranks", py_mpi_ranks, METH_NOARGS, "Processes that mpirun started."},
    {"heads", py_heads, METH_NOARGS, "Detection heads."},
    {"model_head", py_model_head, METH_VARARGS, "The detection head of a model."},
    {"labels", py_labels, METH_VARARGS, "Names of the classes of a data set."},
    {"prepare", py_prepare, METH_VARARGS, "Fills an input from a picture."},
    {"detect", py_detect, METH_VARARGS, "Boxes from outputs."},
    {"segment", py_segment, METH_VARARGS, "Classes of a photo's pixels."},
    {"classify", py_classify, METH_VARARGS, "Classes of a picture, best first."},
    {"draw_boxes", py_draw_boxes, METH_VARARGS, "Draws boxes into a picture."},
    {"draw_classes", py_draw_classes, METH_VARARGS, "Colours a picture by classes."},
    {"tune_problem", py_tune_problem, METH_VARARGS, "Tunes a problem."},
    {"tune_model", py_tune_model, METH_VARARGS, "Tunes a model."},
    {"wisdom_show", py_wisdom_show, METH_VARARGS, "Lines of records, here and current."},
    {"wisdom_export", py_wisdom_export, METH_VARARGS, "Records to a file."},
    {"wisdom_import", py_wisdom_import, METH_VARARGS, "Records of a file of lines."},
    {"wisdom_merge", py_wisdom_merge, METH_VARARGS, "Records of a database."},
    {"wisdom_clear", py_wisdom_clear, METH_VARARGS, "Forgets records."},
    {"wisdom_check", py_wisdom_check, METH_VARARGS, "Measures records again."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "_rynd",
                                        "rynd's library for the package around it.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromSpec(spec);
    return *type && PyModule_AddType(module, *type) == 0;
}

PyMODINIT_FUNC PyInit__rynd(void);

PyMODINIT_FUNC PyInit__rynd(void)
{
    PyObject *module = PyModule_Create(&definition);
    bool fine = module && py_find_errors();
#define TYPE(name) fine = fine && add_type(module, &py_##name##_spec, &py_##name##_type);
#include "types.inc"
#undef TYPE
    if (!fine) {
        Py_XDECREF(module);
        return NULL;
    }
    py_result_type = PY_TAKE(py_array_type);
    return module;
}
