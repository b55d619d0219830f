/* SPDX-License-Identifier: Apache-2.0 */
/** @file rynd.h
 *  @brief Start here: runs an ONNX model, or one convolution.
 *
 *      rynd_context *context;               a device, its threads, memory hooks
 *      rynd_model *model;                   an ONNX file
 *      rynd_plan *plan;                     kernels, layouts and memory for fixed shapes
 *      rynd_session *session;               a plan's working memory
 *      rynd_tensor x = rynd_tensor_of(picture, RYND_DTYPE_F32, 4, (int64_t[]){1, 3, 224, 224}), y;
 *      rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
 *
 *      rynd_context_create(NULL, &context);
 *      rynd_model_load(context, "resnet18.onnx", &model);
 *      rynd_plan_create(model, &options, &plan);
 *      rynd_session_create(plan, &session);
 *      rynd_session_bind(session, "input", &x);
 *      rynd_session_run(session);
 *      rynd_session_get_output(session, 0, &y);         y.data: the result
 *
 * Each of these calls returns RYND_OK or an error; rynd_last_error() then says what to do. Destroy
 * in the reverse order. Without a model: rynd_op_create makes one operator (<rynd/op.h>).
 *
 * Two tiers:
 *  - The core is what this header includes by itself: status, version, tensor, context, model,
 *    plan, session, op. It is promised: within a version 0.MINOR no function or field of the core
 *    changes or goes (symbol version RYND_0.1).
 *  - All other headers are experimental: a function may change in any release (symbol version
 *    RYND_EXPERIMENTAL). Include the one you need, such as <rynd/train.h>, or define
 *    RYND_EXPERIMENTAL before this header to get all of them.
 *
 * Names follow four rules:
 *  - rynd_X_create and rynd_X_load make an object, rynd_X_destroy frees it.
 *  - rynd_X_get_NOUN fills its last arguments and returns a status. A noun without `get` returns
 *    the value itself: rynd_model_input_count.
 *  - Inputs and outputs have an index, their place in the model, and a name. Functions take the
 *    index; their twins that end in _named take the name. rynd_session_bind takes a name.
 *  - Types of callbacks end in _function. Their first argument is the field or argument `..._user`
 *    or `user`. */
#ifndef RYND_RYND_H
#define RYND_RYND_H

#include <rynd/context.h>
#include <rynd/model.h>
#include <rynd/op.h>
#include <rynd/plan.h>
#include <rynd/session.h>
#include <rynd/status.h>
#include <rynd/tensor.h>
#include <rynd/version.h>

#ifdef RYND_EXPERIMENTAL
#include <rynd/buffer.h>
#include <rynd/check.h>
#include <rynd/copy.h>
#include <rynd/eval.h>
#include <rynd/event.h>
#include <rynd/exchange.h>
#include <rynd/expr.h>
#include <rynd/gradient.h>
#include <rynd/machine.h>
#include <rynd/op_cache.h>
#include <rynd/op_run.h>
#include <rynd/place.h>
#include <rynd/predict.h>
#include <rynd/quantize.h>
#include <rynd/random.h>
#include <rynd/stream.h>
#include <rynd/tasks.h>
#include <rynd/tensor_file.h>
#include <rynd/text.h>
#include <rynd/trace.h>
#include <rynd/train.h>
#include <rynd/tune.h>
#include <rynd/wisdom.h>
#endif

#endif
