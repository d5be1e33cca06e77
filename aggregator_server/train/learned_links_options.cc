#include "aggregator_server/train/learned_links_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status CheckRange(const char* name, double value, double low, bool low_allowed, double high) {
  if (std::isfinite(value) && value <= high && (value > low || (low_allowed && value == low))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, ": it must be in ", low_allowed ? "[" : "(", low, ", ", high, "]"));
}

}  // namespace

absl::Status ValidateLearnedLinks(const LearnedLinksOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckRange("rate", options.rate, 0, false, 10));
  BLINK_RETURN_IF_ERROR(CheckRange("closeness", options.closeness, 0, true, 1000));
  return CheckRange("sparsity", options.sparsity, 0, true, 1000);
}

double LearnedLinksBytes(uint32_t node_count, Model model) {
  const double matrix = 4.0 * node_count * node_count;
  // malloc takes blocks below 32 MiB from its heap, which is never as tight as the system's pages. Measured on Cora.
  const bool from_heap = matrix < 32.0 * 1024 * 1024;
  if (model == Model::kGat) return matrix * (from_heap ? 52 : 24);
  return matrix * (from_heap ? 12 : 9);
}

}  // namespace blink
