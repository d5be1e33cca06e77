#include "node_client/draw_batch.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kNoiseBytes = 8 << 20;
constexpr size_t kRowsMax = 4096;

template <typename T>
absl::Status FirstError(const std::vector<absl::StatusOr<T>>& rows) {
  for (const auto& row : rows) BLINK_RETURN_IF_ERROR(row.status());
  return absl::OkStatus();
}

}  // namespace

size_t DrawBatch::RowsMax(uint32_t node_count, int threads) {
  const size_t row_bytes = node_count / 8 + 64;
  return std::max<size_t>(static_cast<size_t>(std::max(1, threads)), std::min(kRowsMax, kNoiseBytes / row_bytes));
}

void DrawBatch::ForEachRow(absl::FunctionRef<void(size_t row)> work) const {
  std::atomic<size_t> next{0};
  RunOnThreads(static_cast<int>(std::min<size_t>(nodes_.size(), std::max(1, threads_))), [&](int) {
    for (size_t row = next++; row < nodes_.size(); row = next++) work(row);
  });
}

absl::Status DrawBatch::Draw(std::vector<NodeIndex> nodes, RandomOfNode random_of) {
  nodes_ = std::move(nodes);
  noise_.clear();
  noise_.resize(nodes_.size());
  ForEachRow([&](size_t row) { noise_[row] = DrawNoise(parameters_, nodes_[row], random_of(nodes_[row])); });
  return FirstError(noise_);
}

absl::Status DrawBatch::Apply(const AdjacencyLists& lists) {
  noisy_.clear();
  noisy_.resize(nodes_.size());
  ForEachRow([&](size_t row) {
    const NodeIndex node = nodes_[row];
    noisy_[row] = ApplyNoise(parameters_, node, *std::move(noise_[row]), lists.Of(node), groups_);
  });
  noise_.clear();
  return FirstError(noisy_);
}

absl::Status DrawBatch::Encode() {
  coded_.clear();
  coded_.resize(nodes_.size());
  ForEachRow([&](size_t row) { coded_[row] = EncodeReport(parameters_, *noisy_[row]); });
  noisy_.clear();
  return FirstError(coded_);
}

}  // namespace blink
