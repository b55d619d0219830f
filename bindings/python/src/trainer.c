/* SPDX-License-Identifier: Apache-2.0 */
/* Trainer: steps of training on arrays. */
#include "array.h"
#include "describe.h"
#include "errors.h"
#include "exchange.h"
#include "lend.h"
#include "plan_request.h"

#include <string.h>

typedef struct trainer_object {
    PyObject_HEAD model_object *model;
    rynd_trainer *trainer;
    bool running;
    int inputs;
    py_lent *lent; /* room for a step's: the inputs, then the target */
    rynd_tensor *in;
    py_exchange exchange; /* with other ranks */
} trainer_object;

/* A list of str, whose texts live as long as it; freed by the caller. */
static bool take_patterns(PyObject *list, const char ***patterns, size_t *count)
{
    const Py_ssize_t size = PyList_Size(list);
    *patterns = PyMem_Calloc((size_t)size + 1, sizeof **patterns);
    if (!*patterns) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        (*patterns)[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (!(*patterns)[i]) {
            return false;
        }
    }
    *count = (size_t)size;
    return true;
}

static bool take_target(PyObject *target, rynd_dtype *dtype)
{
    if (target == Py_None) {
        return true;
    }
    const char *name = PyUnicode_AsUTF8AndSize(target, NULL);
    *dtype = name ? py_dtype_of(name) : RYND_DTYPE_NONE;
    return name && (*dtype != RYND_DTYPE_NONE ||
                    py_fail_value("target: there is no dtype '%s'", name) != NULL);
}

static rynd_status create(trainer_object *self, rynd_trainer_options *options,
                          const py_plan_request *request)
{
    rynd_status status;
    options->dims = request->dims;
    options->dim_count = request->options.dim_count;
    options->inputs = request->inputs;
    options->batch = request->options.batch;
    options->accuracy = request->options.accuracy;
    options->settings = request->options.settings;
    options->setting_count = request->options.setting_count;
    options->exchange = self->exchange.object ? &self->exchange.exchange : NULL;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_trainer_create(self->model->model, options, &self->trainer);
    Py_END_ALLOW_THREADS
    if (status == RYND_OK) {
        self->inputs = (int)rynd_model_input_count(self->model->model);
        self->lent = PyMem_Calloc((size_t)self->inputs + 1, sizeof *self->lent);
        self->in = PyMem_Calloc((size_t)self->inputs + 1, sizeof *self->in);
        status = self->lent && self->in ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

/* None: no class is ignored. */
static bool take_ignored(PyObject *ignored, int64_t *label, rynd_trainer_options *options)
{
    if (ignored == Py_None) {
        return true;
    }
    *label = PyLong_AsLongLong(ignored);
    options->ignore_label = label;
    return !PyErr_Occurred();
}

static PyObject *trainer_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *model, *target, *freeze, *train_only, *dims, *inputs, *choices, *exchange, *ignored;
    int64_t ignore_label;
    rynd_trainer_options o = RYND_SIZED(rynd_trainer_options);
    int loss, optimizer, accuracy, init, dropout;
    unsigned long long seed, dropout_seed;
    long long batch, bucket, accumulate, train_last, boxes;
    Py_ssize_t memory_limit;
    const char *storage;
    if (named ||
        !PyArg_ParseTuple(args, "O!iziOO!O!LippiKiKLns(dddddddddd)LOOOOLOzL:Trainer", py_model_type,
                          &model, &loss, &o.output, &optimizer, &target, &PyList_Type, &freeze,
                          &PyList_Type, &train_only, &train_last, &accuracy, &o.nesterov,
                          &o.keep_gradients, &init, &seed, &dropout, &dropout_seed, &accumulate,
                          &memory_limit, &storage, &o.label_smoothing, &o.charbonnier_epsilon,
                          &o.momentum, &o.weight_decay, &o.beta1, &o.beta2, &o.epsilon,
                          &o.clip_norm, &o.norm_momentum, &o.box_weight, &batch, &dims, &inputs,
                          &choices, &exchange, &bucket, &ignored, &o.head, &boxes)) {
        return NULL;
    }
    trainer_object *self = (trainer_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->model = (model_object *)PY_TAKE(model);
    o.loss = (rynd_loss)loss;
    o.init = (rynd_init)init;
    o.init_seed = seed;
    o.accumulate = accumulate;
    o.train_last = train_last;
    o.boxes = boxes;
    o.memory_limit = memory_limit > 0 ? (size_t)memory_limit : 0;
    o.storage = py_dtype_of(storage);
    o.dropout = (rynd_dropout)dropout;
    o.dropout_seed = dropout_seed;
    o.bucket_bytes = (size_t)bucket;
    o.optimizer = (rynd_optimizer)optimizer;
    const char **frozen = NULL, **trained = NULL;
    py_plan_request request = {.options = RYND_SIZED(rynd_plan_options)};
    rynd_status status = RYND_ERROR_ARGUMENT;
    if (py_exchange_take(exchange, &self->exchange) &&
        take_patterns(freeze, &frozen, &o.freeze_count) &&
        take_patterns(train_only, &trained, &o.train_only_count) &&
        take_target(target, &o.target) && take_ignored(ignored, &ignore_label, &o) &&
        py_plan_request_take(&request, accuracy, batch, dims, inputs, choices)) {
        o.freeze = frozen;
        o.train_only = trained;
        status = create(self, &o, &request);
    }
    py_plan_request_free(&request);
    PyMem_Free(frozen);
    PyMem_Free(trained);
    if (status != RYND_OK) {
        (void)(py_exchange_raise(&self->exchange) || py_raise(status));
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void trainer_free(PyObject *object)
{
    trainer_object *self = (trainer_object *)object;
    Py_BEGIN_ALLOW_THREADS
    rynd_trainer_destroy(self->trainer); /* it waits for its exchange */
    Py_END_ALLOW_THREADS
    py_exchange_drop(&self->exchange);
    PyMem_Free(self->lent);
    PyMem_Free(self->in);
    Py_XDECREF((PyObject *)self->model);
    py_free(object);
}

/* --- a step, or an evaluation --- */

static bool lend_all(trainer_object *self, PyObject *inputs, PyObject *target)
{
    if (PyList_Size(inputs) != self->inputs) {
        return py_fail_type("%zd arrays are given, and the model has %d inputs",
                            PyList_Size(inputs), self->inputs) != NULL;
    }
    for (int i = 0; i < self->inputs; i++) {
        if (!py_lend(PyList_GetItem(inputs, i), self->model->input_labels[i], false,
                     &self->lent[i])) {
            return false;
        }
        self->in[i] = self->lent[i].tensor;
    }
    return py_lend(target, "target", false, &self->lent[self->inputs]);
}

static PyObject *go(trainer_object *self, bool evaluates, double rate)
{
    const rynd_tensor *target = &self->lent[self->inputs].tensor;
    double loss = 0;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = evaluates ? rynd_trainer_evaluate(self->trainer, self->in, target, &loss)
                       : rynd_trainer_step(self->trainer, self->in, target, rate, &loss);
    Py_END_ALLOW_THREADS
    if (status != RYND_OK && py_exchange_raise(&self->exchange)) {
        return NULL;
    }
    return status == RYND_OK ? PyFloat_FromDouble(loss) : py_raise(status);
}

static PyObject *run(trainer_object *self, PyObject *inputs, PyObject *target, bool evaluates,
                     double rate)
{
    if (self->running) {
        return py_fail_busy("this trainer runs in another thread");
    }
    self->running = true;
    PyObject *loss = lend_all(self, inputs, target) ? go(self, evaluates, rate) : NULL;
    for (int i = 0; i <= self->inputs; i++) {
        py_give_back(&self->lent[i]);
        self->lent[i] = (py_lent){.owner = NULL};
    }
    self->running = false;
    return loss;
}

static PyObject *trainer_step(PyObject *object, PyObject *args)
{
    PyObject *inputs, *target;
    double rate;
    return PyArg_ParseTuple(args, "O!Od:step", &PyList_Type, &inputs, &target, &rate)
               ? run((trainer_object *)object, inputs, target, false, rate)
               : NULL;
}

static PyObject *trainer_evaluate(PyObject *object, PyObject *args)
{
    PyObject *inputs, *target;
    return PyArg_ParseTuple(args, "O!O:evaluate", &PyList_Type, &inputs, &target)
               ? run((trainer_object *)object, inputs, target, true, 0)
               : NULL;
}

/* --- what it keeps --- */

/* A copy of memory that is the trainer's. */
static PyObject *copy_of(rynd_status status, const rynd_tensor *tensor)
{
    if (status != RYND_OK) {
        return py_raise(status);
    }
    array_object *array = py_array_make(tensor);
    if (array && tensor->data) {
        memcpy(array->tensor.data, tensor->data,
               (size_t)rynd_tensor_elements(tensor) * rynd_dtype_size(tensor->dtype));
    }
    return (PyObject *)array;
}

/* (name, array) of output i of the loss. */
static PyObject *trainer_output(PyObject *object, PyObject *index)
{
    rynd_tensor tensor;
    const char *name = NULL;
    const rynd_status status = rynd_trainer_get_output_at(((trainer_object *)object)->trainer,
                                                          PyLong_AsSize_t(index), &name, &tensor);
    PyObject *array = copy_of(status, &tensor);
    return array ? Py_BuildValue("(sN)", name, array) : NULL;
}

static PyObject *trainer_output_count(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_trainer_output_count(((trainer_object *)object)->trainer));
}

static PyObject *trainer_gradient(PyObject *object, PyObject *name)
{
    rynd_tensor tensor;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) {
        return NULL;
    }
    const rynd_status status =
        rynd_trainer_get_gradient(((trainer_object *)object)->trainer, text, &tensor);
    return copy_of(status, &tensor);
}

static PyObject *trainer_target(PyObject *object, PyObject *unused)
{
    (void)unused;
    rynd_tensor tensor;
    const rynd_status status =
        rynd_trainer_get_target(((trainer_object *)object)->trainer, &tensor);
    return status == RYND_OK ? py_describe(&tensor) : py_raise(status);
}

/* [(name, kind, (dtype, shape, strides))] */
static PyObject *trainer_states(PyObject *object, PyObject *unused)
{
    (void)unused;
    const rynd_trainer *trainer = ((trainer_object *)object)->trainer;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_trainer_state_count(trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        const rynd_status status = rynd_trainer_get_state(trainer, i, &info);
        PyObject *tensor = status == RYND_OK ? py_describe(&info.tensor) : py_raise(status);
        PyObject *one = tensor ? Py_BuildValue("(siN)", info.name, (int)info.kind, tensor) : NULL;
        if (!one || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *trainer_read(PyObject *object, PyObject *args)
{
    trainer_object *self = (trainer_object *)object;
    const char *name;
    PyObject *description;
    rynd_tensor like = {.data = NULL};
    if (!PyArg_ParseTuple(args, "sO:read", &name, &description) ||
        !py_take_description(description, &like)) {
        return NULL;
    }
    array_object *array = py_array_make(&like);
    if (!array) {
        return NULL;
    }
    const rynd_status status = rynd_trainer_read(self->trainer, name, &array->tensor);
    if (status != RYND_OK) {
        Py_DECREF((PyObject *)array);
        return py_raise(status);
    }
    return (PyObject *)array;
}

static PyObject *trainer_write(PyObject *object, PyObject *args)
{
    const char *name;
    PyObject *given;
    py_lent lent = {.owner = NULL};
    if (!PyArg_ParseTuple(args, "sO:write", &name, &given) || !py_lend(given, name, false, &lent)) {
        return NULL;
    }
    const rynd_status status =
        rynd_trainer_write(((trainer_object *)object)->trainer, name, &lent.tensor);
    py_give_back(&lent);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

/* --- its plan --- */

static PyObject *trainer_steps(PyObject *object, PyObject *unused)
{
    (void)unused;
    return py_steps(rynd_trainer_plan(((trainer_object *)object)->trainer));
}

static PyObject *trainer_predict(PyObject *object, PyObject *step)
{
    const rynd_plan *plan = rynd_trainer_plan(((trainer_object *)object)->trainer);
    const Py_ssize_t index = step == Py_None ? 0 : PyLong_AsSsize_t(step);
    if (index == -1 && PyErr_Occurred()) {
        return NULL;
    }
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    const rynd_status status = step == Py_None
                                   ? rynd_plan_predict(plan, &prediction)
                                   : rynd_plan_predict_step(plan, (size_t)index, &prediction);
    return status == RYND_OK ? py_prediction(&prediction) : py_raise(status);
}

static PyObject *trainer_profile(PyObject *object, PyObject *on)
{
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) {
        return NULL;
    }
    const rynd_status status = rynd_trainer_profile(((trainer_object *)object)->trainer, wanted);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *trainer_step_seconds(PyObject *object, PyObject *unused)
{
    (void)unused;
    rynd_trainer *trainer = ((trainer_object *)object)->trainer;
    const size_t steps = rynd_plan_step_count(rynd_trainer_plan(trainer));
    PyObject *list = PyList_New(0);
    for (size_t s = 0; list && s < steps; s++) {
        PyObject *seconds = PyFloat_FromDouble(rynd_trainer_step_time(trainer, s));
        if (!seconds || PyList_Append(list, seconds) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(seconds);
    }
    return list;
}

static PyObject *trainer_prepare_evaluation(PyObject *object, PyObject *unused)
{
    (void)unused;
    rynd_trainer *trainer = ((trainer_object *)object)->trainer;
    rynd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = rynd_trainer_prepare_evaluation(trainer);
    Py_END_ALLOW_THREADS
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *trainer_identity(PyObject *object, PyObject *unused)
{
    (void)unused;
    const char *text;
    const rynd_status status =
        rynd_trainer_get_identity(((trainer_object *)object)->trainer, &text);
    return status == RYND_OK ? PyUnicode_FromString(text) : py_raise(status);
}

static PyObject *trainer_save(PyObject *object, PyObject *args)
{
    const rynd_trainer *trainer = ((trainer_object *)object)->trainer;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:save", PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    rynd_status status;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = rynd_trainer_save(trainer, name);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return status == RYND_OK ? PY_TAKE(Py_None) : py_raise(status);
}

static PyObject *trainer_save_memory(PyObject *object, PyObject *unused)
{
    (void)unused;
    const trainer_object *self = (trainer_object *)object;
    void *data;
    size_t size;
    const rynd_status status = rynd_trainer_save_memory(self->trainer, &data, &size);
    if (status != RYND_OK) {
        return py_raise(status);
    }
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    rynd_memory_free(self->model->context->context, data);
    return bytes;
}

/* [(bytes, made, awaited)] */
static PyObject *trainer_buckets(PyObject *object, PyObject *unused)
{
    (void)unused;
    const rynd_trainer *trainer = ((trainer_object *)object)->trainer;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rynd_trainer_bucket_count(trainer); i++) {
        rynd_bucket_info info = RYND_SIZED(rynd_bucket_info);
        const rynd_status status = rynd_trainer_get_bucket(trainer, i, &info);
        PyObject *one = status == RYND_OK
                            ? Py_BuildValue("(nnn)", (Py_ssize_t)info.bytes, (Py_ssize_t)info.made,
                                            (Py_ssize_t)info.awaited)
                            : py_raise(status);
        if (!one || PyList_Append(list, one) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *trainer_memory(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(rynd_trainer_memory(((trainer_object *)object)->trainer));
}

static PyMethodDef trainer_methods[] = {
    {"_step", trainer_step, METH_VARARGS, "A step; the loss before it."},
    {"_evaluate", trainer_evaluate, METH_VARARGS, "The loss as in inference."},
    {"_output", trainer_output, METH_O, "Name and array of an output of the loss."},
    {"_output_count", trainer_output_count, METH_NOARGS, "How many the loss reads."},
    {"_gradient", trainer_gradient, METH_O, "A parameter's gradient."},
    {"_target", trainer_target, METH_NOARGS, "Description of the target."},
    {"_states", trainer_states, METH_NOARGS, "Names, kinds and descriptions."},
    {"_read", trainer_read, METH_VARARGS, "A state, by name and description."},
    {"_write", trainer_write, METH_VARARGS, "Sets a state."},
    {"_steps", trainer_steps, METH_NOARGS, "What a step runs by, as dicts."},
    {"_predict", trainer_predict, METH_O, "Seconds of a step, or of one of what it runs by."},
    {"_profile", trainer_profile, METH_O, "Records the times of what later steps run by."},
    {"_step_seconds", trainer_step_seconds, METH_NOARGS, "Of the last step, one for each."},
    {"_buckets", trainer_buckets, METH_NOARGS, "What ranks add up at once."},
    {"_prepare_evaluation", trainer_prepare_evaluation, METH_NOARGS, "Plans evaluations."},
    {"_identity", trainer_identity, METH_NOARGS, "What decides about its bits."},
    {"_save", trainer_save, METH_VARARGS, "Writes the model's file, by path."},
    {"_save_memory", trainer_save_memory, METH_NOARGS, "The model's file as bytes."},
    {"_memory", trainer_memory, METH_NOARGS, "Bytes that it holds."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot trainer_slots[] = {{Py_tp_doc, "A trainer of a model."},
                                      {Py_tp_new, trainer_new},
                                      {Py_tp_dealloc, trainer_free},
                                      {Py_tp_methods, trainer_methods},
                                      {0, NULL}};

PyType_Spec py_trainer_spec = {"rynd._rynd.Trainer", sizeof(trainer_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, trainer_slots};
