// A round as the page shows it, from what the store and its folder have.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_ROUND_JSON_H_
#define BLINK_AGGREGATOR_SERVER_WEB_ROUND_JSON_H_

#include <string>

#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/web/json.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// For lists and events: small, and without the result.
Json RoundSummary(const v1::Round& round);

// All that is told of one round but what the files of its result hold. `folder` is its own, DATA/rounds/<id>; the dates
// of its files say when it was sealed and when its result came.
Json RoundDetail(const v1::Round& round, const std::string& folder);

// How many nodes are missing, and which, at most about a thousand ranges of them. Errors as ListMissing.
absl::StatusOr<Json> MissingJson(Pipeline& pipeline, const std::string& round_id);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_ROUND_JSON_H_
