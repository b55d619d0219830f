// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <algorithm>
#include <c10/util/Exception.h>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <rynd/rynd.h>
#include <unordered_map>

#include "buffers.h"
#include "contexts.h"
#include "host.h"
#include "memory.h"

namespace rynd_torch
{
namespace
{

// The bound of the cache: beyond it the operator that was not used for longest goes.
constexpr size_t MOST_OPERATORS = 4096;
constexpr int64_t MOST_BYTES = int64_t(1) << 30;
constexpr size_t MOST_INPUTS = 8; // to an operator with a constant

struct Kept {
    std::string text; // with a constant: and its address
    rynd_op *op;      // nullptr: the device has no kernel
    int64_t bytes;
    uint64_t stamp; // the constant's; 0: none
};

// A constant input.
struct Constant {
    size_t index;
    const void *data;
    uint64_t stamp;
};

// Operators by their text, the last used first. Its mutex is held while one runs: an operator has one workspace.
class Cache
{
  public:
    explicit Cache(int device) : device(device)
    {
    }

    std::mutex mutex;

    rynd_op *find(const std::string &text)
    {
        const auto found = by_text.find(text);
        return found == by_text.end() ? make(text, text, nullptr) : used(found->second);
    }

    // The operator with its constant packed. nullptr for content that was not seen in the last call: weights in training are packed by each run.
    rynd_op *find(const std::string &text, const Constant &constant)
    {
        const std::string key =
            text + '@' + std::to_string(reinterpret_cast<uintptr_t>(constant.data));
        const auto found = by_text.find(key);
        if (found != by_text.end() && found->second->stamp == constant.stamp) {
            return used(found->second);
        }
        if (found != by_text.end()) {
            drop(found->second);
        }
        uint64_t &last = seen[key];
        const bool again = last == constant.stamp;
        last = constant.stamp;
        if (!again) {
            return nullptr;
        }
        seen.erase(key);
        return make(key, text, &constant);
    }

    CacheFigures figures() const
    {
        return {int64_t(kept.size()), made, bytes};
    }

    void clear()
    {
        while (!kept.empty()) {
            drop(std::prev(kept.end()));
        }
        seen.clear();
    }

    // Sets the processor's number of threads.
    void use(int count)
    {
        clear();
        rynd_context_destroy(context);
        context = nullptr;
        threads = count;
    }

  private:
    using Place = std::list<Kept>::iterator;

    rynd_op *used(Place place)
    {
        kept.splice(kept.begin(), kept, place);
        return place->op;
    }

    rynd_op *make(const std::string &key, const std::string &text, const Constant *constant)
    {
        if (!context) {
            context = device > 0 ? queue_of(device).context : make_context(0, threads);
        }
        rynd_tensor inputs[MOST_INPUTS] = {};
        rynd_op_options options = {};
        options.size = sizeof options;
        if (constant) {
            inputs[constant->index].data = const_cast<void *>(constant->data);
            options.inputs = inputs;
        }
        rynd_op *op = nullptr;
        const rynd_status status = rynd_op_create(context, text.c_str(), &options, &op);
        TORCH_CHECK(status == RYND_OK || (status == RYND_ERROR_UNSUPPORTED && device > 0),
                    "rynd: ", text, ": ", rynd_last_error());
        rynd_memory memory = {};
        memory.size = sizeof memory;
        const bool known = op && rynd_op_get_memory(op, &memory) == RYND_OK;
        kept.push_front({key, op, known ? int64_t(memory.workspace + memory.weights) : 0,
                         constant ? constant->stamp : 0});
        by_text[key] = kept.begin();
        bytes += kept.front().bytes;
        made++;
        while (kept.size() > 1 && (kept.size() > MOST_OPERATORS || bytes > MOST_BYTES)) {
            drop(std::prev(kept.end()));
        }
        if (seen.size() > MOST_OPERATORS) {
            seen.clear();
        }
        return op;
    }

    void drop(Place place)
    {
        bytes -= place->bytes;
        rynd_op_destroy(place->op);
        by_text.erase(place->text);
        kept.erase(place);
    }

    const int device;
    rynd_context *context = nullptr; // the processor's is made here, with `threads`
    int threads = 0;
    std::list<Kept> kept;
    std::unordered_map<std::string, std::list<Kept>::iterator> by_text;
    std::unordered_map<std::string, uint64_t> seen; // stamps of constants that were not packed
    int64_t bytes = 0, made = 0;
};

// Each device's cache. Never destroyed: tensors may outlive it.
const std::vector<Cache *> &caches()
{
    static const auto *const all = [] {
        auto *made = new std::vector<Cache *>;
        for (int index = 0; index < device_count(); index++) {
            made->push_back(new Cache(index));
        }
        return made;
    }();
    return *all;
}

template <typename T> void store(std::vector<unsigned char> &bytes, T value)
{
    bytes.resize(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
}

void append_list(std::string &text, at::IntArrayRef values)
{
    for (size_t i = 0; i < values.size(); i++) {
        text += i ? "," : "";
        text += std::to_string(values[i]);
    }
}

void append_number(std::string &text, double value)
{
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    text += digits;
}

} // namespace

const char *dtype_name(at::ScalarType dtype)
{
    switch (dtype) {
    case at::kFloat: return "f32";
    case at::kDouble: return "f64";
    case at::kHalf: return "f16";
    case at::kBFloat16: return "bf16";
    case at::kByte: return "u8";
    case at::kChar: return "i8";
    case at::kShort: return "i16";
    case at::kInt: return "i32";
    case at::kLong: return "i64";
    case at::kBool: return "bool";
    default: return nullptr;
    }
}

bool has_dtype(at::ScalarType dtype)
{
    return dtype_name(dtype) != nullptr;
}

void Problem::describe(char kind, size_t index, at::ScalarType dtype, at::IntArrayRef sizes,
                       at::IntArrayRef strides)
{
    const char *name = dtype_name(dtype);
    TORCH_CHECK(name, "rynd has no dtype ", dtype);
    text += ' ';
    text += kind;
    text += std::to_string(index) + "=";
    for (size_t i = 0; i < sizes.size(); i++) {
        text += i ? "x" : "";
        text += std::to_string(sizes[i]);
    }
    text += sizes.empty() ? "scalar" : "";
    text += ':';
    text += name;
    if (!sizes.empty() && strides != at::IntArrayRef(c10::contiguous_strides(sizes))) {
        text += ':';
        append_list(text, strides);
    }
}

Problem &Problem::in(const at::Tensor &tensor)
{
    return in_as(tensor, tensor.sizes(), tensor.strides());
}

void Problem::join(const at::Tensor &tensor)
{
    if (tensor.is_privateuseone()) {
        const int index = tensor.device().index();
        TORCH_CHECK(device < 0 || device == index, "rynd: operands are on rynd:", device,
                    " and on rynd:", index);
        device = index;
    }
}

Problem &Problem::in_as(const at::Tensor &tensor, at::IntArrayRef sizes, at::IntArrayRef strides)
{
    join(tensor);
    describe('x', inputs.size(), tensor.scalar_type(), sizes, strides);
    inputs.push_back(tensor.const_data_ptr());
    return *this;
}

Problem &Problem::in_constant(const at::Tensor &tensor)
{
    constant = inputs.size();
    constant_stamp = stamp(*tensor.storage().unsafeGetStorageImpl());
    return in(tensor);
}

Problem &Problem::in_absent()
{
    inputs.push_back(nullptr);
    return *this;
}

Problem &Problem::in_scalar(double value, at::ScalarType dtype)
{
    describe('x', inputs.size(), dtype, {}, {});
    std::vector<unsigned char> bytes;
    AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, dtype, "rynd",
                               [&] { store(bytes, static_cast<scalar_t>(value)); });
    scalars.push_back(std::move(bytes));
    inputs.push_back(scalars.back().data());
    return *this;
}

Problem &Problem::in_seed(uint64_t value)
{
    text += " x" + std::to_string(inputs.size()) + "=scalar:u64";
    std::vector<unsigned char> bytes;
    store(bytes, value);
    scalars.push_back(std::move(bytes));
    inputs.push_back(scalars.back().data());
    return *this;
}

Problem &Problem::out(const at::Tensor &tensor)
{
    join(tensor);
    describe('y', outputs.size(), tensor.scalar_type(), tensor.sizes(), tensor.strides());
    outputs.push_back(tensor.data_ptr());
    written(*tensor.storage().unsafeGetStorageImpl());
    return *this;
}

Problem &Problem::out_absent()
{
    outputs.push_back(nullptr);
    return *this;
}

Problem &Problem::with(const char *name, int64_t value)
{
    text += std::string(" ") + name + "=" + std::to_string(value);
    return *this;
}

Problem &Problem::with(const char *name, double value)
{
    text += std::string(" ") + name + "=";
    append_number(text, value);
    return *this;
}

Problem &Problem::with(const char *name, const std::vector<double> &values)
{
    text += std::string(" ") + name + "=";
    for (size_t i = 0; i < values.size(); i++) {
        text += i ? "," : "";
        append_number(text, values[i]);
    }
    return *this;
}

Problem &Problem::with(const char *name, const char *word)
{
    text += std::string(" ") + name + "=" + word;
    return *this;
}

Problem &Problem::with(const char *name, at::IntArrayRef values)
{
    text += std::string(" ") + name + "=";
    append_list(text, values);
    return *this;
}

Problem &Problem::program(const std::string &program)
{
    text += " program='" + program + "'";
    return *this;
}

void Problem::run()
{
    if (device > 0) {
        run_on_buffers();
    } else {
        run_on_processor(inputs.data(), outputs.data());
    }
}

void Problem::run_on_copies()
{
    warn_of_fallback(text + " on " + device_name(device));
    const HostCall call("rynd::" + text.substr(0, text.find(' ')));
    synchronize(device);
    std::map<rynd_buffer *, std::vector<char>> copies;
    auto copied = [&copies](const void *address) {
        const rynd_operand place = operand_at(address);
        if (!place.buffer) {
            return static_cast<char *>(const_cast<void *>(address)); // a scalar, or absent
        }
        std::vector<char> &bytes = copies[place.buffer];
        if (bytes.empty()) {
            bytes.resize(rynd_buffer_size(place.buffer));
            check(rynd_buffer_read(place.buffer, 0, bytes.data(), bytes.size()));
        }
        return bytes.data() + place.offset;
    };
    std::vector<const void *> from;
    std::vector<void *> to;
    std::transform(inputs.begin(), inputs.end(), std::back_inserter(from), copied);
    std::transform(outputs.begin(), outputs.end(), std::back_inserter(to), copied);
    run_on_processor(from.data(), to.data());
    for (const void *address : outputs) {
        if (rynd_buffer *buffer = operand_at(address).buffer) {
            check(rynd_buffer_write(buffer, 0, copies[buffer].data(), copies[buffer].size()));
        }
    }
}

// An address that no buffer has is that of a scalar.
void Problem::run_on_buffers()
{
    std::vector<rynd_operand> from, to;
    for (const void *address : inputs) {
        from.push_back(operand_at(address));
        from.back().value = from.back().buffer ? nullptr : address;
    }
    for (void *address : outputs) {
        to.push_back(operand_at(address));
    }
    Cache &all = *caches()[size_t(device)];
    std::unique_lock<std::mutex> lock(all.mutex);
    rynd_op *op = all.find(text);
    if (!op) {
        lock.unlock();
        run_on_copies();
        return;
    }
    from.resize(rynd_op_input_count(op));
    to.resize(rynd_op_output_count(op));
    Queue &queue = queue_of(device);
    const std::lock_guard<std::mutex> stream(queue.mutex);
    TORCH_CHECK(rynd_op_run_async(op, from.data(), to.data(), nullptr, queue.stream) == RYND_OK,
                "rynd: ", text, ": ", rynd_last_error());
}

void Problem::run_on_processor(const void *const *from, void *const *to)
{
    Cache &all = *caches()[0];
    const std::lock_guard<std::mutex> lock(all.mutex);
    rynd_op *op =
        constant_stamp ? all.find(text, {constant, from[constant], constant_stamp}) : nullptr;
    op = op ? op : all.find(text);
    TORCH_CHECK(rynd_op_execute(op, from, to) == RYND_OK, "rynd: ", text, ": ", rynd_last_error());
}

CacheFigures cache_figures()
{
    CacheFigures sum = {0, 0, 0};
    for (Cache *cache : caches()) {
        const std::lock_guard<std::mutex> lock(cache->mutex);
        const CacheFigures one = cache->figures();
        sum.operators += one.operators;
        sum.made += one.made;
        sum.bytes += one.bytes;
    }
    return sum;
}

void clear_cache()
{
    for (Cache *cache : caches()) {
        const std::lock_guard<std::mutex> lock(cache->mutex);
        cache->clear();
    }
}

void set_threads(int threads)
{
    const std::lock_guard<std::mutex> lock(caches()[0]->mutex);
    caches()[0]->use(threads);
}

} // namespace rynd_torch
