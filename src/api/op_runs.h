/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of an operator's runs. */
#ifndef RY_API_OP_RUNS_H
#define RY_API_OP_RUNS_H

#include "api/op_handle.h"

/* Operands are inputs, then outputs. */
static inline int ry_op_operands(const rynd_op *op)
{
    return op->problem.inputs + op->problem.outputs;
}

static inline const ry_tensor *ry_op_tensor(const rynd_op *op, int operand)
{
    const int inputs = op->problem.inputs;
    return operand < inputs ? &op->in[operand] : &op->out[operand - inputs];
}

static inline bool ry_op_is_constant(const rynd_op *op, int operand)
{
    return operand < op->problem.inputs && op->constant_data[operand];
}

/* Does a run have memory for it? */
static inline bool ry_op_is_operand(const rynd_op *op, int operand)
{
    return ry_tensor_present(ry_op_tensor(op, operand)) &&
           !(op->plan && ry_op_is_constant(op, operand));
}

/* Prefixes "FUNCTION: input 3: ". */
void ry_op_name_operand(const rynd_op *op, const char *function, int operand, ry_error *error);

/* May the input be given by value? */
bool ry_op_is_value(const rynd_op *op, int input);

/* Where the workspace has values of inputs, if memory is the device's own. */
size_t ry_op_values_offset(const rynd_op *op);

/* Makes a buffer of the operand's size; on the CPU without memory. */
rynd_status ry_op_wrap(rynd_op *op, int operand, ry_error *error);

/* Sets an operand to the caller's host memory. Constants are copied to a device once. */
rynd_status ry_op_take_memory(rynd_op *op, int operand, const void *data, ry_error *error);

/* Sets all operands of an asynchronous run. */
rynd_status ry_op_take_operands(rynd_op *op, const rynd_operand *inputs,
                                const rynd_operand *outputs, ry_pointer workspace,
                                ry_stream *stream, ry_error *error);

/* May the output be written over the inputs that `old` names (a flag for each)? */
bool ry_op_may_overwrite(const rynd_op *op, int output, const bool *old);

#endif
