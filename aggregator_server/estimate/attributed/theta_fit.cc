#include "aggregator_server/estimate/attributed/theta_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "Eigen/Dense"
#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/theta_sums.h"

namespace blink {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double kGainMin = 1e-4;       // of log-likelihood, of a step that is worth another
constexpr double kStepShareMin = 1e-6;  // of Newton's step, in the line search
constexpr double kNear = 1000;          // below such a gain the Hessian is tried
constexpr double kLinksDeviations = 2, kLinksKnown = 10;
constexpr double kHeld = 1e-4;         // of the variance of the links, where they are held
constexpr size_t kFewPairs = 1 << 18;  // about so many are enough to come near the maximum of all

absl::Status Check(const PairSample& sample, const ThetaOptions& options) {
  const size_t pairs = sample.size();
  if (pairs == 0) return absl::InvalidArgumentError("the sample has no pairs: there is nothing to fit coefficients to");
  if (sample.width == 0)
    return absl::InvalidArgumentError("the pairs have no features: the first must be the constant 1");
  if (sample.features.size() != pairs * sample.width || sample.evidence.size() != pairs ||
      sample.weights.size() != pairs) {
    return absl::InvalidArgumentError(absl::StrCat(
        pairs, " pairs of ", sample.width, " features need as many numbers, but have ", sample.features.size(),
        " features, ", sample.evidence.size(), " evidences and ", sample.weights.size(), " weights"));
  }
  if (!options.start.empty() && options.start.size() != sample.width) {
    return absl::InvalidArgumentError(
        absl::StrCat("the start has ", options.start.size(), " coefficients, the pairs ", sample.width, " features"));
  }
  if (!(options.ridge >= 0 && std::isfinite(options.ridge)))
    return absl::InvalidArgumentError("the ridge must be a number from 0 on");
  if (!(options.links_variance >= 0))
    return absl::InvalidArgumentError("the variance of the links must not be negative");
  if (std::any_of(sample.weights.begin(), sample.weights.end(), [](float w) { return !(w > 0 && std::isfinite(w)); }))
    return absl::InvalidArgumentError("the weight of a pair is not a positive number");
  for (const std::vector<float>* numbers : {&sample.features, &sample.base, &sample.evidence}) {
    if (!std::all_of(numbers->begin(), numbers->end(), [](float x) { return std::isfinite(x); }))
      return absl::InvalidArgumentError("a feature, base or evidence of a pair is not a finite number");
  }
  return absl::OkStatus();
}

// ridge * the weighted variance of each feature: what the square of its coefficient costs, twice. The constant is free.
Vector RidgeOf(const PairSample& sample, double ridge) {
  const size_t width = sample.width;
  std::vector<double> sum(width, 0.0), squares(width, 0.0);
  double weights = 0;
  for (size_t m = 0; m < sample.size(); ++m) {
    const double weight = sample.weights[m];
    weights += weight;
    for (size_t k = 0; k < width; ++k) {
      // less the first pair's: no cancellation where a feature hardly varies
      const double value = static_cast<double>(sample.features[m * width + k]) - sample.features[k];
      sum[k] += weight * value;
      squares[k] += weight * value * value;
    }
  }
  Vector cost = Vector::Zero(static_cast<Eigen::Index>(width));
  // Of the constant weak, a deviation of 2 in log-odds: where the bits say next to nothing (epsilon below 0.1) their
  // likelihood grows, hardly but without end, towards a graph without links.
  cost[0] = ridge / 4;
  for (size_t k = 1; k < width; ++k) {
    const double mean = sum[k] / weights, variance = squares[k] / weights - mean * mean;
    cost[static_cast<Eigen::Index>(k)] = ridge * (variance > 0 ? variance : 1);
  }
  return cost;
}

// The objective at one theta, with its gradient and the matrix of Newton's step.
struct Point {
  Vector theta;
  Curvature kind = Curvature::kOuter;
  double objective = 0, links = 0;
  Vector gradient;
  Matrix curvature;
};

class Objective {
 public:
  Objective(const PairSample& sample, const ThetaOptions& options)
      : sample_(sample), options_(options), ridge_(RidgeOf(sample, options.ridge)) {}

  Point At(Vector theta, Curvature kind = Curvature::kOuter) const {
    const ThetaSums sums = SumPairs(sample_, {theta.data(), static_cast<size_t>(theta.size())}, options_.threads, kind);
    const auto width = theta.size();
    Point point;
    point.kind = kind;
    point.links = sums.links;
    point.objective = sums.likelihood - 0.5 * (ridge_.array() * theta.array().square()).sum();
    point.gradient = Eigen::Map<const Vector>(sums.gradient.data(), width) - ridge_.cwiseProduct(theta);
    point.curvature = Eigen::Map<const Matrix>(sums.curvature.data(), width, width);
    point.curvature.diagonal() += ridge_;
    if (options_.links_variance > 0 && std::isfinite(options_.links_variance)) {
      const double surplus = sums.links - options_.links, variance = options_.links_variance;
      const Eigen::Map<const Vector> slope(sums.links_slope.data(), width);
      point.objective -= surplus * surplus / (2 * variance);
      point.gradient -= slope * (surplus / variance);
      point.curvature += slope * slope.transpose() / variance;
    }
    point.theta = std::move(theta);
    return point;
  }

 private:
  const PairSample& sample_;
  const ThetaOptions& options_;
  const Vector ridge_;
};

// The solution of curvature * step = gradient, where the curvature is positive. A trace on the diagonal keeps it so
// where features are copies of each other and the ridge is 0.
std::optional<Vector> NewtonStep(const Point& point) {
  Matrix curvature = point.curvature;
  curvature.diagonal().array() += 1e-9 + 1e-12 * std::abs(curvature.trace());
  const Eigen::LLT<Matrix> factors(curvature);
  if (factors.info() != Eigen::Success) return std::nullopt;
  Vector step = factors.solve(point.gradient);
  if (!step.allFinite()) return std::nullopt;
  return step;
}

// From `at` to the maximum, in at most `iterations_max` steps. First with the outer products, which are positive
// everywhere but converge slowly where the model does not fit; near the maximum with the Hessian, where it is positive.
Point Climb(const Objective& objective, Point at, int iterations_max, ThetaFit& fit) {
  bool hessian = true;  // has not failed
  fit.converged = false;
  for (fit.iterations = 0; fit.iterations < iterations_max && !fit.converged;) {
    std::optional<Vector> step = NewtonStep(at);
    if (!step.has_value() && at.kind == Curvature::kHessian) {
      hessian = false;
      at = objective.At(std::move(at.theta));
      step = NewtonStep(at);
    }
    if (!step.has_value()) break;
    const double promise = at.gradient.dot(*step);  // to first order twice the gain
    // A hundredth of what is worth a step: the rest is rounding.
    if ((fit.converged = promise < 0.02 * kGainMin)) break;
    ++fit.iterations;
    const Curvature kind = hessian && promise < kNear ? Curvature::kHessian : Curvature::kOuter;
    double share = 1;
    Point next = objective.At(at.theta + *step, kind);
    while (!(next.objective > at.objective) && share > kStepShareMin) {
      share /= 2;
      next = objective.At(at.theta + share * *step, kind);
    }
    const double gain = next.objective - at.objective;
    if (!(gain > 0)) break;  // no way up that numbers can show
    fit.converged = gain < kGainMin;
    at = std::move(next);
  }
  return at;
}

// Every k-th pair, for all.
PairSample Few(const PairSample& sample) {
  const size_t every = sample.size() / kFewPairs, width = sample.width;
  PairSample few;
  few.width = sample.width;
  for (size_t m = 0; m < sample.size(); m += every) {
    few.features.insert(few.features.end(), &sample.features[m * width], &sample.features[m * width] + width);
    few.base.push_back(sample.base[m]);
    few.evidence.push_back(sample.evidence[m]);
    few.weights.push_back(sample.weights[m] * static_cast<float>(every));
  }
  return few;
}

}  // namespace

absl::StatusOr<ThetaFit> FitTheta(const PairSample& sample, const ThetaOptions& options) {
  if (const absl::Status status = Check(sample, options); !status.ok()) return status;
  const Objective objective(sample, options);
  const auto width = static_cast<Eigen::Index>(sample.width);
  Point at = objective.At(Vector::Zero(width));
  const double zero = at.objective;
  if (!std::isfinite(zero) || !at.gradient.allFinite() || !at.curvature.allFinite())
    return absl::InvalidArgumentError("the numbers of the pairs are too large: their sums are not finite");
  const auto start_from = [&](Vector theta) {
    Point start = objective.At(std::move(theta));
    if (std::isfinite(start.objective) && start.objective > at.objective) at = std::move(start);
  };
  ThetaFit fit;
  if (!options.start.empty()) start_from(Eigen::Map<const Vector>(options.start.data(), width));
  if (sample.size() >= 2 * kFewPairs) {
    const PairSample few = Few(sample);
    const Objective of_few(few, options);
    start_from(Climb(of_few, of_few.At(at.theta), options.iterations_max, fit).theta);
  }
  at = Climb(objective, std::move(at), options.iterations_max, fit);
  fit.theta.assign(at.theta.data(), at.theta.data() + width);
  fit.objective = at.objective - zero;
  fit.links = at.links;
  return fit;
}

absl::StatusOr<ThetaFit> FitThetaWithinLinks(const PairSample& sample, ThetaOptions options) {
  absl::StatusOr<ThetaFit> fit = FitTheta(sample, options);
  const double reach = kLinksDeviations * std::sqrt(options.links_variance);
  if (!fit.ok() || !(options.links_variance > 0) || kLinksKnown * reach > kLinksDeviations * options.links) return fit;
  const double allowed = std::clamp(fit->links, options.links - reach, options.links + reach);
  if (allowed == fit->links) return fit;
  options.links = allowed;
  options.links_variance *= kHeld;
  options.start = fit->theta;
  return FitTheta(sample, options);
}

}  // namespace blink
