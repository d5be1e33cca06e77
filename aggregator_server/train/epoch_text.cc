#include "aggregator_server/train/epoch_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace blink {
namespace {

std::string Duration(double seconds) {
  if (seconds < 100) return absl::StrCat(static_cast<int>(std::ceil(seconds)), " s");
  if (seconds < 6000) return absl::StrCat(static_cast<int>(std::ceil(seconds / 60)), " min");
  return absl::StrCat(static_cast<int64_t>(std::ceil(seconds / 3600)), " h");
}

}  // namespace

std::string EpochText::At(int epoch, absl::Time now) {
  std::string text = absl::StrCat("epoch ", epoch, " of ", epochs_);
  if (first_ == 0) {
    first_ = epoch;
    started_ = now;
    return text;
  }
  const int told = epoch - first_, left = epochs_ - epoch;
  if (told > 0 && left > 0) {
    absl::StrAppend(&text, ", ", Duration(absl::ToDoubleSeconds(now - started_) / told * left), " left");
  }
  return text;
}

}  // namespace blink
