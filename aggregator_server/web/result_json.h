// What metrics.json says, in the few parts that the page shows.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_RESULT_JSON_H_
#define BLINK_AGGREGATOR_SERVER_WEB_RESULT_JSON_H_

#include "absl/status/statusor.h"
#include "aggregator_server/web/json.h"

namespace blink {

// Accuracy beside that of the features alone, the search, the estimate and the warnings.
Json ResultJson(const Json& metrics);

// NOT_FOUND: the round trained no model, or has too many classes for a matrix.
absl::StatusOr<Json> ConfusionJson(const Json& metrics);
// NOT_FOUND: the round has no such checks.
absl::StatusOr<Json> PlausibilityFiguresJson(const Json& metrics);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_RESULT_JSON_H_
