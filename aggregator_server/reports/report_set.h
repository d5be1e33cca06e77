// The reports of one sealed round, from which estimation starts: a row of bits a node.
//
// Where ones are common, the rows are packed bits, n^2 / 8 bytes. They are allocated with the first report: before one
// has proved to be of these parameters, n is only a claim. Where ones are rare, rows and columns are kept as gaps
// (gap_rows.h): at n = 10^6 and epsilon = 8 in 2.4 GB instead of 125 GB. Which it is follows from the parameters
// (FittingStorage). Estimates read either by way of ForEachOne, FillRow and estimate/received_rows.h.
//
//   ReportSet reports(parameters);  ... reports.Add(node, report) ...  reports.Complete(threads, progress)
//
// Under Mechanism::kOneEnd a report is about the node's own pairs, and a row has zeros elsewhere. Estimates need what
// was received about each pair from both its ends. Mirror() makes that:
//
//   ReportSet as received  -->  tests, Drop  -->  Mirror  -->  estimates
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "aggregator_server/reports/gap_rows.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"

namespace blink {

enum class RowStorage { kPacked, kGaps };

// Gaps, where they are expected to take at most a quarter of the packed bits, and those would take 16 MiB or more.
RowStorage FittingStorage(const PrivacyParameters& parameters);
// The bytes that the rows of n reports are expected to take, stored so; of gaps with their transpose.
double ExpectedRowBytes(const PrivacyParameters& parameters, RowStorage storage);
// The bytes of memory that a set of n reports is expected to take at its peak, stored as it fits; `on_disk`: the rows
// may lie in a scratch folder.
double ExpectedMemoryBytes(const PrivacyParameters& parameters, bool on_disk);

// Gaps that take more than 1 GiB lie in a file of this folder without a name, where one is given: then little of them
// is in memory at a time.
struct RowPlace {
  std::string scratch_folder;
};
// RESOURCE_EXHAUSTED naming the folder: it has less room than such reports are expected to take.
absl::Status CheckRoom(const PrivacyParameters& parameters, const RowPlace& place);

class ReportSet {
 public:
  explicit ReportSet(const PrivacyParameters& parameters, const RowPlace& place = {})
      : ReportSet(parameters, FittingStorage(parameters), place) {}
  ReportSet(const PrivacyParameters& parameters, RowStorage storage, const RowPlace& place = {});

  // Each node at most once, in any order, and none after Complete or Mirror. INVALID_ARGUMENT on a repeated node, a
  // wrong size, or a missing or surplus part. RESOURCE_EXHAUSTED: no memory or disk is left for its row.
  absl::Status Add(NodeIndex node, PrivateReport report);
  // After the last Add, before anything is read about pairs: transposes rows of gaps. RESOURCE_EXHAUSTED as for Add.
  absl::Status Complete(int threads = 0, const std::function<void(double fraction)>& progress = nullptr);
  bool is_complete() const { return storage_ == RowStorage::kPacked || columns_ != nullptr; }
  // Afterwards the set is as if the node had never reported. Not after Mirror.
  void Drop(NodeIndex node);
  // Of Mechanism::kOneEnd. Copies each bit into the row of the pair's other end, so that the two bits of a pair are one
  // observation, of half the weight each (bit_log_odds). A pair whose own end is silent has a one in the row of that
  // end and a zero in the other: two halves that cancel, which is no observation. So every row is evidence, and noisy
  // degrees are twice the noisy number of links among a node's own pairs. The set is complete afterwards.
  // RESOURCE_EXHAUSTED as for Add.
  absl::Status Mirror(int threads = 0);

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

  // The row of a node: all zero for one without report unless the set is mirrored; without bits when s = 1.
  uint32_t CountOnes(NodeIndex node) const;
  uint32_t CountOnesAmong(NodeIndex node, const BitRow& nodes) const;
  bool HasOne(NodeIndex node, NodeIndex about) const {
    if (storage_ == RowStorage::kPacked) return (row(node)[about >> 6] >> (about & 63)) & 1;
    return has_evidence(node) && rows_->Test(node, about);
  }
  // Calls visit(j) for the ones of the row from `from` on, ascending.
  template <typename Visit>
  void ForEachOne(NodeIndex node, const Visit& visit, NodeIndex from = 0) const {
    if (storage_ == RowStorage::kGaps) {
      if (has_evidence(node)) rows_->ForEachOne(node, from, node_count(), visit);
      return;
    }
    const absl::Span<const uint64_t> words = row(node);
    uint64_t wanted = ~uint64_t{0} << (from % 64);
    for (uint32_t w = from / 64; w < words.size(); ++w, wanted = ~uint64_t{0}) {
      for (uint64_t bits = words[w] & wanted; bits != 0; bits &= bits - 1) {
        visit(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  // Words first_word, first_word + 1 .. of the row; 0 behind its end.
  void FillRow(NodeIndex node, uint32_t first_word, absl::Span<uint64_t> words) const;
  uint32_t words_per_row() const { return words_per_row_; }

  RowStorage storage() const { return storage_; }
  // Packed only: [words_per_row()] words.
  absl::Span<const uint64_t> row(NodeIndex node) const;
  // Gaps only, of a complete set: row i has what was received from i, column i from whom a one about i was received. A
  // dropped report is still in both.
  const GapRows& gap_rows() const { return *rows_; }
  const GapRows& gap_columns() const { return *columns_; }
  bool has_dropped() const { return has_dropped_ && !mirrored_; }

 private:
  absl::Status MirrorGaps(int threads);
  void MirrorPacked();
  absl::Status AddGaps(NodeIndex node, const BitRow& bits);
  void AddPacked(NodeIndex node, const BitRow& bits);
  void SetBit(NodeIndex node, NodeIndex about);
  bool HasRows() const { return bits_.size() > words_per_row_; }

  PrivacyParameters parameters_;
  RowStorage storage_;
  std::string scratch_folder_;  // empty: gaps lie in memory
  uint32_t words_per_row_ = 0;
  uint32_t report_count_ = 0;
  bool mirrored_ = false, has_dropped_ = false;
  BitRow reported_;
  std::vector<std::optional<int64_t>> noisy_degrees_;  // [n]
  std::vector<uint64_t> bits_;  // [n * words_per_row]; before the first report [words_per_row], the zeros of every row
  std::shared_ptr<GapRows> rows_;  // shared by copies, which may drop different nodes
  std::shared_ptr<const GapRows> columns_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_SET_H_
