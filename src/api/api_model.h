/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that the plans of a model share. */
#ifndef RY_API_API_MODEL_H
#define RY_API_API_MODEL_H

#include "base/status.h"

#include <rynd/rynd.h>

/* Lets the plans of a new model share weights. */
rynd_status ry_api_share_weights(rynd_model *model, ry_error *error);

#endif
