#include "aggregator_server/estimate/beta/soft.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "aggregator_server/estimate/received_rows.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

struct WeightClass {
  uint32_t prior_class = 0;
  int reports = 0;  // of the node that count as evidence: 0 or 1
};

// Numbers the classes that occur, (prior class, reported) ascending.
std::vector<WeightClass> FindClasses(const ReportSet& reports, const LinkPrior& prior,
                                     std::vector<uint32_t>& class_of_node) {
  const uint32_t n = reports.node_count();
  const bool bits = reports.parameters().sends_bits();
  std::vector<uint32_t> kind(n), number(2 * static_cast<size_t>(prior.class_count()), 0);
  for (NodeIndex i = 0; i < n; ++i) {
    kind[i] = 2 * prior.class_of_node()[i] + (bits && reports.has_evidence(i));
    number[kind[i]] = 1;
  }
  std::vector<WeightClass> classes;
  for (uint32_t k = 0; k < number.size(); ++k) {
    if (number[k] == 0) continue;
    number[k] = static_cast<uint32_t>(classes.size());
    classes.push_back({k / 2, static_cast<int>(k % 2)});
  }
  class_of_node.resize(n);
  for (NodeIndex i = 0; i < n; ++i) class_of_node[i] = number[kind[i]];
  return classes;
}

void FillTables(const std::vector<WeightClass>& classes, const Posterior& posterior, LinkWeights& weights) {
  const size_t k = classes.size();
  weights.class_count = static_cast<uint32_t>(k);
  weights.background.resize(k * k);
  weights.by_ones.assign(k * k * 2, 0.0f);
  for (size_t a = 0; a < k; ++a) {
    for (size_t b = 0; b < k; ++b) {
      const auto [low, high] = std::minmax(classes[a].prior_class, classes[b].prior_class);
      const int reports = classes[a].reports + classes[b].reports;
      const double none = posterior.Probability(low, high, {reports, 0});
      weights.background[a * k + b] = static_cast<float>(none);
      for (int ones = 1; ones <= reports; ++ones) {
        weights.by_ones[(a * k + b) * 2 + ones - 1] =
            static_cast<float>(posterior.Probability(low, high, {reports, ones}) - none);
      }
    }
  }
}

absl::Status ListOnes(const ReportSet& reports, int threads, const std::function<void(double)>& progress,
                      LinkWeights& weights) {
  const uint32_t n = reports.node_count();
  std::vector<uint64_t> offsets(static_cast<size_t>(n) + 1, 0);
  ProgressParts parts(progress, 2);
  const auto count = [&](const PairRow& row) { offsets[row.i + 1] = row.CountOnes(); };
  ForEachPairRow(reports, PairSpan::kAll, threads, count, parts.Next(1));
  for (NodeIndex i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
  std::vector<NodeIndex> neighbours(offsets.back());
  weights.values.resize(offsets.back());
  const auto list = [&](const PairRow& row) {
    uint64_t k = offsets[row.i];
    const float* of_class = &weights.by_ones[size_t{2} * weights.class_of_node[row.i] * weights.class_count];
    row.ForEachOne([&](NodeIndex j, bool both) {
      neighbours[k] = j;
      weights.values[k++] = of_class[2 * weights.class_of_node[j] + (both ? 1 : 0)];
    });
  };
  ForEachPairRow(reports, PairSpan::kAll, threads, list, parts.Next(1));
  BLINK_ASSIGN_OR_RETURN(weights.links, CsrGraph::FromRows(std::move(offsets), std::move(neighbours)));
  return absl::OkStatus();
}

// Fills `ones` from the reports, 512 rows at a time. The columns are gathered in the order of `ones` while the bits
// stand in columns, where a node is a word, and then transposed back.
class Packer {
 public:
  Packer(const ReportSet& reports, PairOnes& ones)
      : reports_(reports), ones_(ones), n_(reports.node_count()), words_(reports.words_per_row()) {}

  void Run(int threads, const std::function<void(double)>& progress) {
    RunOnThreads(threads, [&](int t) { Work(t == 0 ? progress : nullptr); });
  }

 private:
  static constexpr uint32_t kTileWords = kTileRows / 64;

  void Work(const std::function<void(double)>& progress) {
    // [64 * words][kTileWords]: bit r of sent[j][c] is what node first + 64 c + r of the tile sent about j.
    std::vector<uint64_t> sent(size_t{64} * words_ * kTileWords);
    for (uint32_t t; (t = next_tile_.fetch_add(1)) < TileCount(n_);) {
      const uint32_t blocks = std::min(kTileWords, words_ - t * kTileWords);
      for (uint32_t c = 0; c < blocks; ++c) TransposeRows((t * kTileWords + c) * 64, &sent[c]);
      for (uint32_t w = 0; w < ones_.words; ++w) PackWord(t * kTileWords, blocks, w, sent);
      const uint32_t done = done_tiles_.fetch_add(1) + 1;
      if (progress) progress(static_cast<double>(done) / TileCount(n_));
    }
  }

  void TransposeRows(NodeIndex first, uint64_t* sent) const {
    const uint32_t rows = std::min<uint32_t>(64, n_ - first);
    uint64_t block[64];
    for (uint32_t w = 0; w < words_; ++w) {
      for (uint32_t r = 0; r < 64; ++r) block[r] = r < rows ? reports_.row(first + r)[w] : 0;
      Transpose64(block);
      for (uint32_t r = 0; r < 64; ++r) sent[(size_t{64} * w + r) * kTileWords] = block[r];
    }
  }

  // Word w of the rows of `blocks` blocks of 64 nodes, from node 64 * first_word on.
  void PackWord(uint32_t first_word, uint32_t blocks, uint32_t w, const std::vector<uint64_t>& sent) {
    uint64_t any[kTileWords][64] = {}, both[kTileWords][64] = {};
    for (uint32_t r = 0; r < 64; ++r) {
      const NodeIndex j = ones_.node_at[size_t{64} * w + r];
      if (j == PairOnes::kNoNode) continue;
      const uint64_t* about = &sent[static_cast<size_t>(j) * kTileWords];
      const uint64_t* row = &reports_.row(j)[first_word];
      for (uint32_t c = 0; c < blocks; ++c) {
        const uint64_t other = j / 64 == first_word + c ? ~(uint64_t{1} << (j & 63)) : ~uint64_t{0};
        any[c][r] = (about[c] | row[c]) & other;
        both[c][r] = about[c] & row[c] & other;
      }
    }
    for (uint32_t c = 0; c < blocks; ++c) {
      Transpose64(any[c]);
      Transpose64(both[c]);
      const NodeIndex first = (first_word + c) * 64;
      for (uint32_t r = 0; r < 64 && first + r < n_; ++r) {
        const size_t at = static_cast<size_t>(first + r) * ones_.words + w;
        ones_.any[at] = any[c][r];
        ones_.both[at] = both[c][r];
      }
    }
  }

  const ReportSet& reports_;
  PairOnes& ones_;
  const uint32_t n_, words_;
  std::atomic<uint32_t> next_tile_{0}, done_tiles_{0};
};

}  // namespace

absl::StatusOr<LinkWeights> SoftWeights(const ReportSet& reports, const Posterior& posterior, uint64_t pairs_with_ones,
                                        int threads, const std::function<void(double)>& progress) {
  const uint32_t n = reports.node_count();
  threads = ThreadsFor(threads, TileCount(n));
  LinkWeights weights;
  weights.node_count = n;
  weights.weighted = true;
  FillTables(FindClasses(reports, posterior.prior(), weights.class_of_node), posterior, weights);
  if (pairs_with_ones == 0) {
    weights.by_ones.clear();
    return weights;
  }
  // A pair of a list takes an index and a value in both directions; a node of packed bits two rows of words.
  const uint64_t list_bytes = pairs_with_ones * 2 * (sizeof(NodeIndex) + sizeof(float));
  const uint64_t packed_bytes =
      uint64_t{n} * PairOnes::WordsFor(weights.class_of_node, weights.class_count) * 2 * sizeof(uint64_t);
  if (list_bytes <= packed_bytes || reports.storage() == RowStorage::kGaps) {
    BLINK_RETURN_IF_ERROR(ListOnes(reports, threads, progress, weights));
    weights.by_ones.clear();
  } else {
    weights.ones = PairOnes::Ordered(weights.class_of_node, weights.class_count);
    Packer(reports, weights.ones).Run(threads, progress);
  }
  return weights;
}

}  // namespace blink
