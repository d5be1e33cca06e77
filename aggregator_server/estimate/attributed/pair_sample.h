// The pairs that theta is fitted on: all of them where they are few, else a stratified sample.
//
// Most pairs are quiet: unlikely before their bits, and no bit says otherwise. They have little to say about theta, so
// a share of them stands for all. Strata: evidence x base log-odds x similarity x classes. Each stratum gets its part
// of the sample, half of it by how much its pairs can move theta at theta = 0 (Neyman's allocation), half of it
// equally, so that the rare strata are in it wholly. Which pairs of a stratum: those with the smallest of a hash of
// (seed, i, j). A pair's weight is the size of its stratum over the sample from it.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_SAMPLE_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_SAMPLE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator_server/estimate/attributed/pair_features.h"
#include "aggregator_server/estimate/attributed/theta_fit.h"

namespace blink {

// Memory: 4 (features + 4) bytes a pair, twice for a moment.
inline constexpr uint64_t kSamplePairs = 3'000'000;
inline constexpr uint64_t kAllPairs = 4'000'000;  // so many pairs or fewer are taken all

class PairSampler {
 public:
  // Counts the strata, in a pass over the pairs, where there are more than `all_pairs`. Keeps a reference to `inputs`.
  PairSampler(const PairInputs& inputs, uint64_t seed, int threads, const std::function<void(double)>& progress,
              uint64_t all_pairs = kAllPairs, uint64_t sample_pairs = kSamplePairs);

  struct Sample {
    PairSample pairs;
    std::vector<int> features;  // which PairFeature each column is, the first kConstant
  };
  // The same pairs for every round, with the features of round `round` (of kOfLinks). Columns that are constant are
  // left out: they would be a second constant.
  Sample Draw(const std::vector<PriorRound>& rounds, size_t round, const std::function<void(double)>& progress) const;

 private:
  struct Part;
  void CountStrata(const std::function<void(double)>& progress);
  void Allocate(uint64_t sample_pairs);
  void StrataOf(const TileFeatures& tile, uint32_t row, int32_t* strata) const;
  // The pairs that are in, by block of the rows, with the columns `features`.
  std::vector<Part> Collect(const std::vector<PriorRound>& rounds, size_t round, const std::vector<int>& features,
                            const std::function<void(double)>& progress) const;
  static std::vector<uint32_t> VaryingColumns(const std::vector<Part>& parts, const std::vector<int>& features);
  std::vector<float> Weights(const std::vector<uint16_t>& strata) const;

  const PairInputs& inputs_;
  const uint64_t seed_;
  const int threads_;
  bool all_ = true;
  std::vector<uint64_t> size_;      // [strata] pairs
  std::vector<uint64_t> included_;  // [strata] a pair is in when its hash (32 bits) is below
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_SAMPLE_H_
