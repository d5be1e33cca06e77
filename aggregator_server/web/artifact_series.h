// Series and histograms from the files of a result, small enough for a picture.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_ARTIFACT_SERIES_H_
#define BLINK_AGGREGATOR_SERVER_WEB_ARTIFACT_SERIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/web/json.h"

namespace blink {

inline constexpr size_t kCurvePointsMax = 400;
inline constexpr size_t kDegreeBinsMax = 30;

// The learning curves of the file, at most kCurvePointsMax points of it, the first and the last among them. NOT_FOUND:
// there is no such file. DATA_LOSS: it is not the file that metrics.json beside it records, or has another form.
absl::StatusOr<Json> CurvesJson(const std::string& result_folder);

// [n] the estimated degrees of the file. Errors as above.
absl::StatusOr<std::vector<float>> ReadEstimatedDegrees(const std::string& result_folder);

// How many values fall into ranges of equal width, [from, to), and how many lie outside of all. The values are as they
// were reported, or estimated; either may be absent.
Json DegreesJson(const std::optional<std::vector<float>>& noisy, const std::optional<std::vector<float>>& estimated);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_ARTIFACT_SERIES_H_
