// SPDX-License-Identifier: Apache-2.0
// A call of one rynd operator on PyTorch tensors: a problem's text names shapes, strides and attributes, and is the key of a cache of operators.
#ifndef RYND_TORCH_PROBLEM_H
#define RYND_TORCH_PROBLEM_H

#include <ATen/ATen.h>
#include <cstdint>
#include <string>
#include <vector>

namespace rynd_torch
{

// Builds a problem's text while tensors are added, then runs it. Tensors are on the device "rynd"; scalars on any.
class Problem
{
  public:
    explicit Problem(const char *op) : text(op)
    {
    }

    Problem &in(const at::Tensor &tensor); // the next input
    Problem &in_constant(
        const at::Tensor &tensor); // the next input, which is packed once while nobody writes to it
    Problem &in_absent();          // the next input is left out
    Problem &in_as(const at::Tensor &tensor, at::IntArrayRef sizes,
                   at::IntArrayRef strides);                // another view of its memory
    Problem &in_scalar(double value, at::ScalarType dtype); // an input without dims
    Problem &in_seed(uint64_t value);                       // an input without dims, of u64
    Problem &out(const at::Tensor &tensor);
    Problem &out_absent();

    Problem &with(const char *name, int64_t value);
    Problem &with(const char *name, double value);
    Problem &with(const char *name, const char *word);
    Problem &with(const char *name, at::IntArrayRef values);
    Problem &with(const char *name, const std::vector<double> &values);
    Problem &program(const std::string &text);

    void run(); // throws c10::Error with rynd's message

  private:
    void describe(char kind, size_t index, at::ScalarType dtype, at::IntArrayRef sizes,
                  at::IntArrayRef strides);

    void join(const at::Tensor &tensor); // all tensors are on one device
    void run_on_processor(const void *const *from, void *const *to);
    void run_on_buffers();
    void run_on_copies(); // by the processor, on the host's copies of buffers

    std::string text;
    int device = -1; // its index
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    std::vector<std::vector<unsigned char>> scalars;
    size_t constant = 0;         // the input's index
    uint64_t constant_stamp = 0; // 0: none
};

// Operators that are kept for all devices, and the memory of their workspaces and packed constants in bytes.
struct CacheFigures {
    int64_t operators, made, bytes;
};
CacheFigures cache_figures();
void clear_cache();
void set_threads(int threads); // the processor's

// Returns rynd's name for a dtype, or nullptr.
const char *dtype_name(at::ScalarType dtype);

// Is the dtype one of rynd's?
bool has_dtype(at::ScalarType dtype);

} // namespace rynd_torch

#endif
