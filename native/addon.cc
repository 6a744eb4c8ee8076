// Arguments and results of the functions JavaScript calls; what they do is elsewhere.
#define NAPI_VERSION 8
#include <node_api.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "cpu.h"
#include "quantize/gram.h"
#include "runner.h"

namespace halfbyte {
namespace {

/** An exception is pending in JavaScript already. */
struct Pending {};

void check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) throw Pending{};
  const napi_extended_error_info* info = nullptr;
  napi_get_last_error_info(env, &info);
  throw std::runtime_error(info && info->error_message ? info->error_message : "Node-API call failed");
}

/** Runs `body`; what it throws becomes a JavaScript error with a code. */
template <class Body>
napi_value guarded(napi_env env, Body body) {
  try {
    return body();
  } catch (const Pending&) {
  } catch (const std::bad_alloc&) {
    napi_throw_error(env, "ERR_MEMORY", "not enough memory");
  } catch (const std::invalid_argument& error) {
    napi_throw_error(env, "ERR_ARGUMENT", error.what());
  } catch (const std::logic_error& error) {
    napi_throw_error(env, "ERR_ARGUMENT", error.what());
  } catch (const std::system_error& error) {
    napi_throw_error(env, "ERR_EXECUTOR", error.what());
  } catch (const std::exception& error) {
    napi_throw_error(env, "ERR_EXECUTOR", error.what());
  }
  return nullptr;
}

napi_value number(napi_env env, double x) {
  napi_value value;
  check(env, napi_create_double(env, x, &value));
  return value;
}

napi_value text(napi_env env, const std::string& s) {
  napi_value value;
  check(env, napi_create_string_utf8(env, s.data(), s.size(), &value));
  return value;
}

template <class T>
constexpr napi_typedarray_type kArrayType = std::is_same_v<T, int32_t>   ? napi_int32_array
                                            : std::is_same_v<T, float>   ? napi_float32_array
                                            : std::is_same_v<T, uint8_t> ? napi_uint8_array
                                                                         : napi_float64_array;

template <class T>
std::span<T> array(napi_env env, napi_value value) {
  napi_typedarray_type type;
  size_t length;
  void* data;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != kArrayType<T>)
    throw std::invalid_argument("a typed array of another type was expected");
  return {static_cast<T*>(data), length};
}

struct Arguments {
  static constexpr size_t kMost = 8;
  napi_env env;
  size_t count = kMost;
  napi_value values[kMost];

  Arguments(napi_env env, napi_callback_info info) : env(env) {
    check(env, napi_get_cb_info(env, info, &count, values, nullptr, nullptr));
  }
  napi_value at(size_t i) const {
    if (i >= count) throw std::invalid_argument("an argument is missing");
    return values[i];
  }
  template <class T>
  std::span<T> array(size_t i) const {
    return halfbyte::array<T>(env, at(i));
  }
  int64_t integer(size_t i) const {
    int64_t x;
    check(env, napi_get_value_int64(env, at(i), &x));
    return x;
  }
  std::string string(size_t i) const {
    char buffer[64];
    size_t length;
    check(env, napi_get_value_string_utf8(env, at(i), buffer, sizeof buffer, &length));
    return {buffer, length};
  }
};

/** What JavaScript holds: a runner, and how a step or packing that ends on another thread comes back. */
struct Handle {
  std::unique_ptr<Runner> runner;
  napi_threadsafe_function wake = nullptr;
  /** Of what is under way. */
  napi_deferred deferred = nullptr;
  /** Bytes being packed. */
  napi_ref source = nullptr;
  /** Of the logits, detached at release. */
  napi_ref logits = nullptr;
  bool cancelled = false;

  /** On a thread of the pool. */
  void ended(bool wasCancelled) {
    cancelled = wasCancelled;
    napi_call_threadsafe_function(wake, nullptr, napi_tsfn_nonblocking);
  }
};

Handle& handleOf(const Arguments& arguments) {
  void* data;
  check(arguments.env, napi_get_value_external(arguments.env, arguments.at(0), &data));
  Handle& handle = *static_cast<Handle*>(data);
  if (!handle.runner) throw std::logic_error("the runner was released");
  return handle;
}

/** Settles the promise with whether all was done; false where it was cancelled. */
void settle(napi_env env, napi_value, void* context, void*) {
  Handle& handle = *static_cast<Handle*>(context);
  if (!env || !handle.deferred) return;
  if (handle.runner) handle.runner->ended();
  if (handle.source) napi_delete_reference(env, std::exchange(handle.source, nullptr));
  if (handle.wake) napi_unref_threadsafe_function(env, handle.wake);
  const napi_deferred deferred = std::exchange(handle.deferred, nullptr);
  napi_value whole;
  if (napi_get_boolean(env, !handle.cancelled, &whole) == napi_ok) napi_resolve_deferred(env, deferred, whole);
}

/** A promise for what `start` begins; `start` gets what to call at its end. */
template <class Start>
napi_value promised(napi_env env, Handle& handle, Start start) {
  if (handle.deferred) throw std::logic_error("a step is under way");
  napi_value promise;
  check(env, napi_create_promise(env, &handle.deferred, &promise));
  try {
    start([&handle](bool cancelled) { handle.ended(cancelled); });
  } catch (...) {
    handle.deferred = nullptr;
    throw;
  }
  // While it runs, the process stays.
  napi_ref_threadsafe_function(env, handle.wake);
  return promise;
}

/** Memory that JavaScript sees; the region lives for as long as it does. */
napi_value shared(napi_env env, const std::shared_ptr<Region>& region, uint8_t* data, size_t bytes) {
  auto owner = std::make_unique<std::shared_ptr<Region>>(region);
  napi_value value;
  check(env, napi_create_external_arraybuffer(
                 env, data, bytes,
                 [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<Region>*>(hint); }, owner.get(),
                 &value));
  owner.release();
  return value;
}

void release(napi_env env, Handle& handle) {
  // Joins the threads: no step touches memory, or calls `wake`, after this.
  handle.runner.reset();
  if (handle.source) napi_delete_reference(env, std::exchange(handle.source, nullptr));
  if (handle.wake) napi_release_threadsafe_function(std::exchange(handle.wake, nullptr), napi_tsfn_abort);
  if (handle.logits) {
    napi_value buffer;
    if (napi_get_reference_value(env, handle.logits, &buffer) == napi_ok && buffer)
      napi_detach_arraybuffer(env, buffer);
    napi_delete_reference(env, std::exchange(handle.logits, nullptr));
  }
}

/** kernels() → [{ name, reason }]: best first; the reason is empty where the CPU can run it. */
napi_value kernels(napi_env env, napi_callback_info) {
  return guarded(env, [&] {
    napi_value list;
    check(env, napi_create_array(env, &list));
    uint32_t i = 0;
    for (const Candidate& candidate : kernelCandidates()) {
      napi_value entry;
      check(env, napi_create_object(env, &entry));
      check(env, napi_set_named_property(env, entry, "name", text(env, candidate.kernels->name)));
      check(env, napi_set_named_property(env, entry, "reason", text(env, candidate.reason)));
      check(env, napi_set_element(env, list, i++, entry));
    }
    return list;
  });
}

/** cpu() → its name. */
napi_value cpu(napi_env env, napi_callback_info) {
  return guarded(env, [&] { return text(env, cpuName()); });
}

const Kernels& kernelsNamed(const std::string& name) {
  for (const Candidate& candidate : kernelCandidates())
    if (candidate.kernels->name == name) {
      if (!candidate.reason.empty()) throw std::invalid_argument(name + ": " + candidate.reason);
      return *candidate.kernels;
    }
  throw std::invalid_argument("no kernel is named " + name);
}

/**
 * create(ops, matrices, vectors, ropeTables, shape, kernel) → handle. `shape` is a Float64Array: cache f32, layers,
 * kvHeads, headSize, headBytes, blockBytes, arenaBytes, maxRows, maxLogitRows, a16, threads.
 */
napi_value create(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    RunnerShape shape;
    shape.ops = arguments.array<int32_t>(0);
    shape.matrices = arguments.array<int32_t>(1);
    uint32_t vectors;
    check(env, napi_get_array_length(env, arguments.at(2), &vectors));
    for (uint32_t i = 0; i < vectors; i++) {
      napi_value vector;
      check(env, napi_get_element(env, arguments.at(2), i, &vector));
      shape.vectors.push_back(array<float>(env, vector));
    }
    const auto ropeTables = arguments.array<int32_t>(3);
    shape.ropeTables.assign(ropeTables.begin(), ropeTables.end());
    const auto numbers = arguments.array<double>(4);
    if (numbers.size() != 11) throw std::invalid_argument("shape");
    for (const double x : numbers)
      if (!(x >= 0 && x <= 0x1p53)) throw std::invalid_argument("shape");
    const auto whole = [&](size_t i) { return static_cast<int>(std::min(numbers[i], 2147483647.0)); };
    shape.cache = {numbers[0] != 0, whole(1), whole(2), whole(3), static_cast<size_t>(numbers[4]),
                   static_cast<size_t>(numbers[5])};
    shape.arenaBytes = static_cast<int64_t>(numbers[6]);
    shape.maxRows = whole(7);
    shape.maxLogitRows = whole(8);
    shape.a16 = numbers[9] != 0;
    shape.threads = whole(10);
    if (shape.threads < 1 || shape.threads > 1024) throw std::invalid_argument("thread count");
    shape.kernels = &kernelsNamed(arguments.string(5));

    auto handle = std::make_unique<Handle>();
    handle->runner = std::make_unique<Runner>(shape);
    napi_value name = text(env, "halfbyte step");
    check(env, napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, handle.get(), settle,
                                               &handle->wake));
    check(env, napi_unref_threadsafe_function(env, handle->wake));
    napi_value external;
    check(env, napi_create_external(
                   env, handle.get(),
                   [](napi_env env, void* data, void*) {
                     std::unique_ptr<Handle> handle(static_cast<Handle*>(data));
                     release(env, *handle);
                   },
                   nullptr, &external));
    handle.release();
    return external;
  });
}

/** matrixBytes(handle, i) → ArrayBuffer over the memory of a packed matrix, zeroed. */
napi_value matrixBytes(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    Runner& runner = *handleOf(arguments).runner;
    const std::span<uint8_t> bytes = runner.matrixBytes(static_cast<size_t>(arguments.integer(1)));
    return shared(env, runner.weights(), bytes.data(), bytes.size());
  });
}

/** logits(handle, offset, bytes) → ArrayBuffer over that part of the arena. */
napi_value logits(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    Handle& handle = handleOf(arguments);
    const std::shared_ptr<Region>& arena = handle.runner->arena();
    const int64_t offset = arguments.integer(1), bytes = arguments.integer(2);
    if (handle.logits || offset < 0 || bytes < 0 || bytes > static_cast<int64_t>(arena->size()) ||
        offset > static_cast<int64_t>(arena->size()) - bytes)
      throw std::invalid_argument("logits are outside the arena");
    const napi_value buffer = shared(env, arena, arena->data() + offset, static_cast<size_t>(bytes));
    check(env, napi_create_reference(env, buffer, 1, &handle.logits));
    return buffer;
  });
}

/** read(handle, offset, bytes) → ArrayBuffer with a copy of that part of the arena. */
napi_value read(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    const std::span<const uint8_t> part = handleOf(arguments).runner->read(arguments.integer(1), arguments.integer(2));
    void* copy;
    napi_value buffer;
    check(env, napi_create_arraybuffer(env, part.size(), &copy, &buffer));
    std::copy(part.begin(), part.end(), static_cast<uint8_t*>(copy));
    return buffer;
  });
}

/** ensureBlocks(handle, count) → bytes of the cache. */
napi_value ensureBlocks(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    Runner& runner = *handleOf(arguments).runner;
    runner.ensureBlocks(arguments.integer(1));
    return number(env, static_cast<double>(runner.cacheBytes()));
  });
}

/**
 * step(handle, tokenIds, segments, blocks, logitRows, angles, logitCount) → Promise<boolean>, false where it was
 * cancelled. `logitCount` is the number of logitRows, or 0 to end before the logits. `segments` has rows, position and where its blocks begin, for each.
 */
napi_value step(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    Handle& handle = handleOf(arguments);
    StepInput input;
    const auto copy = [](auto& to, auto from) { to.assign(from.begin(), from.end()); };
    copy(input.tokenIds, arguments.array<int32_t>(1));
    const auto segments = arguments.array<int32_t>(2);
    if (segments.size() % 3) throw std::invalid_argument("segments");
    int64_t row = 0;
    for (size_t i = 0; i < segments.size(); i += 3) {
      if (row > INT32_MAX || segments[i + 2] < 0) throw std::invalid_argument("segments");
      input.segments.push_back({static_cast<int>(row), segments[i], segments[i + 1], static_cast<size_t>(segments[i + 2])});
      row += segments[i];
    }
    copy(input.blocks, arguments.array<int32_t>(3));
    copy(input.logitRows, arguments.array<int32_t>(4));
    copy(input.angles, arguments.array<float>(5));
    input.logitCount = arguments.integer(6);
    return promised(env, handle, [&](auto ended) { handle.runner->step(std::move(input), ended); });
  });
}

/**
 * pack(handle, matrix, ggml type, first row, rows, bytes) → Promise<boolean>: rows of ggml blocks into a packed matrix.
 */
napi_value pack(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    const Arguments arguments(env, info);
    Handle& handle = handleOf(arguments);
    const napi_value promise = promised(env, handle, [&](auto ended) {
      handle.runner->pack(static_cast<size_t>(arguments.integer(1)), static_cast<int>(arguments.integer(2)),
                          arguments.integer(3), arguments.integer(4), arguments.array<uint8_t>(5), ended);
    });
    check(env, napi_create_reference(env, arguments.at(5), 1, &handle.source));
    return promise;
  });
}

/** canPack(ggml type) → whether `pack` takes it. */
napi_value canPack(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    napi_value known;
    check(env, napi_get_boolean(env, ggmlType(static_cast<int>(Arguments(env, info).integer(0))) != nullptr, &known));
    return known;
  });
}

/** cancel(handle): the step under way resolves to false, soon. */
napi_value cancel(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    handleOf(Arguments(env, info)).runner->cancel();
    return nullptr;
  });
}

/** release(handle): ends threads and gives memory back; buffers from `logits` become empty. */
napi_value releaseHandle(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    Handle& handle = handleOf(Arguments(env, info));
    if (handle.deferred) throw std::logic_error("a step is under way");
    release(env, handle);
    return nullptr;
  });
}

/** detach(buffer): a buffer from `matrixBytes` becomes empty. */
napi_value detach(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    check(env, napi_detach_arraybuffer(env, Arguments(env, info).at(0)));
    return nullptr;
  });
}

napi_value init(napi_env env, napi_value exports) {
  static constexpr struct {
    const char* name;
    napi_callback call;
  } kFunctions[] = {{"kernels", kernels},
                    {"cpu", cpu},
                    {"create", create},
                    {"matrixBytes", matrixBytes},
                    {"logits", logits},
                    {"read", read},
                    {"ensureBlocks", ensureBlocks},
                    {"step", step},
                    {"pack", pack},
                    {"canPack", canPack},
                    {"cancel", cancel},
                    {"release", releaseHandle},
                    {"detach", detach}};
  return guarded(env, [&] {
    for (const auto& [name, call] : kFunctions) {
      napi_value function;
      check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &function));
      check(env, napi_set_named_property(env, exports, name, function));
    }
    defineGram(env, exports);
    return exports;
  });
}

}  // namespace
}  // namespace halfbyte

NAPI_MODULE(halfbyte, halfbyte::init)
