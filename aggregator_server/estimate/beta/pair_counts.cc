#include "aggregator_server/estimate/beta/pair_counts.h"

#include <algorithm>
#include <atomic>

#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

constexpr uint64_t kTableBytes = 32 << 20;
constexpr uint64_t kShareOfReports = 8;  // all threads' tables may take one in so many of the reports' bytes

uint64_t TableBytes(const ReportSet& reports, int threads) {
  const auto bytes = static_cast<uint64_t>(ExpectedRowBytes(reports.parameters(), reports.storage()));
  return std::max(kTableBytes, bytes / kShareOfReports / static_cast<uint64_t>(threads));
}

}  // namespace

PairCounts::PairCounts(const ReportSet& reports, const Posterior& posterior, int threads, uint64_t table_bytes)
    : reports_(reports),
      posterior_(posterior),
      class_of_node_(posterior.prior().class_of_node()),
      class_count_(posterior.prior().class_count()),
      threads_(ThreadsFor(threads, TileCount(reports.node_count()))),
      reported_(class_count_, 0),
      silent_(class_count_, 0) {
  if (table_bytes == 0) table_bytes = TableBytes(reports, threads_);
  const uint64_t of_class = uint64_t{3} * sizeof(uint64_t) * class_count_;
  classes_of_block_ = static_cast<uint32_t>(std::clamp<uint64_t>(table_bytes / of_class, 1, class_count_));
  const bool bits = reports.parameters().sends_bits();
  for (NodeIndex i = 0; i < reports.node_count(); ++i) {
    ++(bits && reports.has_evidence(i) ? reported_ : silent_)[class_of_node_[i]];
  }
}

PairCounts::Pairs PairCounts::AllPairs(uint32_t a, uint32_t b) const {
  if (a == b) {
    const uint64_t with = reported_[a], without = silent_[a];
    return {{without * (without - (without > 0)) / 2, with * without, with * (with - (with > 0)) / 2}};
  }
  return {
      {silent_[a] * silent_[b], reported_[a] * silent_[b] + silent_[a] * reported_[b], reported_[a] * reported_[b]}};
}

void PairCounts::ForEachClass(const Visit& visit, const std::function<void(double)>& progress,
                              const std::function<void(const PairRow&)>& on_row) {
  if (kept_ && !on_row) return VisitBlock(0, class_count_, visit);
  kept_ = false;
  ProgressParts parts(progress, class_count_);
  for (uint32_t begin = 0; begin < class_count_; begin += classes_of_block_) {
    const uint32_t end = std::min(begin + classes_of_block_, class_count_);
    Count(begin, end, parts.Next(end - begin), begin == 0 ? on_row : nullptr);
    VisitBlock(begin, end, visit);
  }
  kept_ = classes_of_block_ >= class_count_;
  tables_.resize(kept_ ? 1 : 0);
}

// The rows of one pass are those of the block's nodes, or all where somebody wants to see them.
void PairCounts::Count(uint32_t begin, uint32_t end, const std::function<void(double)>& progress,
                       const std::function<void(const PairRow&)>& on_row) {
  tables_.resize(threads_);
  for (auto& table : tables_) table.assign(size_t{3} * class_count_ * (end - begin), 0);
  const auto in_block = [&](NodeIndex i) { return class_of_node_[i] - begin < end - begin; };  // wraps below `begin`
  if (!reports_.parameters().sends_bits() && !on_row) return;
  ForEachPairRow(
      reports_, PairSpan::kLater, threads_,
      [&](const PairRow& row) {
        if (on_row) on_row(row);
        if (in_block(row.i)) CountRow(row, begin);
      },
      progress, on_row || end - begin == class_count_ ? std::function<bool(NodeIndex)>() : in_block);
}

void PairCounts::CountRow(const PairRow& row, uint32_t begin) {
  const bool reported = reports_.has_evidence(row.i);
  uint64_t* counts = &tables_[row.thread][size_t{3} * class_count_ * (class_of_node_[row.i] - begin)];
  row.ForEachOne([&](NodeIndex j, bool both) {
    const int kind = !(reported && reports_.has_evidence(j)) ? 0 : both ? 2 : 1;
    ++counts[class_of_node_[j] * size_t{3} + kind];
  });
}

// Sums the threads' counts (integers: the order does not matter), and visits.
void PairCounts::VisitBlock(uint32_t begin, uint32_t end, const Visit& visit) {
  constexpr uint64_t kEntriesOfThread = 1 << 15;  // that are worth its start
  const size_t of_class = size_t{3} * class_count_;
  std::atomic<uint32_t> next{begin};
  const auto threads = std::min<uint64_t>(of_class * (end - begin) / kEntriesOfThread + 1, threads_);
  RunOnThreads(static_cast<int>(threads), [&](int) {
    for (uint32_t a; (a = next.fetch_add(1)) < end;) {
      uint64_t* counts = &tables_[0][of_class * (a - begin)];
      for (size_t t = 1; t < tables_.size(); ++t) {
        const uint64_t* others = &tables_[t][of_class * (a - begin)];
        for (size_t k = 0; k < of_class; ++k) counts[k] += others[k];
      }
      visit(a, {counts, of_class});
    }
  });
}

}  // namespace blink
