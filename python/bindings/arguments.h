// What the bindings share: arrays, errors as exceptions, and the interpreter's lock. Python has checked types, shapes
// and ranges before (python/blink); these functions check again what memory safety depends on.
#ifndef BLINK_PYTHON_BINDINGS_ARGUMENTS_H_
#define BLINK_PYTHON_BINDINGS_ARGUMENTS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/wire/training_choices.h"

namespace blink::python {

namespace nb = nanobind;

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Array>
auto ToStdVector(const Array& array) {
  using T = std::remove_const_t<typename Array::Scalar>;
  return std::vector<T>(array.data(), array.data() + array.size());
}

// A numpy array that owns `values`.
template <typename T>
nb::ndarray<nb::numpy, T> OwnedArray(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* data = kept->data();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

// Throws the exception of Python that fits: ValueError for an argument or a file, FileNotFoundError, MemoryError,
// RuntimeError for the rest. Needs the interpreter's lock. Does nothing for OK.
void ThrowUnlessOk(const absl::Status& status);

// Calls `work`, which returns a StatusOr, without the interpreter's lock.
template <typename Work>
auto Run(const Work& work) {
  auto result = [&] {
    nb::gil_scoped_release release;
    return work();
  }();
  ThrowUnlessOk(result.status());
  return *std::move(result);
}

// As Run, for work that ends when `stop` becomes true: a signal's handler may raise meanwhile, as that of Ctrl-C does.
template <typename Work>
auto RunUntilSignal(const Work& work) {
  std::atomic<bool> stop = false;
  auto working = std::async(std::launch::async, [&] { return work(stop); });
  const auto is_done = [&] {
    nb::gil_scoped_release release;
    return working.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready;
  };
  while (!is_done()) {
    if (PyErr_CheckSignals() == 0) continue;
    nb::python_error raised;
    stop = true;
    {
      nb::gil_scoped_release release;
      working.wait();
    }
    throw raised;
  }
  auto result = working.get();
  ThrowUnlessOk(result.status());
  return *std::move(result);
}

// RESOURCE_EXHAUSTED, naming `what`, where the machine has less memory than `bytes` free.
absl::Status CheckMemory(double bytes, const std::string& what);

// Hands a fraction, 0 .. 1, to a callable of Python, which may be None. What it raises ends the calls, and is raised
// again by Rethrow(): an exception must not cross the threads of an estimate.
class Progress {
 public:
  explicit Progress(nb::object callable) : callable_(std::move(callable)) {}
  std::function<void(double)> Function();
  void Rethrow();

 private:
  nb::object callable_;
  std::unique_ptr<nb::python_error> raised_;
};

Prior PriorOf(const std::string& name);
Variant VariantOf(const std::string& name);

void BindReports(nb::module_& module);
void BindLinks(nb::module_& module);
void BindEstimate(nb::module_& module);
void BindAudit(nb::module_& module);

}  // namespace blink::python

#endif  // BLINK_PYTHON_BINDINGS_ARGUMENTS_H_
