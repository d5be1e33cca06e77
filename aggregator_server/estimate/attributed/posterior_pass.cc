#include "aggregator_server/estimate/attributed/posterior_pass.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace blink {
namespace {

// The rows that P is multiplied with: [1 | Z | Q], or [1 | Qc], as floats of the nodes.
std::vector<float> Factors(const PairInputs& inputs, const float* latent, uint32_t latent_width, const float* classes,
                           uint32_t class_count) {
  const size_t width = 1 + latent_width + class_count;
  std::vector<float> rows(inputs.n * width);
  for (uint32_t i = 0; i < inputs.n; ++i) {
    float* row = &rows[i * width];
    row[0] = 1;
    if (latent_width > 0) std::copy_n(latent + size_t{i} * latent_width, latent_width, row + 1);
    if (class_count > 0) std::copy_n(classes + size_t{i} * class_count, class_count, row + 1 + latent_width);
  }
  return rows;
}

// The sums of one posterior over all pairs, as the tiles add them.
class Collector {
 public:
  Collector(const PairInputs& inputs, PosteriorKind kind, const ClassProbabilities& classes, const PassOptions& options)
      : inputs_(inputs),
        truth_(options.truth),
        blocks_(BlockCount(inputs.n)),
        likely_(blocks_),
        expected_(blocks_, 0),
        error_(blocks_, 0) {
    if (options.for_network) {
      width_ = 1 + inputs.latent_width + inputs.class_count;
      factors_ = Factors(inputs, inputs.latent, inputs.latent_width, inputs.classes[kind], inputs.class_count);
    } else if (options.class_sums && kind == kOfTraining) {
      width_ = 1 + classes.class_count;
      factors_ = Factors(inputs, nullptr, 0, classes.clamped.data(), classes.class_count);
    }
    sums_.assign(width_ * inputs.padded(), 0.0);
    for (int t = 0; t < options.threads; ++t) {
      threads_.push_back(std::make_unique<OfThread>());
      if (kind == kOfTraining ? options.bins : options.bins_of_links) threads_.back()->bins.assign(kLogOddsBins, 0);
    }
  }

  void Begin(const Tile& at, int thread) {
    OfThread& own = *threads_[thread];
    own.at = at;
    if (width_ == 0) return;
    const auto rows = [&](uint32_t first) { return std::min(kTileNodes, inputs_.n - first); };
    own.columns.Pack(&factors_[at.first_column() * width_], rows(at.first_column()), kTileNodes, width_);
    const size_t stride = own.columns.padded_columns();
    own.of_rows.Resize(kTileNodes * stride);
    own.of_columns.Resize(kTileNodes * stride);
    own.of_rows.Fill(0);
    own.of_columns.Fill(0);
    own.turned.Resize(kTileNodes * kStripRows);
  }

  // After LogOdds of this posterior.
  void Strip(const TileFeatures& tile, uint32_t strip, int thread) {
    OfThread& own = *threads_[thread];
    for (uint32_t r = 0; r < kStripRows && tile.node(r) < inputs_.n; ++r) {
      if (tile.begin(r) >= tile.end()) continue;
      expected_[own.at.a] += tile.row_sum(r);
      FindLikely(tile, r, own.at);
      if (!own.bins.empty()) CountBins(tile, r, own);
      if (truth_ != nullptr) Compare(tile, r, own);
    }
    if (width_ == 0) return;
    const size_t stride = own.columns.padded_columns();
    const size_t first = strip * kStripRows, node = tile.node(0);
    MultiplyPanels(tile.probability(0), kTileNodes, kStripRows, own.columns, true, own.of_rows.data() + first * stride,
                   stride);
    own.rows.Pack(&factors_[node * width_], std::min<size_t>(kStripRows, inputs_.n - node), kStripRows, width_);
    TransposeStrip(tile.probability(0), kStripRows, own.turned.data(), kStripRows);
    MultiplyPanels(own.turned.data(), kStripRows, kTileNodes, own.rows, true, own.of_columns.data(), stride);
  }

  void End(int thread) {
    OfThread& own = *threads_[thread];
    if (width_ == 0) return;
    const size_t stride = own.columns.padded_columns();
    const auto add = [&](const AlignedFloats& from, size_t node) {
      for (size_t r = 0; r < kTileNodes; ++r) {
        double* to = &sums_[(node + r) * width_];
        for (size_t k = 0; k < width_; ++k) to[k] += from.data()[r * stride + k];
      }
    };
    add(own.of_rows, own.at.first_row());
    add(own.of_columns, own.at.first_column());
  }

  PosteriorSums Finish() {
    PosteriorSums result;
    size_t pairs = 0;
    for (const auto& part : likely_) pairs += part.size();
    result.likely.reserve(pairs);
    for (uint32_t block = 0; block < blocks_; ++block) {
      result.likely.insert(result.likely.end(), likely_[block].begin(), likely_[block].end());
      likely_[block] = {};
      result.expected_links += expected_[block];
      result.error += error_[block];
    }
    result.error += result.expected_links;
    result.width = width_;
    result.sums = std::move(sums_);
    for (const auto& own : threads_) {
      result.quality.Join(own->quality);
      result.bins.resize(own->bins.size(), 0);
      for (size_t k = 0; k < own->bins.size(); ++k) result.bins[k] += own->bins[k];
    }
    return result;
  }

 private:
  struct OfThread {
    Tile at;
    Panels columns, rows;  // factors of the nodes of the columns of the tile, of the rows of the strip
    AlignedFloats of_rows, of_columns, turned;
    std::vector<uint64_t> bins;
    QualityCounter quality;
  };

  void FindLikely(const TileFeatures& tile, uint32_t r, const Tile& at) {
    float maxima[kTileNodes / 16];
    const float* log_odds = tile.log_odds(r);
    MaximaRow(log_odds, maxima);
    const float least = KeptLogOdds();
    for (uint32_t part = tile.begin(r) / 16; part < (tile.end() + 15) / 16; ++part) {
      if (!(maxima[part] > least)) continue;
      const uint32_t end = std::min(16 * part + 16, tile.end());
      for (uint32_t j = std::max(16 * part, tile.begin(r)); j < end; ++j) {
        if (log_odds[j] > least) likely_[at.a].push_back({tile.node(r), at.first_column() + j, log_odds[j]});
      }
    }
  }

  void CountBins(const TileFeatures& tile, uint32_t r, OfThread& own) {
    int32_t bins[kTileNodes];
    BinRow(tile.log_odds(r), -kBinReach, kBinsPerUnit, kLogOddsBins, bins);
    for (uint32_t j = tile.begin(r); j < tile.end(); ++j) ++own.bins[bins[j]];
  }

  void Compare(const TileFeatures& tile, uint32_t r, OfThread& own) {
    const float* log_odds = tile.log_odds(r);
    for (uint32_t j = tile.begin(r); j < tile.end(); ++j) own.quality.Add(log_odds[j], false);
    const auto neighbours = truth_->NeighboursOf(tile.node(r));
    const NodeIndex first = own.at.first_column();
    for (const NodeIndex* at = std::lower_bound(neighbours.begin(), neighbours.end(), first + tile.begin(r));
         at != neighbours.end() && *at < first + tile.end(); ++at) {
      const uint32_t j = *at - first;
      own.quality.AddMany(log_odds[j], 0, 1);
      // Of the sum of all P, P itself is no error where there is a link: 1 - P is.
      error_[own.at.a] += ProbabilityOf(-log_odds[j]) - double{tile.probability(r)[j]};
    }
  }

  const PairInputs& inputs_;
  const CsrGraph* const truth_;
  const uint32_t blocks_;
  size_t width_ = 0;
  std::vector<float> factors_;  // [n, width]
  std::vector<double> sums_;
  std::vector<std::vector<LikelyPair>> likely_;  // by block of the rows, as are the sums
  std::vector<double> expected_, error_;
  std::vector<std::unique_ptr<OfThread>> threads_;
};

}  // namespace

float KeptLogOdds() {
  static const float log_odds = static_cast<float>(std::log(double{kKeptMin} / (1 - double{kKeptMin})));
  return log_odds;
}

std::array<PosteriorSums, 2> PassOverPairs(const PairInputs& inputs, const ClassProbabilities& classes,
                                           const std::vector<PriorRound>& rounds, size_t round,
                                           const PassOptions& options) {
  constexpr PosteriorKind kKinds[] = {kOfLinks, kOfTraining};
  std::vector<std::unique_ptr<Collector>> collectors;
  for (const PosteriorKind kind : kKinds) {
    collectors.push_back(std::make_unique<Collector>(inputs, kind, classes, options));
  }
  ForEachTileOfFeatures(
      inputs, rounds, round, 1u << kOfLinks | 1u << kOfTraining, options.threads,
      [&](TileFeatures& tile, int thread) {
        for (const auto& collector : collectors) collector->Begin(tile.at(), thread);
        for (uint32_t strip = 0; strip < tile.strip_count(); ++strip) {
          tile.Strip(strip);
          for (const PosteriorKind kind : kKinds) {
            tile.Features(kind);
            tile.LogOdds(rounds[round].theta);
            collectors[kind]->Strip(tile, strip, thread);
          }
        }
        for (const auto& collector : collectors) collector->End(thread);
      },
      options.progress);
  return {collectors[kOfLinks]->Finish(), collectors[kOfTraining]->Finish()};
}

LikelyRows RowsOf(uint32_t n, const std::vector<LikelyPair>& pairs) {
  LikelyRows rows;
  rows.offsets.assign(size_t{n} + 1, 0);
  for (const LikelyPair& pair : pairs) {
    ++rows.offsets[pair.i + 1];
    ++rows.offsets[pair.j + 1];
  }
  for (uint32_t i = 0; i < n; ++i) rows.offsets[i + 1] += rows.offsets[i];
  std::vector<std::pair<NodeIndex, float>> entries(2 * pairs.size());
  std::vector<uint64_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
  for (const LikelyPair& pair : pairs) {
    const auto probability = static_cast<float>(ProbabilityOf(pair.log_odds));
    entries[next[pair.i]++] = {pair.j, probability};
    entries[next[pair.j]++] = {pair.i, probability};
  }
  rows.neighbours.reserve(entries.size());
  rows.probabilities.reserve(entries.size());
  for (uint32_t i = 0; i < n; ++i) {
    std::sort(entries.begin() + static_cast<int64_t>(rows.offsets[i]),
              entries.begin() + static_cast<int64_t>(rows.offsets[i + 1]));
  }
  for (const auto& [neighbour, probability] : entries) {
    rows.neighbours.push_back(neighbour);
    rows.probabilities.push_back(probability);
  }
  return rows;
}

PosteriorNetwork NetworkOf(const PairInputs& inputs, const PosteriorSums& sums) {
  LikelyRows rows = RowsOf(inputs.n, sums.likely);
  const uint32_t latent = inputs.latent_width, classes = inputs.class_count;
  PosteriorNetwork network;
  network.kept =
      SparseRows(std::move(rows.offsets), std::move(rows.neighbours), std::move(rows.probabilities), inputs.n);
  network.sums.assign(inputs.padded(), 0.0f);
  network.latent.resize(size_t{inputs.n} * latent);
  network.classes.resize(size_t{inputs.n} * classes);
  for (size_t i = 0; i < inputs.n; ++i) {
    const double* row = &sums.sums[i * sums.width];
    network.sums[i] = static_cast<float>(row[0]);
    for (uint32_t k = 0; k < latent; ++k) network.latent[i * latent + k] = static_cast<float>(row[1 + k]);
    for (uint32_t k = 0; k < classes; ++k) network.classes[i * classes + k] = static_cast<float>(row[1 + latent + k]);
  }
  return network;
}

void ForEachLogOddsRow(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round, int threads,
                       const std::function<void(const LogOddsRow&)>& visit,
                       const std::function<void(double)>& progress) {
  ForEachTileOfFeatures(
      inputs, rounds, round, 1u << kOfTraining, threads,
      [&](TileFeatures& tile, int thread) {
        const Tile& at = tile.at();
        for (uint32_t strip = 0; strip < tile.strip_count(); ++strip) {
          tile.Strip(strip);
          tile.Features(kOfTraining);
          tile.LogOdds(rounds[round].theta);
          for (uint32_t r = 0; r < kStripRows && tile.node(r) < inputs.n; ++r) {
            if (tile.begin(r) >= tile.end()) continue;
            visit({thread, at.a, tile.node(r), at.first_column(), tile.begin(r), tile.end(), tile.log_odds(r)});
          }
        }
      },
      progress);
}

}  // namespace blink
