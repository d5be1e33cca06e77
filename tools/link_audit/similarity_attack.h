// Link stealing from predictions: nodes whose published class probabilities are alike are taken for linked (He, Jia,
// Backes, Gong and Zhang: "Stealing Links from Graph Neural Networks", USENIX Security 2021, attack 0). It needs
// nothing but the predictions.
#ifndef BLINK_TOOLS_LINK_AUDIT_SIMILARITY_ATTACK_H_
#define BLINK_TOOLS_LINK_AUDIT_SIMILARITY_ATTACK_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tools/link_audit/attack.h"

namespace blink {

// The eight distances of the paper, as scipy.spatial.distance has them.
enum class Distance {
  kCosine,
  kEuclidean,
  kCorrelation,
  kChebyshev,
  kBrayCurtis,
  kCanberra,
  kManhattan,
  kSquaredEuclidean
};
inline constexpr std::array<const char*, 8> kDistanceNames = {
    "cosine", "euclidean", "correlation", "chebyshev", "bray-curtis", "canberra", "manhattan", "squared-euclidean"};

// Of two vectors of the same length. Where one has no direction, the cosine and the correlation are 0.
double DistanceBetween(Distance distance, absl::Span<const double> a, absl::Span<const double> b);

// Class probabilities of nodes, ready to be compared.
class Predictions {
 public:
  // The softmax of logits [n, classes].
  Predictions(absl::Span<const float> logits, uint32_t classes);

  uint32_t node_count() const { return static_cast<uint32_t>(values_.size() / classes_); }
  absl::Span<const double> Of(NodeIndex node) const { return Row(values_, node); }
  // The row divided by its length; with `centred`, less its mean before. Zeros where there is no direction.
  absl::Span<const double> DirectionOf(NodeIndex node, bool centred) const {
    return Row(centred ? centred_directions_ : directions_, node);
  }

 private:
  absl::Span<const double> Row(const std::vector<double>& values, NodeIndex node) const {
    return absl::MakeConstSpan(values).subspan(size_t{node} * classes_, classes_);
  }

  uint32_t classes_;
  std::vector<double> values_, directions_, centred_directions_;  // [n, classes]
};

class SimilarityAttack : public LinkAttack {
 public:
  // `predictions` outlives this.
  SimilarityAttack(const Predictions& predictions, Distance distance)
      : predictions_(predictions), distance_(distance) {}
  std::string name() const override { return kDistanceNames[static_cast<size_t>(distance_)]; }
  void ScoreRow(NodeIndex node, absl::Span<float> out) const override;

 private:
  const Predictions& predictions_;
  const Distance distance_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_SIMILARITY_ATTACK_H_
