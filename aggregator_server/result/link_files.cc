#include "aggregator_server/result/link_files.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/run_on_threads.h"
#include "common/graph/csv_field.h"
#include "common/graph/numpy_file.h"

namespace blink {
namespace {

using Row = std::vector<std::pair<int32_t, float>>;  // (column, weight), ascending

// The pairs of rows that weigh `threshold` or more, row by row from `first`.
std::vector<Row> HeavyPairs(const LinkWeights& weights, uint32_t first, uint32_t count, float threshold, int threads) {
  std::vector<Row> rows(count);
  std::atomic<uint32_t> next{0};
  RunOnThreads(threads, [&](int) {
    std::vector<float> row(weights.node_count);
    for (uint32_t k; (k = next.fetch_add(1)) < count;) {
      FillRow(weights, first + k, row.data());
      for (uint32_t j = 0; j < weights.node_count; ++j) {
        if (row[j] >= threshold) rows[k].emplace_back(static_cast<int32_t>(j), row[j]);
      }
    }
  });
  return rows;
}

void RaiseThreshold(float threshold, FeatureMatrix& matrix) {
  size_t kept = 0;
  int64_t begin = 0;
  for (size_t i = 0; i + 1 < matrix.row_offsets.size(); ++i) {
    const int64_t end = matrix.row_offsets[i + 1];
    for (int64_t k = begin; k < end; ++k) {
      if (matrix.values[k] < threshold) continue;
      matrix.values[kept] = matrix.values[k];
      matrix.columns[kept++] = matrix.columns[k];
    }
    begin = end;
    matrix.row_offsets[i + 1] = static_cast<int64_t>(kept);
  }
  matrix.values.resize(kept);
  matrix.columns.resize(kept);
}

// One pass: what a lower threshold has dropped, a higher one would not have kept.
FeatureMatrix SoftMatrix(const LinkWeights& weights, int threads, size_t pairs_max, float& threshold) {
  constexpr uint32_t kRowsAtOnce = 256;
  const uint32_t n = weights.node_count;
  threshold = kSoftThreshold;
  FeatureMatrix matrix{.rows = n, .cols = n, .sparse = true, .row_offsets = {0}};
  for (uint32_t first = 0; first < n; first += kRowsAtOnce) {
    for (const Row& row : HeavyPairs(weights, first, std::min(kRowsAtOnce, n - first), threshold, threads)) {
      for (const auto& [column, weight] : row) {
        if (weight < threshold) continue;  // it has been raised since
        matrix.columns.push_back(column);
        matrix.values.push_back(weight);
      }
      matrix.row_offsets.push_back(static_cast<int64_t>(matrix.columns.size()));
      while (matrix.columns.size() > pairs_max && threshold < 1) RaiseThreshold(threshold *= 2, matrix);
    }
  }
  return matrix;
}

}  // namespace

std::string LinksCsv(const LinkWeights& weights, const CsrGraph& hard, bool soft, const std::vector<std::string>& ids) {
  soft |= weights.has_background();
  const bool weighted = soft || !weights.values.empty();
  const CsrGraph& links = soft ? hard : weights.links;
  std::vector<float> row(soft ? weights.node_count : 0);
  std::string csv =
      absl::StrCat("source,target", weighted ? ",weight" : "", ids.empty() ? "\n" : ",source_id,target_id\n");
  for (NodeIndex i = 0; i < links.node_count(); ++i) {
    const absl::Span<const NodeIndex> neighbours = links.NeighboursOf(i);
    if (soft && !neighbours.empty()) FillRow(weights, i, row.data());
    for (size_t k = 0; k < neighbours.size(); ++k) {
      const NodeIndex j = neighbours[k];
      if (i >= j) continue;
      absl::StrAppend(&csv, i, ",", j);
      if (weighted) absl::StrAppendFormat(&csv, ",%.9g", soft ? row[j] : weights.values[links.offsets()[i] + k]);
      if (!ids.empty()) absl::StrAppend(&csv, ",", CsvField(ids[i]), ",", CsvField(ids[j]));
      csv += "\n";
    }
  }
  return csv;
}

std::string DirectedLinksCsv(const CsrGraph& links, const std::vector<std::string>& ids) {
  std::string csv = absl::StrCat("source,target", ids.empty() ? "\n" : ",source_id,target_id\n");
  for (NodeIndex target = 0; target < links.node_count(); ++target) {
    for (const NodeIndex source : links.NeighboursOf(target)) {
      absl::StrAppend(&csv, source, ",", target);
      if (!ids.empty()) absl::StrAppend(&csv, ",", CsvField(ids[source]), ",", CsvField(ids[target]));
      csv += "\n";
    }
  }
  return csv;
}

absl::Status WriteLinksNpz(const LinkWeights& weights, int threads, const std::string& path, size_t soft_pairs_max,
                           float soft_from) {
  const uint32_t n = weights.node_count;
  if (weights.has_background()) {
    float threshold = 0;
    const FeatureMatrix matrix = SoftMatrix(weights, std::max(1, threads), soft_pairs_max, threshold);
    const uint64_t k = weights.class_count;
    return WriteSparseNpz(matrix, path,
                          {{"threshold", NpyBytes("<f4", {}, &threshold, sizeof(threshold))},
                           {"class_of_node", NpyBytes("<u4", {n}, weights.class_of_node.data(), n * sizeof(uint32_t))},
                           {"background", NpyBytes("<f4", {k, k}, weights.background.data(), k * k * sizeof(float))}});
  }
  FeatureMatrix matrix{.rows = n, .cols = n, .sparse = true};
  matrix.row_offsets.assign(weights.links.offsets().begin(), weights.links.offsets().end());
  matrix.columns.assign(weights.links.neighbours().begin(), weights.links.neighbours().end());
  matrix.values = weights.values.empty() ? std::vector<float>(matrix.columns.size(), 1.0f) : weights.values;
  if (soft_from == 0) return WriteSparseNpz(matrix, path);
  float threshold = soft_from;
  while (matrix.columns.size() > soft_pairs_max && threshold < 1) RaiseThreshold(threshold *= 2, matrix);
  return WriteSparseNpz(matrix, path, {{"threshold", NpyBytes("<f4", {}, &threshold, sizeof(threshold))}});
}

}  // namespace blink
