// The features phi of pairs of nodes, a tile of pairs at a time, and what follows from them: log-odds and P.
//
//   quantity of the pair (i, j)
//   cosine                    c = scaled_i . scaled_j
//   latent                    z = latent_i . latent_j
//   classes, log classes      q = q_i . q_j, log(0.05 + q)
//   and, from the posterior P of the round before (K: the P above kKeptMin, S_i: the sum of row i of P):
//   common neighbours         log(1 + 10 (K K)_ij)
//   latent of neighbours      ((P Z)_i . z_j - P_ij z_j . z_j) / (S_i - P_ij + 1/2), plus the same from j's side
//   classes of neighbours     the same with q in place of z
//   overlap                   (K K)_ij / sqrt((S_i - P_ij + 1/2) (S_j - P_ij + 1/2)), where P is sharp (IsSharp)
//
// A feature is 1 or one of these: itself, its square, or the smaller of it and a constant (kFeatureForms). What belongs
// to one quantity is a curve over it, and the log-odds are the base and the sum of the curves.
//
// The bits of a pair never reach its own features: the degrees of its ends, which sum them with others, go without them
// (degree_posterior.h, influence), K K has no term with K_ij, since K_ii = K_jj = 0, and P_ij is taken out of the sums.
// (A second round of the network sees them at second hand, through what they did to other pairs, as any inference on a
// graph does; that is why there are no more than two.)
//
// The network's sums run over all pairs, so P_ij of the round before, which is not stored, is computed once more from
// that round's coefficients.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_FEATURES_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_FEATURES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/profiles/pair_tiles.h"
#include "aggregator_server/profiles/sparse_rows.h"
#include "aggregator_server/profiles/tile_kernels.h"

namespace blink {

enum PairQuantity : int {
  kOfCosine,
  kOfLatent,
  kOfClasses,
  kOfLogClasses,
  kOfCommonNeighbours,
  kOfNeighboursLatent,
  kOfNeighboursClasses,
  kOfOverlap,
  kPairQuantityCount
};

enum PairFeature : int {
  kConstant,
  kCosine,
  kCosineTo005,
  kCosineTo01,
  kCosineTo02,
  kCosineTo04,
  kLatent,
  kLatentSquare,
  kClasses,
  kLogClasses,
  kCommonNeighbours,  // from here on: of the network
  kNeighboursLatent,
  kNeighboursClasses,
  kOverlap,
  kOverlapTo001,
  kOverlapTo003,
  kOverlapTo01,
  kOverlapTo03,
  kPairFeatureCount
};

// What a feature is of its quantity. All features, in the order of PairFeature.
struct FeatureForm {
  const char* name;
  PairQuantity of;  // of the constant none
  enum Form { kOne, kItself, kSquare, kUpTo } form = kItself;
  float hinge = 0;  // of kUpTo
  float Of(float x) const {
    if (form == kOne) return 1;
    return form == kItself ? x : form == kSquare ? x * x : std::min(x, hinge);
  }
};
inline constexpr FeatureForm kFeatureForms[kPairFeatureCount] = {
    {"constant", kPairQuantityCount, FeatureForm::kOne},
    {"cosine", kOfCosine},
    {"cosine to 0.05", kOfCosine, FeatureForm::kUpTo, 0.05f},
    {"cosine to 0.1", kOfCosine, FeatureForm::kUpTo, 0.1f},
    {"cosine to 0.2", kOfCosine, FeatureForm::kUpTo, 0.2f},
    {"cosine to 0.4", kOfCosine, FeatureForm::kUpTo, 0.4f},
    {"latent", kOfLatent},
    {"latent squared", kOfLatent, FeatureForm::kSquare},
    {"classes", kOfClasses},
    {"log classes", kOfLogClasses},
    {"common neighbours", kOfCommonNeighbours},
    {"latent of neighbours", kOfNeighboursLatent},
    {"classes of neighbours", kOfNeighboursClasses},
    {"overlap", kOfOverlap},
    {"overlap to 0.01", kOfOverlap, FeatureForm::kUpTo, 0.01f},
    {"overlap to 0.03", kOfOverlap, FeatureForm::kUpTo, 0.03f},
    {"overlap to 0.1", kOfOverlap, FeatureForm::kUpTo, 0.1f},
    {"overlap to 0.3", kOfOverlap, FeatureForm::kUpTo, 0.3f},
};

using PairTheta = std::array<double, kPairFeatureCount>;  // 0 where a feature is left out

// Whether the posterior of a round is sharp enough for the next one to gain more from its details (the overlap of the
// neighbours, a second round of the network) than it repeats of its own errors: from this epsilon_list on, and
// where so many of the nodes have reported.
inline constexpr double kSharpEpsilon = 2.5, kSharpReports = 0.8;
bool IsSharp(const ReportSet& reports);

enum PosteriorKind : int { kOfLinks = 0, kOfTraining = 1 };  // with Qc on both sides, with Qo on both sides

// What is known of the nodes. Refers to the reports, profiles and classes it was made from.
struct PairInputs {
  PairInputs(const ReportSet& reports, const NodeProfiles& profiles, const ClassProbabilities& classes,
             const DegreePosterior& degrees, const Ingredients& ingredients);

  // Which features a round can have at all.
  bool Has(int feature, bool network) const;
  uint32_t padded() const { return BlockCount(n) * kTileNodes; }

  const ReportSet& reports;
  uint32_t n = 0;
  bool sharp = false;             // IsSharp
  float bit_weight = 0;           // ln((1-p)/p)
  std::vector<float> log_degree;  // [padded] kNever past n
  float log_total = 0;            // log of the sum of the degrees
  std::vector<float> influence;   // [padded] of the degrees, by a pair's own bits
  float own_bit = 0;              // what a bit, as evidence, adds to the sum of a node: 1 / (2 ln((1-p)/p) (1 - 2 p))
  std::vector<float> reported;    // [padded] 1 where bits were received from the node (ReportSet::has_evidence)
  bool some_unobserved = false;   // of a mirrored set: evidence of 0 is none, and no part of the sums of its ends
  SparseRows words;               // sparse features, or none
  const float* dense = nullptr;   // [n, dense_width] dense features, or none
  uint32_t dense_width = 0;
  const float* latent = nullptr;  // [n, latent_width], or none
  uint32_t latent_width = 0;
  std::vector<float> latent_square;  // [padded] z_i . z_i
  const float* classes[2] = {};      // [n, class_count] by PosteriorKind, or none
  uint32_t class_count = 0;
  std::vector<float> class_square[2];  // [padded] q_i . q_i
};

// The posterior of one round, as the features of the next see it.
struct PosteriorNetwork {
  SparseRows kept;             // K, symmetric
  std::vector<float> sums;     // [padded] of the rows of P
  std::vector<float> latent;   // [n, latent_width] P Z
  std::vector<float> classes;  // [n, class_count] P Q
};
struct PriorRound {
  PairTheta theta = {};
  PosteriorNetwork network[2];  // by PosteriorKind; not of the last round
};

// The pairs of one tile after the other; one for each thread. Load, then for each strip of kStripRows rows Strip, then
// for each posterior Features and perhaps LogOdds. Rows and columns past the last node, and those with i >= j in a tile
// of the diagonal, have log-odds of about kNever and P = 0.
class TileFeatures {
 public:
  // Features of round `round`, from the rounds before it; `kinds` of posteriors (1 << kind). Keeps references.
  TileFeatures(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round, unsigned kinds);

  void Load(const Tile& tile);
  const Tile& at() const { return tile_; }
  uint32_t strip_count() const;  // with a node in them
  void Strip(uint32_t strip);
  void Features(PosteriorKind kind);
  // From the features computed last, with the coefficients of the round.
  void LogOdds(const PairTheta& theta);

  // Row r of the strip, [kTileNodes] each.
  // Before the bits of the pair, and without them.
  const float* base(uint32_t r) const { return Row(base_, r); }
  const float* evidence(uint32_t r) const { return Row(evidence_, r); }
  const float* of(PairQuantity quantity, uint32_t r) const { return Row(quantities_[quantity], r); }
  const float* log_odds(uint32_t r) const { return Row(log_odds_, r); }  // with the evidence
  const float* probability(uint32_t r) const { return Row(probability_, r); }
  float row_sum(uint32_t r) const { return row_sums_[r]; }  // of the probabilities
  // The columns [begin, end) that are pairs of row r with a later node.
  uint32_t begin(uint32_t r) const;
  uint32_t end() const;
  NodeIndex node(uint32_t r) const { return tile_.first_row() + first_ + r; }

 private:
  struct Earlier {  // of a round before, of one posterior
    TileOperand latent, classes;
    std::unique_ptr<SparseProduct> kept;
  };

  static const float* Row(const AlignedFloats& matrix, uint32_t r) { return matrix.data() + r * kTileNodes; }
  static float* Row(AlignedFloats& matrix, uint32_t r) { return matrix.data() + r * kTileNodes; }
  void LoadBits();
  void RestoreUnobserved(uint32_t r);
  void Multiply(const TileOperand& left, const TileOperand& right, AlignedFloats& out) const;
  void NetworkFeatures(PosteriorKind kind, size_t earlier);

  const PairInputs& inputs_;
  const std::vector<PriorRound>& rounds_;
  const size_t round_;
  Tile tile_;
  uint32_t first_ = 0;  // row of the strip within the tile

  TileOperand dense_, z_, q_[2];
  std::unique_ptr<SparseProduct> words_;
  std::vector<Earlier> earlier_[2];
  std::vector<uint8_t> own_bits_, other_bits_;  // [kTileNodes, kTileNodes / 8]

  AlignedFloats base_, evidence_, quantities_[kPairQuantityCount];
  AlignedFloats forth_, back_;  // products with the network's sums
  AlignedFloats log_odds_, probability_;
  float row_sums_[kStripRows] = {};
};

// Calls visit(tile, thread) for every tile of pairs (ForEachTile), loaded, with the features of a thread's own.
void ForEachTileOfFeatures(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round,
                           unsigned kinds, int threads, absl::FunctionRef<void(TileFeatures& tile, int thread)> visit,
                           const std::function<void(double fraction)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_PAIR_FEATURES_H_
