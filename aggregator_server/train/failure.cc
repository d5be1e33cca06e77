#include "aggregator_server/train/failure.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

absl::Status OutOfMemory(const TrainDevice& device) {
  return absl::ResourceExhaustedError(
      absl::StrCat("training ran out of memory on ", device.description, ": ",
                   device.device.is_cpu() ? "use hard links in place of soft ones, a smaller hidden width, fewer "
                                            "threads where a search trains side by side, or a "
                                            "machine with more memory"
                                          : "use hard links in place of soft ones, a smaller hidden width, a GPU with "
                                            "more memory, or let it go on on the CPU "
                                            "(--on-out-of-memory cpu)"));
}

std::string FirstLine(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n");  // errors of TorchScript begin with an empty line
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

absl::Status Failure(const TrainDevice& device, const char* what) {
  const std::string text = what;
  // The CPU's allocator has no exception type of its own.
  if (absl::StrContains(text, "can't allocate memory") || absl::StrContains(text, "not enough memory") ||
      absl::StrContains(text, "out of memory")) {
    return OutOfMemory(device);
  }
  return absl::InternalError(absl::StrCat("training failed on ", device.description, ": ", FirstLine(text)));
}

}  // namespace

absl::Status StatusFromCurrentException(const TrainDevice& device) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    return OutOfMemory(device);
  } catch (const c10::Error& error) {
    return Failure(device, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return OutOfMemory(device);
  } catch (const std::exception& error) {
    return Failure(device, error.what());
  } catch (...) {
    return absl::InternalError(absl::StrCat("training failed on ", device.description, " for an unknown reason"));
  }
}

absl::StatusOr<TrainResult> RunWithFallback(const TrainDevice& device, bool cpu_when_out_of_memory,
                                            const std::function<absl::StatusOr<TrainResult>(const TrainDevice&)>& run) {
  absl::StatusOr<TrainResult> result = run(device);
  if (result.ok() || !absl::IsResourceExhausted(result.status()) || device.device.is_cpu() || !cpu_when_out_of_memory) {
    return result;
  }
  result = run(TrainDevice{});
  if (result.ok()) result->fell_back_to_cpu = true;
  return result;
}

}  // namespace blink
