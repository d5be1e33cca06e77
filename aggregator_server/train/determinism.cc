#include "aggregator_server/train/determinism.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

// LibTorch's deterministic algorithms while it lives. What has none throws, or for `warn_only` warns on standard error.
class DeterministicAlgorithms {
 public:
  explicit DeterministicAlgorithms(bool warn_only)
      : was_(at::globalContext().deterministicAlgorithms()),
        warned_(at::globalContext().deterministicAlgorithmsWarnOnly()) {
    at::globalContext().setDeterministicAlgorithms(true, warn_only);
  }
  ~DeterministicAlgorithms() { at::globalContext().setDeterministicAlgorithms(was_, warned_); }
  DeterministicAlgorithms(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms& operator=(const DeterministicAlgorithms&) = delete;

 private:
  const bool was_, warned_;
};

// "<operation> does not have a deterministic implementation, ...", or cuBLAS's complaint of its setting.
bool IsLackOfDeterminism(const std::string& text) {
  return absl::StrContains(text, "does not have a deterministic implementation") ||
         absl::StrContains(text, "Deterministic behavior was enabled");
}

}  // namespace

absl::StatusOr<TrainResult> RunDeterministically(const std::string& device,
                                                 absl::FunctionRef<absl::StatusOr<TrainResult>()> run) {
  std::string lacking;
  try {
    const DeterministicAlgorithms strict(/*warn_only=*/false);
    absl::StatusOr<TrainResult> result = run();
    if (result.ok()) result->deterministic = true;
    return result;
  } catch (const c10::Error& error) {
    lacking = error.what_without_backtrace();
    if (!IsLackOfDeterminism(lacking)) throw;
  }
  const DeterministicAlgorithms lenient(/*warn_only=*/true);
  absl::StatusOr<TrainResult> result = run();
  if (!result.ok()) return result;
  result->deterministic = false;
  const std::string operation = lacking.substr(0, lacking.find(" does not have a deterministic implementation"));
  result->warnings.push_back(absl::StrCat("not deterministic: on ", device, " ",
                                          operation.substr(0, operation.find('\n')),
                                          " may round differently from run to run; train on the CPU for equal bits"));
  return result;
}

}  // namespace blink
