// What the agent says to the aggregator, without gRPC: GrpcLink speaks it, tests script it.
//
// Every answer may carry a retry window. Implementations check what arrives (sizes, digests, ranges); what they return
// is well-formed but still untrusted. Calls block; statuses are those of proto/blink/v1/node.proto.
#ifndef BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_
#define BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/digest.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"

namespace blink {

// A round as offered: a view, or why it cannot be taken part in (malformed, an unknown mechanism, parameters out of
// range).
struct OfferedRound {
  std::string round_id;
  absl::StatusOr<RoundView> view;
};

struct Receipt {
  std::string round_id;
  NodeIndex node = 0;
  Digest digest{};
  int64_t received_minute = 0;  // since the Unix epoch
};

struct OutgoingReport {
  NodeIndex node;
  PrivacyParameters parameters;
  CodedReport report;
};

template <typename T>
struct LinkResult {
  absl::StatusOr<T> value;
  std::optional<RetryWindow> retry;
};
struct Done {};

class AggregatorLink {
 public:
  virtual ~AggregatorLink() = default;

  // Open rounds, oldest first; or, with a round id, that round in whatever state (NOT_FOUND: there is none).
  virtual LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) = 0;

  virtual LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) = 0;

  // A stream of reports: `next` gives one after the other until it gives nothing; `on_reply` sees a receipt or a
  // refusal for each, in any order. A bounded number is in flight. An error of either callback ends the stream and is
  // returned.
  using NextReport = std::function<absl::StatusOr<std::optional<OutgoingReport>>()>;
  using OnReply = std::function<absl::Status(NodeIndex node, const absl::StatusOr<Receipt>& reply)>;
  virtual LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next,
                                         const OnReply& on_reply) = 0;

  // The digests held for nodes of [first, last].
  using OnDigest = std::function<void(NodeIndex node, const Digest& digest)>;
  virtual LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                                       const OnDigest& on_digest) = 0;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_
