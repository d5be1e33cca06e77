// The agent's calls to the aggregator, as an interface without gRPC. GrpcLink makes them over the network, and tests
// script them.
//
// Every answer may carry a retry window. Implementations check what arrives: sizes, digests and ranges. What they
// return is well-formed, but still not to be trusted. Calls block. proto/blink/v1/node.proto documents the statuses.
#ifndef BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_
#define BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"

namespace blink {

// A round that the aggregator offers: its view, or the reason why the node cannot take part in it (malformed, an
// unknown mechanism, parameters out of range).
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

  // Asks for the open rounds, oldest first. With a round id, asks for that round, whatever its state is; NOT_FOUND when
  // there is no such round.
  virtual LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) = 0;

  // Asks for the groups of a round of Mechanism::kGroupDegrees, coded as groups_codec.h says. What is returned has
  // `bytes` bytes. A link of an aggregator that holds no such rounds need not have it.
  virtual LinkResult<std::string> GetGroups(NodeIndex, const std::string& round_id, uint64_t /*bytes*/) {
    return {absl::UnimplementedError(absl::StrCat("the groups of round ", round_id, " cannot be asked for")), {}};
  }

  virtual LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) = 0;

  // Sends a stream of reports. `next` gives one report after the other, and then nothing. `on_reply` gets a receipt or
  // a refusal for each, in any order. The number of reports in flight is bounded. An error of a callback ends the
  // stream and is returned.
  using NextReport = std::function<absl::StatusOr<std::optional<OutgoingReport>>()>;
  using OnReply = std::function<absl::Status(NodeIndex node, const absl::StatusOr<Receipt>& reply)>;
  virtual LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next,
                                         const OnReply& on_reply) = 0;

  // Asks for the digests that the aggregator holds for the nodes of [first, last].
  using OnDigest = std::function<void(NodeIndex node, const Digest& digest)>;
  virtual LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                                       const OnDigest& on_digest) = 0;

  // Says that this node's journal did not draw the report that is held for it. Nothing depends on the answer.
  virtual void NoteForeignReport(const std::string& /*round_id*/, NodeIndex /*node*/) {}
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_AGGREGATOR_LINK_H_
