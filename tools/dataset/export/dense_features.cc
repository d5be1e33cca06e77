#include "absl/strings/str_cat.h"
#include "tools/dataset/export/export.h"

namespace blink {

absl::Status CheckDenseFeatures(const FeatureMatrix& features) {
  const uint64_t values = uint64_t{features.rows} * features.cols;
  if (values <= kDenseValuesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(features.cols, " features of ", features.rows, " nodes are ", values,
                                                 " values in a dense form, above the limit of ", kDenseValuesMax,
                                                 ": choose --format npz, which keeps them sparse"));
}

}  // namespace blink
