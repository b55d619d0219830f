/* SPDX-License-Identifier: Apache-2.0 */
/** @file rynd.h
 *  @brief Everything. */
#ifndef RYND_RYND_H
#define RYND_RYND_H

#include <rynd/buffer.h>
#include <rynd/check.h>
#include <rynd/context.h>
#include <rynd/event.h>
#include <rynd/exchange.h>
#include <rynd/expr.h>
#include <rynd/machine.h>
#include <rynd/model.h>
#include <rynd/op.h>
#include <rynd/place.h>
#include <rynd/plan.h>
#include <rynd/predict.h>
#include <rynd/random.h>
#include <rynd/session.h>
#include <rynd/status.h>
#include <rynd/tensor.h>
#include <rynd/text.h>
#include <rynd/train.h>
#include <rynd/tune.h>
#include <rynd/wisdom.h>

#endif
