// The floor(|P|_1) largest of all pairs, for the variant Hybrid: ties at the cut by TieHash (hybrid_cut.h).
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_LIKELY_LINKS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_LIKELY_LINKS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator_server/estimate/attributed/posterior_pass.h"

namespace blink {

// The `wanted` pairs with the largest log-odds, of those at the cut the ones with the smallest TieHash. All of `pairs`
// where they are no more.
std::vector<LikelyPair> LargestOf(std::vector<LikelyPair> pairs, uint64_t wanted, uint64_t tie_seed);

// The same of all pairs of kOfTraining in round `round`. If the likely pairs are enough, no other pair is looked at.
// Otherwise P is so diffuse that the cut lies below kKeptMin. That takes one more pass over the pairs, or three where
// many pairs have the same P at the cut.
// Memory: 12 bytes a pair, for at most twice `wanted` and 2^20 more. Of equal P it holds what the limit on their hashes
// lets through, about as many as are wanted.
std::vector<LikelyPair> LargestPairs(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round,
                                     const PosteriorSums& sums, uint64_t wanted, uint64_t tie_seed, int threads,
                                     const std::function<void(double)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_LIKELY_LINKS_H_
