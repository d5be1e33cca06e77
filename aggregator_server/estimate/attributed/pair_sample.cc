#include "aggregator_server/estimate/attributed/pair_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aggregator_server/estimate/hybrid_cut.h"
#include "aggregator_server/estimate/posterior.h"

namespace blink {
namespace {

// Of a pair: (ones - zeros) + 2; the base log-odds in units, from -16; cosine by the hinges; classes that agree.
constexpr int kEvidences = 5, kBases = 16, kSimilarities = 6, kAgreements = 3;
constexpr int kStrata = kEvidences * kBases * kSimilarities * kAgreements;

// Calls visit(r) for the rows of all strips of a tile, one strip after the other, when their features are there.
template <typename Visit>
void ForEachRow(TileFeatures& tile, const Visit& visit) {
  for (uint32_t strip = 0; strip < tile.strip_count(); ++strip) {
    tile.Strip(strip);
    tile.Features(kOfLinks);
    for (uint32_t r = 0; r < kStripRows && tile.begin(r) < tile.end(); ++r) visit(r);
  }
}

}  // namespace

// What was found with the rows of one block.
struct PairSampler::Part {
  std::vector<float> features, base, evidence;
  std::vector<uint16_t> strata;
};

PairSampler::PairSampler(const PairInputs& inputs, uint64_t seed, int threads,
                         const std::function<void(double)>& progress, uint64_t all_pairs, uint64_t sample_pairs)
    : inputs_(inputs), seed_(seed), threads_(threads) {
  all_ = uint64_t{inputs.n} * (inputs.n - 1) / 2 <= all_pairs;
  if (all_) return;
  CountStrata(progress);
  Allocate(sample_pairs);
}

void PairSampler::StrataOf(const TileFeatures& tile, uint32_t row, int32_t* strata) const {
  const bool cosine = inputs_.Has(kCosine, false);
  const float* evidence = tile.evidence(row);
  const float* base = tile.base(row);
  const float* similar = tile.of(cosine ? kOfCosine : kOfLatent, row);
  const float* agree = tile.of(kOfClasses, row);
  const float per_bit = inputs_.bit_weight > 0 ? 1 / inputs_.bit_weight : 0.0f;
  for (uint32_t j = 0; j < kTileNodes; ++j) {
    const float level = base[j] + kBases;
    const int32_t of_evidence = static_cast<int32_t>(evidence[j] * per_bit + 2.5f);
    const int32_t of_base = static_cast<int32_t>(level > 0 ? (level < kBases - 1 ? level : kBases - 1) : 0);
    const int32_t of_similarity =
        (similar[j] > 0) + (similar[j] > 0.05f) + (similar[j] > 0.1f) + (similar[j] > 0.2f) + (similar[j] > 0.4f);
    const int32_t of_agreement = (agree[j] > 0.1f) + (agree[j] > 0.5f);
    strata[j] = ((of_evidence * kBases + of_base) * kSimilarities + of_similarity) * kAgreements + of_agreement;
  }
}

void PairSampler::CountStrata(const std::function<void(double)>& progress) {
  std::vector<std::vector<uint64_t>> counts(threads_, std::vector<uint64_t>(kStrata, 0));
  ForEachTileOfFeatures(
      inputs_, {}, 0, 1u << kOfLinks, threads_,
      [&](TileFeatures& tile, int thread) {
        std::vector<uint64_t>& count = counts[thread];
        int32_t strata[kTileNodes];
        ForEachRow(tile, [&](uint32_t r) {
          StrataOf(tile, r, strata);
          for (uint32_t j = tile.begin(r); j < tile.end(); ++j) ++count[strata[j]];
        });
      },
      progress);
  size_.assign(kStrata, 0);
  for (const auto& count : counts) {
    for (int s = 0; s < kStrata; ++s) size_[s] += count[s];
  }
}

void PairSampler::Allocate(uint64_t sample_pairs) {
  std::vector<double> part(kStrata, 0);
  double influence = 0, strata = 0;
  for (int s = 0; s < kStrata; ++s) {
    if (size_[s] == 0) continue;
    const int of_evidence = s / (kAgreements * kSimilarities * kBases);
    const double base = s / (kAgreements * kSimilarities) % kBases + 0.5 - kBases;
    const double prior = ProbabilityOf(base),
                 posterior = ProbabilityOf(base + (of_evidence - 2) * double{inputs_.bit_weight});
    part[s] = static_cast<double>(size_[s]) * (std::abs(posterior - prior) + prior);
    influence += part[s];
    ++strata;
  }
  for (int s = 0; s < kStrata; ++s) part[s] = size_[s] == 0 ? 0 : part[s] / influence / 2 + 0.5 / strata;
  // The factor with which the parts, none larger than its stratum, make up the sample.
  const auto total = [&](double factor) {
    double sum = 0;
    for (int s = 0; s < kStrata; ++s) sum += std::min(factor * part[s], static_cast<double>(size_[s]));
    return sum;
  };
  const auto wanted = static_cast<double>(sample_pairs);
  double low = 0, high = wanted;
  while (total(high) < wanted && high < 1e30) high *= 2;
  for (int step = 0; step < 100; ++step) (total((low + high) / 2) < wanted ? low : high) = (low + high) / 2;
  included_.assign(kStrata, 0);
  for (int s = 0; s < kStrata; ++s) {
    if (size_[s] == 0) continue;
    const double share = std::min(1.0, high * part[s] / static_cast<double>(size_[s]));
    included_[s] = static_cast<uint64_t>(std::ceil(std::ldexp(share, 32)));
  }
}

std::vector<PairSampler::Part> PairSampler::Collect(const std::vector<PriorRound>& rounds, size_t round,
                                                    const std::vector<int>& features,
                                                    const std::function<void(double)>& progress) const {
  std::vector<Part> parts(BlockCount(inputs_.n));
  ForEachTileOfFeatures(
      inputs_, rounds, round, 1u << kOfLinks, threads_,
      [&](TileFeatures& tile, int) {
        Part& part = parts[tile.at().a];
        int32_t strata[kTileNodes];
        uint32_t hashes[kTileNodes];
        ForEachRow(tile, [&](uint32_t r) {
          if (!all_) {
            StrataOf(tile, r, strata);
            HashRow(static_cast<uint32_t>(TieHash(seed_, tile.node(r), tile.node(r))), tile.at().first_column(),
                    hashes);
          }
          for (uint32_t j = tile.begin(r); j < tile.end(); ++j) {
            if (!all_ && hashes[j] >= included_[strata[j]]) continue;
            part.base.push_back(tile.base(r)[j]);
            part.evidence.push_back(tile.evidence(r)[j]);
            if (!all_) part.strata.push_back(static_cast<uint16_t>(strata[j]));
            for (const int f : features) {
              const FeatureForm& form = kFeatureForms[f];
              part.features.push_back(form.form == FeatureForm::kOne ? 1.0f : form.Of(tile.of(form.of, r)[j]));
            }
          }
        });
      },
      progress);
  return parts;
}

std::vector<uint32_t> PairSampler::VaryingColumns(const std::vector<Part>& parts, const std::vector<int>& features) {
  const size_t width = features.size();
  std::vector<float> least(width, std::numeric_limits<float>::infinity()), greatest(width, -least[0]);
  for (const Part& part : parts) {
    for (size_t pair = 0; pair < part.features.size(); pair += width) {
      for (size_t k = 0; k < width; ++k) {
        least[k] = std::min(least[k], part.features[pair + k]);
        greatest[k] = std::max(greatest[k], part.features[pair + k]);
      }
    }
  }
  std::vector<uint32_t> columns;
  const auto varies = [&](int feature) {
    return std::any_of(columns.begin(), columns.end(), [&](uint32_t column) { return features[column] == feature; });
  };
  for (uint32_t k = 0; k < width; ++k) {
    // Products of floats that are equal but for rounding are constant, too.
    const float scale = std::max(std::abs(least[k]), std::abs(greatest[k]));
    if (features[k] != kConstant && !(greatest[k] - least[k] > 1e-5f * scale)) continue;
    // Where all neighbours are alike, what they are says no more than how many.
    if (features[k] == kNeighboursClasses && !varies(kClasses)) continue;
    if (features[k] == kNeighboursLatent && !varies(kLatent)) continue;
    columns.push_back(k);
  }
  return columns;
}

std::vector<float> PairSampler::Weights(const std::vector<uint16_t>& strata) const {
  std::vector<uint64_t> found(kStrata, 0);
  for (const uint16_t s : strata) ++found[s];
  std::vector<float> weights;
  weights.reserve(strata.size());
  for (const uint16_t s : strata) {
    weights.push_back(static_cast<float>(static_cast<double>(size_[s]) / static_cast<double>(found[s])));
  }
  return weights;
}

PairSampler::Sample PairSampler::Draw(const std::vector<PriorRound>& rounds, size_t round,
                                      const std::function<void(double)>& progress) const {
  std::vector<int> features;
  for (int f = 0; f < kPairFeatureCount; ++f) {
    if (inputs_.Has(f, round > 0)) features.push_back(f);
  }
  std::vector<Part> parts = Collect(rounds, round, features, progress);
  const std::vector<uint32_t> columns = VaryingColumns(parts, features);
  Sample sample;
  for (const uint32_t column : columns) sample.features.push_back(features[column]);
  size_t size = 0;
  for (const Part& part : parts) size += part.base.size();
  PairSample& pairs = sample.pairs;
  pairs.width = static_cast<uint32_t>(columns.size());
  pairs.features.reserve(size * pairs.width);
  pairs.base.reserve(size);
  pairs.evidence.reserve(size);
  std::vector<uint16_t> strata;
  for (Part& part : parts) {
    for (size_t k = 0; k < part.base.size(); ++k) {
      for (const uint32_t column : columns) pairs.features.push_back(part.features[k * features.size() + column]);
    }
    pairs.base.insert(pairs.base.end(), part.base.begin(), part.base.end());
    pairs.evidence.insert(pairs.evidence.end(), part.evidence.begin(), part.evidence.end());
    strata.insert(strata.end(), part.strata.begin(), part.strata.end());
    part = {};
  }
  pairs.weights = all_ ? std::vector<float>(size, 1.0f) : Weights(strata);
  return sample;
}

}  // namespace blink
