/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times as the caller sees them. */
#ifndef RY_API_API_PREDICT_H
#define RY_API_API_PREDICT_H

#include "kernels/prepared.h"
#include "predict/forecast.h"

#include <rynd/rynd.h>

/* As rynd_op_predict. */
rynd_status ry_api_predict_op(const ry_prepared *prepared, const rynd_context *context,
                              rynd_prediction *prediction, ry_error *error);

/* The predicted time of a step, or of an operator alone. */
rynd_prediction ry_api_prediction(const rynd_context *context, const ry_forecast *forecast,
                                  const ry_time *time);

#endif
