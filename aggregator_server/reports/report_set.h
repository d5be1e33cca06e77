// The reports of one sealed round, from which estimation starts: packed bits, one row a node.
//
// The rows take n^2 / 8 bytes. They are allocated with the first report: before one has proved to be of these
// parameters, n is only a claim.
//
// Under Mechanism::kOneEnd a report is about the node's own pairs, and a row has zeros elsewhere. Estimates need what
// was received about each pair from both its ends. Mirror() makes that:
//
//   ReportSet as received  -->  tests, Drop  -->  Mirror  -->  estimates
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"

namespace blink {

class ReportSet {
 public:
  explicit ReportSet(const PrivacyParameters& parameters);

  // Each node at most once, in any order, and none after Mirror. INVALID_ARGUMENT on a repeated node, a wrong size, or
  // a missing or surplus part.
  absl::Status Add(NodeIndex node, PrivateReport report);
  // Afterwards the set is as if the node had never reported. Not after Mirror.
  void Drop(NodeIndex node);
  // Of Mechanism::kOneEnd. Copies each bit into the row of the pair's other end, so that the two bits of a pair are one
  // observation, of half the weight each (bit_log_odds). A pair whose own end is silent has a one in the row of that
  // end and a zero in the other: two halves that cancel, which is no observation. So every row is evidence, and noisy
  // degrees are twice the noisy number of links among a node's own pairs.
  void Mirror();

  const PrivacyParameters& parameters() const { return parameters_; }
  uint32_t node_count() const { return parameters_.node_count(); }
  uint32_t report_count() const { return report_count_; }
  bool mirrored() const { return mirrored_; }
  // The weight of one received bit, ln((1 - p') / p'); of a mirrored one half of it, since it is received twice.
  double bit_log_odds() const { return parameters_.bit_log_odds() / (mirrored_ ? 2 : 1); }
  // Whether the row of the node counts as evidence about its pairs: it has reported, or the set is mirrored.
  bool has_evidence(NodeIndex node) const { return mirrored_ || reported_.Test(node); }
  bool reported(NodeIndex node) const { return reported_.Test(node); }
  const BitRow& reported_nodes() const { return reported_; }
  const std::optional<int64_t>& noisy_degree(NodeIndex node) const { return noisy_degrees_[node]; }
  // [words_per_row()] words, all zero for a node without report unless the set is mirrored; empty when s = 1.
  absl::Span<const uint64_t> row(NodeIndex node) const;
  uint32_t words_per_row() const { return words_per_row_; }

 private:
  void SetBit(NodeIndex node, NodeIndex about);
  bool HasRows() const { return bits_.size() > words_per_row_; }

  PrivacyParameters parameters_;
  uint32_t words_per_row_ = 0;
  uint32_t report_count_ = 0;
  bool mirrored_ = false;
  BitRow reported_;
  std::vector<std::optional<int64_t>> noisy_degrees_;  // [n]
  std::vector<uint64_t> bits_;  // [n * words_per_row]; before the first report [words_per_row], the zeros of every row
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_
