#include "python/bindings/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/machine_memory.h"

namespace blink::python {
namespace {

PyObject* ExceptionFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kDataLoss:
      return PyExc_ValueError;
    case absl::StatusCode::kNotFound:
      return PyExc_FileNotFoundError;
    case absl::StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    default:
      return PyExc_RuntimeError;
  }
}

template <typename Enum, typename Names>
Enum FindName(const Names& names, const std::string& name, const char* argument) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw nb::value_error(absl::StrCat(argument, " is '", name, "'").c_str());
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

void ThrowUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  PyErr_SetString(ExceptionFor(status.code()), std::string(status.message()).c_str());
  throw nb::python_error();
}

absl::Status CheckMemory(double bytes, const std::string& what) {
  const MachineMemory memory = FindMachineMemory();
  if (bytes <= static_cast<double>(memory.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(what, " needs about ", FormatBytes(bytes), " of memory, and ",
                                                   memory.available_of, " has ",
                                                   FormatBytes(static_cast<double>(memory.available)), " free"));
}

std::function<void(double)> Progress::Function() {
  if (callable_.is_none()) return {};
  return [this](double fraction) {
    nb::gil_scoped_acquire acquire;
    if (raised_) return;
    try {
      callable_(fraction);
    } catch (nb::python_error& error) {
      raised_ = std::make_unique<nb::python_error>(std::move(error));
    }
  };
}

void Progress::Rethrow() {
  if (raised_) throw nb::python_error(std::move(*raised_));
}

Prior PriorOf(const std::string& name) { return FindName<Prior>(kPriorNames, name, "prior"); }
Variant VariantOf(const std::string& name) { return FindName<Variant>(kVariantNames, name, "variant"); }

}  // namespace blink::python
