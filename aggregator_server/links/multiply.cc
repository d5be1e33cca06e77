#include <algorithm>
#include <atomic>
#include <cstring>

#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/links/row_kernels.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

// A thread is worth starting for about this many additions of numbers (0.1 ms).
constexpr uint64_t kAdditionsPerThread = 500'000;

// Some of x's columns through one kernel: copied side by side where they are not so already, padded with zeros to the
// kernel's number.
class Product {
 public:
  Product(const LinkWeights& weights, const float* x, int64_t width, float* y)
      : weights_(weights), segments_(FindSegments(weights)), x_(x), width_(width), y_(y) {}

  void Run(int64_t first_column, int64_t columns, int threads) {
    first_column_ = first_column;
    columns_ = columns;
    kernel_columns_ = columns <= 4 ? 4 : columns <= 8 ? 8 : columns <= 16 ? 16 : 32;
    kernels_ = KernelsFor(kernel_columns_);
    PrepareColumns();
    if (weights_.has_background()) SumBackground();
    next_row_ = 0;
    RunOnThreads(threads, [this](int) { Work(); });
  }

 private:
  const float* Row(NodeIndex j) const { return x_ + j * width_ + first_column_; }

  void PrepareColumns() {
    const bool as_it_is = columns_ == width_ && columns_ == kernel_columns_;
    const uint32_t n = weights_.node_count;
    list_x_ = x_;
    if (weights_.links.node_count() != 0 && !as_it_is) {
      copied_.assign(size_t{n} * kernel_columns_, 0.0f);
      for (NodeIndex j = 0; j < n; ++j) std::copy_n(Row(j), columns_, &copied_[size_t{j} * kernel_columns_]);
      list_x_ = copied_.data();
    }
    if (weights_.ones.empty()) return;
    const std::vector<NodeIndex>& node_at = weights_.ones.node_at;
    ordered_.assign(node_at.size() * kernel_columns_, 0.0f);
    for (size_t p = 0; p < node_at.size(); ++p) {
      if (node_at[p] != PairOnes::kNoNode) std::copy_n(Row(node_at[p]), columns_, &ordered_[p * kernel_columns_]);
    }
  }

  // [classes, columns] the table times the sums of x by class, in double: a sum of n numbers that the pairs' own
  // weights are added to.
  void SumBackground() {
    const uint32_t classes = weights_.class_count;
    std::vector<double> sums(classes * columns_, 0.0);
    for (NodeIndex j = 0; j < weights_.node_count; ++j) {
      double* to = &sums[weights_.class_of_node[j] * columns_];
      const float* from = Row(j);
      for (int64_t c = 0; c < columns_; ++c) to[c] += from[c];
    }
    of_class_.assign(classes * columns_, 0.0);
    for (uint32_t a = 0; a < classes; ++a) {
      double* to = &of_class_[a * columns_];
      for (uint32_t b = 0; b < classes; ++b) {
        const double weight = weights_.background[size_t{a} * classes + b];
        for (int64_t c = 0; c < columns_; ++c) to[c] += weight * sums[b * columns_ + c];
      }
    }
  }

  void Work() {
    std::vector<float> block(size_t{kRowsOfBlock} * kernel_columns_);
    for (NodeIndex first; (first = next_row_.fetch_add(kRowsOfBlock)) < weights_.node_count;) {
      const NodeIndex end = std::min(first + kRowsOfBlock, weights_.node_count);
      std::fill(block.begin(), block.end(), 0.0f);
      if (weights_.links.node_count() != 0) kernels_.list(weights_, list_x_, first, end, block.data());
      if (!weights_.ones.empty()) kernels_.ones(weights_, segments_, ordered_.data(), first, end, block.data());
      for (NodeIndex i = first; i < end; ++i) WriteRow(i, &block[size_t{i - first} * kernel_columns_]);
    }
  }

  void WriteRow(NodeIndex i, const float* own) const {
    float* to = y_ + i * width_ + first_column_;
    if (!weights_.has_background()) {
      std::copy_n(own, columns_, to);
      return;
    }
    const uint32_t a = weights_.class_of_node[i];
    const double self = weights_.background[size_t{a} * weights_.class_count + a];  // a node is not linked to itself
    const double* background = &of_class_[a * columns_];
    const float* x = Row(i);
    for (int64_t c = 0; c < columns_; ++c) to[c] = static_cast<float>(own[c] + (background[c] - self * x[c]));
  }

  const LinkWeights& weights_;
  const std::vector<OnesSegment> segments_;
  const float* const x_;
  const int64_t width_;
  float* const y_;

  int64_t first_column_ = 0, columns_ = 0;
  int kernel_columns_ = 0;
  RowKernels kernels_ = {};
  const float* list_x_ = nullptr;
  std::vector<float> copied_, ordered_;  // [n, kernel_columns], and [64 * words, kernel_columns] in PairOnes' order
  std::vector<double> of_class_;
  std::atomic<uint32_t> next_row_{0};
};

int WorthThreads(const LinkWeights& weights, int64_t width, int threads) {
  const uint64_t rows = weights.links.neighbours().size() + uint64_t{weights.node_count} * weights.ones.words * 32;
  const uint64_t blocks = (weights.node_count + kRowsOfBlock - 1) / kRowsOfBlock;
  return static_cast<int>(
      std::clamp<uint64_t>(std::min(rows * width / kAdditionsPerThread, blocks), 1, std::max(1, threads)));
}

}  // namespace

void Multiply(const LinkWeights& weights, const float* x, int64_t width, int threads, float* y) {
  if (weights.node_count == 0) return;
  threads = WorthThreads(weights, width, threads);
  constexpr int64_t kColumnsMax = 32;
  Product product(weights, x, width, y);
  for (int64_t first = 0; first < width; first += kColumnsMax) {
    product.Run(first, std::min(kColumnsMax, width - first), threads);
  }
}

std::vector<float> RowSums(const LinkWeights& weights, int threads) {
  const std::vector<float> ones(weights.node_count, 1.0f);
  std::vector<float> sums(weights.node_count);
  Multiply(weights, ones.data(), 1, threads, sums.data());
  return sums;
}

}  // namespace blink
