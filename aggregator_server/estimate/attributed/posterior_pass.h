// A pass over all pairs with the coefficients of a round: the posterior P, of which only the likely pairs are kept, and
// sums over all pairs.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_POSTERIOR_PASS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_POSTERIOR_PASS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator_server/estimate/attributed/pair_features.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/estimate/posterior_quality.h"
#include "common/graph/csr_graph.h"

namespace blink {

struct LikelyPair {
  NodeIndex i = 0, j = 0;  // i < j
  float log_odds = 0;      // of P
};
// kKeptMin as log-odds.
float KeptLogOdds();

// Log-odds in bins of 1/64, from -64 to 64; what is outside is in the first or last.
inline constexpr int32_t kBinsPerUnit = 64, kBinReach = 64, kLogOddsBins = 2 * kBinReach * kBinsPerUnit;

struct PassOptions {
  bool for_network = false;                  // the sums that the features of a next round need
  bool class_sums = false;                   // P Qc of kOfTraining, [n, classes]
  bool bins = false, bins_of_links = false;  // of kOfTraining, of kOfLinks
  const CsrGraph* truth = nullptr;
  int threads = 1;
  std::function<void(double)> progress;
};

struct PosteriorSums {
  std::vector<LikelyPair> likely;  // P > kKeptMin, always in the same order
  double expected_links = 0;       // sum of P
  // Row sums over all pairs: [padded n, width]: 1, then latent_width and class_count (for_network), or class_count
  // (class_sums). Empty otherwise.
  size_t width = 0;
  std::vector<double> sums;
  std::vector<uint64_t> bins;  // [kLogOddsBins]
  double error = 0;            // sum of |P - A|, with a truth
  QualityCounter quality;      // with a truth
};

// Of round `round`, whose theta and all of whose predecessors are in `rounds`. By PosteriorKind.
// Memory: the likely pairs (12 bytes each, at most 50 times the expected links), 8 bytes a sum, some MB a thread.
std::array<PosteriorSums, 2> PassOverPairs(const PairInputs& inputs, const ClassProbabilities& classes,
                                           const std::vector<PriorRound>& rounds, size_t round,
                                           const PassOptions& options);

// Rows of the symmetric matrix of likely pairs: both directions, neighbours ascending.
struct LikelyRows {
  std::vector<uint64_t> offsets;  // [n + 1]
  std::vector<NodeIndex> neighbours;
  std::vector<float> probabilities;
};
LikelyRows RowsOf(uint32_t n, const std::vector<LikelyPair>& pairs);

// What the next round's features need, from sums `for_network`.
PosteriorNetwork NetworkOf(const PairInputs& inputs, const PosteriorSums& sums);

// One row of a tile, for those who need to see all log-odds of kOfTraining once more.
struct LogOddsRow {
  int thread = 0;
  uint32_t block = 0;  // of the rows; no other thread has a row of it at the same time
  NodeIndex i = 0, first = 0;
  uint32_t begin = 0, end = 0;  // the pairs (i, first + k), begin <= k < end
  const float* log_odds = nullptr;
};
void ForEachLogOddsRow(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round, int threads,
                       const std::function<void(const LogOddsRow&)>& visit,
                       const std::function<void(double)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_POSTERIOR_PASS_H_
