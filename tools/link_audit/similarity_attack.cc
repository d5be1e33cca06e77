#include "tools/link_audit/similarity_attack.h"

#include <algorithm>
#include <cmath>

namespace blink {
namespace {

double Dot(absl::Span<const double> a, absl::Span<const double> b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

double Mean(absl::Span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// In place. Rounding leaves of equal values less their mean some 1e-17, which is no direction.
void MakeDirection(absl::Span<double> row) {
  const double length = std::sqrt(Dot(row, row));
  for (double& value : row) value = length > 1e-12 ? value / length : 0;
}

std::vector<double> Direction(absl::Span<const double> row, bool centred) {
  std::vector<double> direction(row.begin(), row.end());
  const double mean = centred ? Mean(row) : 0;
  for (double& value : direction) value -= mean;
  MakeDirection(absl::MakeSpan(direction));
  return direction;
}

template <typename Term>
double SumOver(absl::Span<const double> a, absl::Span<const double> b, const Term& term) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += term(a[k], b[k]);
  return sum;
}

double Apart(double a, double b) { return std::abs(a - b); }
double Together(double a, double b) { return std::abs(a + b); }

double Chebyshev(absl::Span<const double> a, absl::Span<const double> b) {
  double largest = 0;
  for (size_t k = 0; k < a.size(); ++k) largest = std::max(largest, Apart(a[k], b[k]));
  return largest;
}

double Canberra(absl::Span<const double> a, absl::Span<const double> b) {
  return SumOver(a, b, [](double x, double y) {
    const double size = std::abs(x) + std::abs(y);
    return size > 0 ? Apart(x, y) / size : 0;
  });
}

double Squares(absl::Span<const double> a, absl::Span<const double> b) {
  return SumOver(a, b, [](double x, double y) { return (x - y) * (x - y); });
}

double BrayCurtis(absl::Span<const double> a, absl::Span<const double> b) {
  const double size = SumOver(a, b, Together);
  return size > 0 ? SumOver(a, b, Apart) / size : 0;
}

// Of the distances that are no angles.
double PlainDistance(Distance distance, absl::Span<const double> a, absl::Span<const double> b) {
  switch (distance) {
    case Distance::kEuclidean:
      return std::sqrt(Squares(a, b));
    case Distance::kChebyshev:
      return Chebyshev(a, b);
    case Distance::kBrayCurtis:
      return BrayCurtis(a, b);
    case Distance::kCanberra:
      return Canberra(a, b);
    case Distance::kManhattan:
      return SumOver(a, b, Apart);
    default:
      return Squares(a, b);
  }
}

}  // namespace

double DistanceBetween(Distance distance, absl::Span<const double> a, absl::Span<const double> b) {
  if (distance != Distance::kCosine && distance != Distance::kCorrelation) return PlainDistance(distance, a, b);
  const bool centred = distance == Distance::kCorrelation;
  return 1 - Dot(Direction(a, centred), Direction(b, centred));
}

Predictions::Predictions(absl::Span<const float> logits, uint32_t classes)
    : classes_(classes), values_(logits.begin(), logits.end()) {
  const size_t n = values_.size() / classes_;
  for (size_t i = 0; i < n; ++i) {
    const absl::Span<double> row = absl::MakeSpan(values_).subspan(i * classes_, classes_);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& value : row) sum += value = std::exp(value - largest);
    for (double& value : row) value /= sum;
  }
  for (size_t i = 0; i < n; ++i) {
    const absl::Span<const double> row = Of(static_cast<NodeIndex>(i));
    for (const bool centred : {false, true}) {
      const std::vector<double> direction = Direction(row, centred);
      std::vector<double>& all = centred ? centred_directions_ : directions_;
      all.insert(all.end(), direction.begin(), direction.end());
    }
  }
}

void SimilarityAttack::ScoreRow(NodeIndex node, absl::Span<float> out) const {
  const bool centred = distance_ == Distance::kCorrelation;
  if (centred || distance_ == Distance::kCosine) {
    const absl::Span<const double> own = predictions_.DirectionOf(node, centred);
    for (NodeIndex j = 0; j < out.size(); ++j)
      out[j] = static_cast<float>(Dot(own, predictions_.DirectionOf(j, centred)) - 1);
    return;
  }
  const absl::Span<const double> own = predictions_.Of(node);
  for (NodeIndex j = 0; j < out.size(); ++j) {
    out[j] = static_cast<float>(-PlainDistance(distance_, own, predictions_.Of(j)));
  }
}

}  // namespace blink
