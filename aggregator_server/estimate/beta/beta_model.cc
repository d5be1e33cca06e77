#include "aggregator_server/estimate/beta/beta_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/beta/degree_polytope.h"
#include "aggregator_server/estimate/beta/logistic_sums.h"

namespace blink {
namespace {

constexpr double kCertificate = 1e-8;
constexpr double kTarget = 1e-11;  // what Newton aims at: the sums it sees are good to about 1e-13
constexpr int kNewtonStepsMax = 300;
constexpr int kConjugateStepsMax = 300;
constexpr double kStepMax = 20;          // in beta
constexpr int kAttemptsMax = 20;         // each squares the share: the last fits a regular graph
constexpr double kShareMax = 63.0 / 64;  // of the degrees' excess, once it is lowered

// The concave log-likelihood of the classes at one point: gradient, and Newton's step.
class Likelihood {
 public:
  Likelihood(std::vector<double> degree, const std::vector<uint32_t>& size)
      : degree_(std::move(degree)),
        size_(size.begin(), size.end()),
        others_(std::accumulate(size_.begin(), size_.end(), 0.0) - 1),
        gradient_(size.size()),
        sums_(size_) {}

  bool MoveTo(const std::vector<double>& beta) {
    if (!sums_.MoveTo(beta)) return false;
    residual_ = 0;
    for (size_t a = 0; a < degree_.size(); ++a) {
      const double missing = CountsGaps(a) ? sums_.gaps()[a] - (others_ - degree_[a]) : degree_[a] - sums_.links()[a];
      gradient_[a] = size_[a] * missing;
      residual_ = std::max(residual_, std::abs(missing) / Scale(a));
    }
    return true;
  }

  double residual() const { return residual_; }
  double Slope(const std::vector<double>& direction) const { return Dot(gradient_, direction); }

  // Solves (D + W) step = gradient, D + W being the negative Hessian, by conjugate gradients with its diagonal as
  // preconditioner: D^-1 W has its eigenvalues in [-1, 1], most of them near 0, so a few products do. `tolerance` is
  // relative to the gradient. Where that is not reached the step is still one that rises, as any of the iterates is.
  void Solve(double tolerance, std::vector<double>& step) const {
    const size_t count = degree_.size();
    std::vector<double> residue = gradient_, pivot(count), scaled(count), direction(count), product(count);
    for (size_t a = 0; a < count; ++a) {
      const double own = sums_.curvature()[a] + (size_[a] - 1) * sums_.own_curvature(a);
      pivot[a] = std::max(size_[a] * own, 1e-300);
      direction[a] = scaled[a] = residue[a] / pivot[a];
    }
    std::fill(step.begin(), step.end(), 0.0);
    double rho = Dot(residue, scaled);
    const double enough = tolerance * tolerance * rho;
    for (int k = 0; k < kConjugateStepsMax && rho > enough; ++k) {
      sums_.Multiply(direction, product);
      for (size_t a = 0; a < count; ++a) product[a] = size_[a] * (product[a] + sums_.curvature()[a] * direction[a]);
      const double curvature = Dot(direction, product);
      if (!(curvature > 0) || !std::isfinite(rho / curvature)) {  // rounding: what is left is beyond it
        if (k == 0) step = direction;
        return;
      }
      const double alpha = rho / curvature, before = rho;
      for (size_t a = 0; a < count; ++a) {
        step[a] += alpha * direction[a];
        residue[a] -= alpha * product[a];
        scaled[a] = residue[a] / pivot[a];
      }
      rho = Dot(residue, scaled);
      for (size_t a = 0; a < count; ++a) direction[a] = scaled[a] + rho / before * direction[a];
    }
  }

  // The certificate and the distance of BetaModel, by sums without approximation. False when keep_going said so.
  bool Certify(absl::Span<const uint32_t> given, const BetaModelOptions& options, BetaModel& model) const {
    std::vector<bool> gaps(degree_.size());
    for (size_t a = 0; a < gaps.size(); ++a) gaps[a] = CountsGaps(a);
    const std::vector<double> sums = DirectSums(model.beta, size_, gaps, options.threads, options.keep_going);
    if (sums.empty()) return false;
    for (size_t a = 0; a < sums.size(); ++a) {
      const double missing = gaps[a] ? sums[a] - (others_ - degree_[a]) : degree_[a] - sums[a];
      const double changed = given[a] - degree_[a] + missing;
      model.residual = std::max(model.residual, std::abs(missing) / Scale(a));
      model.distance = std::max(model.distance, std::abs(changed) / given[a]);
    }
    return true;
  }

 private:
  static double Dot(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }
  // Nodes that are linked with most others are looked at by the links that they lack.
  bool CountsGaps(size_t a) const { return 2 * degree_[a] > others_; }
  double Scale(size_t a) const { return std::min(degree_[a], others_ - degree_[a]); }

  const std::vector<double> degree_, size_;
  const double others_;  // n-1
  std::vector<double> gradient_;
  LogisticSums sums_;
  double residual_ = 0;
};

double MeanDegree(const std::vector<double>& degree, const std::vector<uint32_t>& size) {
  double sum = 0, nodes = 0;
  for (size_t a = 0; a < degree.size(); ++a) {
    sum += degree[a] * size[a];
    nodes += size[a];
  }
  return sum / nodes;
}

// In the sparse limit exp(beta_i + beta_j) = d_i d_j / sum d; otherwise a node is placed among nodes of the mean
// degree.
std::vector<double> StartingPoint(const std::vector<double>& degree, const std::vector<uint32_t>& size, double n) {
  const double mean = MeanDegree(degree, size), sum = mean * n;
  const bool sparse = degree.back() * degree.back() < 4 * sum && mean < 0.1 * (n - 1);
  const double half_logit_of_mean = 0.5 * std::log(mean / (n - 1 - mean));
  std::vector<double> beta;
  for (const double d : degree) {
    beta.push_back(sparse ? std::log(d) - 0.5 * std::log(sum) : std::log(d / (n - 1 - d)) - half_logit_of_mean);
  }
  return beta;
}

enum class Outcome { kConverged, kOutOfReach, kStopped };

// Newton's method. A step is shortened until it does not pass the maximum along its direction (the function is concave,
// so it then rises), or halves the residual (near the solution, where rounding hides the rise). The nearer the
// solution, the more exactly a step is computed. Out of reach: the way leads beyond kBetaMax.
Outcome Maximise(Likelihood& likelihood, const std::function<bool(double)>& keep_going, BetaModel& model) {
  std::vector<double>& beta = model.beta;
  std::vector<double> step(beta.size()), trial(beta.size());
  if (!likelihood.MoveTo(beta)) return Outcome::kOutOfReach;
  for (int steps = 0; likelihood.residual() > kTarget; ++steps, ++model.iterations) {
    if (steps == kNewtonStepsMax) return Outcome::kOutOfReach;
    if (keep_going && !keep_going(0)) return Outcome::kStopped;
    const double before = likelihood.residual();
    likelihood.Solve(std::clamp(0.1 * before, 1e-10, 0.01), step);
    double length = 1.0;
    for (const double s : step) length = std::min(length, kStepMax / std::max(std::abs(s), 1e-300));
    bool moved = false;
    for (int halving = 0; halving < 60 && !moved; ++halving, length *= 0.5) {
      for (size_t a = 0; a < beta.size(); ++a) trial[a] = beta[a] + length * step[a];
      if (!likelihood.MoveTo(trial)) return Outcome::kOutOfReach;
      moved = likelihood.Slope(step) >= 0 || likelihood.residual() <= 0.5 * before;
    }
    if (!moved) {
      likelihood.MoveTo(beta);
      break;
    }
    beta = trial;
  }
  return likelihood.residual() <= kCertificate ? Outcome::kConverged : Outcome::kOutOfReach;
}

}  // namespace

DegreeClasses ClassifyDegrees(absl::Span<const int64_t> degrees) {
  const int64_t highest = static_cast<int64_t>(degrees.size()) - 2;
  std::vector<uint32_t> count(degrees.size(), 0);
  DegreeClasses classes;
  classes.class_of_node.reserve(degrees.size());
  for (const int64_t degree : degrees) {
    const uint32_t clipped = static_cast<uint32_t>(std::clamp<int64_t>(degree, 1, highest));
    classes.class_of_node.push_back(clipped);
    ++count[clipped];
  }
  std::vector<uint32_t> class_of_degree(degrees.size(), 0);
  for (uint32_t degree = 1; degree <= highest; ++degree) {
    if (count[degree] == 0) continue;
    class_of_degree[degree] = static_cast<uint32_t>(classes.degree.size());
    classes.degree.push_back(degree);
    classes.size.push_back(count[degree]);
  }
  for (uint32_t& node : classes.class_of_node) node = class_of_degree[node];
  return classes;
}

absl::StatusOr<BetaModel> FitBetaModel(const DegreeClasses& classes, const BetaModelOptions& options) {
  const size_t n = classes.class_of_node.size();
  if (n < 3) return absl::InvalidArgumentError("the beta-model needs at least 3 nodes");
  const auto started = std::chrono::steady_clock::now();
  const std::vector<double> given(classes.degree.begin(), classes.degree.end());
  BetaModel model;
  model.exists = InsideDegreePolytope(given, classes.size);
  if (!model.exists) model.degree_share = GreatestShareInside(given, classes.size);
  Outcome outcome = Outcome::kOutOfReach;
  for (int attempt = 0; outcome == Outcome::kOutOfReach && attempt < kAttemptsMax; ++attempt) {
    model.regularised = attempt > 0 || !model.exists;
    if (model.regularised) model.degree_share *= std::min(model.degree_share, kShareMax);
    std::vector<double> degree = ShrunkDegrees(given, model.degree_share);
    model.beta = StartingPoint(degree, classes.size, static_cast<double>(n));
    Likelihood likelihood(std::move(degree), classes.size);
    outcome = Maximise(likelihood, options.keep_going, model);
    if (outcome == Outcome::kConverged && !likelihood.Certify(classes.degree, options, model)) {
      outcome = Outcome::kStopped;
    }
  }
  if (outcome == Outcome::kStopped) return absl::CancelledError("the fit of the beta-model was stopped");
  if (outcome != Outcome::kConverged || !(model.residual <= kCertificate)) {
    return absl::InternalError(absl::StrCat("the beta-model did not converge: relative residual ", model.residual,
                                            " after ", model.iterations, " steps, over ", model.beta.size(),
                                            " distinct degrees of ", n, " nodes"));
  }
  model.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return model;
}

}  // namespace blink
