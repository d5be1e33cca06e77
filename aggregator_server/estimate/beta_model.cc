#include "aggregator_server/estimate/beta_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace blink {
namespace {

constexpr double kCertificate = 1e-8;
constexpr double kTarget = 1e-11;  // what Newton aims at: one more quadratic step than the certificate needs
constexpr int kNewtonStepsMax = 300;
constexpr int kConjugateStepsMax = 200;
// Where no finite maximum exists, the log-likelihood minus kRidge/2 * sum_i beta_i^2 is maximised: the mode under a normal prior
// of standard deviation 10 on every beta, which is weak beside any degree that the model can express.
constexpr double kRidge = 0.01;

double Sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

// The concave log-likelihood of the classes at one point: gradient, and the negative Hessian D + W as its parts.
class Likelihood {
 public:
  Likelihood(const DegreeClasses& classes, double ridge)
      : count_(classes.degree.size()), ridge_(ridge), degree_(classes.degree.begin(), classes.degree.end()),
        size_(classes.size.begin(), classes.size.end()), weights_(count_ * count_), gradient_(count_), diagonal_(count_), expected_(count_) {}

  void MoveTo(const std::vector<double>& beta) {
    std::fill(expected_.begin(), expected_.end(), 0.0);
    std::vector<double> row_sums(count_, 0.0);
    for (size_t a = 0; a < count_; ++a) {
      for (size_t b = a; b < count_; ++b) {
        const double p = Sigmoid(beta[a] + beta[b]);
        const double q = Sigmoid(-beta[a] - beta[b]);
        const double w = p * q;
        const double others = a == b ? size_[a] - 1 : size_[b];  // nodes of class b that a node of class a may be linked to
        weights_[a * count_ + b] = size_[a] * others * w;
        weights_[b * count_ + a] = weights_[a * count_ + b];
        expected_[a] += others * p;
        row_sums[a] += weights_[a * count_ + b];
        if (a != b) {
          expected_[b] += size_[a] * p;
          row_sums[b] += weights_[a * count_ + b];
        }
      }
    }
    residual_ = equation_residual_ = 0;
    for (size_t a = 0; a < count_; ++a) {
      const double missing = degree_[a] - expected_[a];
      gradient_[a] = size_[a] * (missing - ridge_ * beta[a]);
      diagonal_[a] = row_sums[a] + size_[a] * ridge_;
      residual_ = std::max(residual_, std::abs(missing - ridge_ * beta[a]) / degree_[a]);
      equation_residual_ = std::max(equation_residual_, std::abs(missing) / degree_[a]);
    }
  }

  double residual() const { return residual_; }                     // of the equations that are solved
  double equation_residual() const { return equation_residual_; }   // of the degree equations
  const std::vector<double>& gradient() const { return gradient_; }

  // Solves (D + W) step = gradient by conjugate gradients with the diagonal as preconditioner: D^-1 W has its eigenvalues in
  // [-1, 1], most of them near 0, so a few products of O(K^2) do. False when that is not enough.
  bool SolveByConjugateGradients(std::vector<double>& step) const {
    const double tolerance = 1e-10;
    std::vector<double> residue = gradient_, scaled(count_), direction(count_), product(count_);
    std::fill(step.begin(), step.end(), 0.0);
    double start = 0, rho = 0;
    for (size_t a = 0; a < count_; ++a) {
      direction[a] = scaled[a] = residue[a] / Pivot(a);
      rho += residue[a] * scaled[a];
    }
    start = rho;
    for (int k = 0; k < kConjugateStepsMax; ++k) {
      if (rho <= tolerance * tolerance * start) return true;
      Multiply(direction, product);
      const double curvature = Dot(direction, product);
      if (!(curvature > 0) || !std::isfinite(curvature)) return false;
      const double alpha = rho / curvature;
      double next = 0;
      for (size_t a = 0; a < count_; ++a) {
        step[a] += alpha * direction[a];
        residue[a] -= alpha * product[a];
        scaled[a] = residue[a] / Pivot(a);
        next += residue[a] * scaled[a];
      }
      for (size_t a = 0; a < count_; ++a) direction[a] = scaled[a] + next / rho * direction[a];
      rho = next;
    }
    return false;
  }

  // The same by Cholesky's decomposition of the matrix scaled to a unit diagonal: O(K^3), for what is badly conditioned.
  void SolveByCholesky(std::vector<double>& step) const {
    const size_t k = count_;
    std::vector<double> scale(k), lower(k * k);
    for (size_t a = 0; a < k; ++a) scale[a] = 1.0 / std::sqrt(std::max(Pivot(a), 1e-300));
    for (size_t a = 0; a < k; ++a) {
      for (size_t b = 0; b <= a; ++b) lower[a * k + b] = (weights_[a * k + b] + (a == b ? diagonal_[a] : 0)) * scale[a] * scale[b];
    }
    for (size_t a = 0; a < k; ++a) {
      for (size_t b = 0; b <= a; ++b) {
        double sum = lower[a * k + b];
        for (size_t c = 0; c < b; ++c) sum -= lower[a * k + c] * lower[b * k + c];
        lower[a * k + b] = a == b ? std::sqrt(std::max(sum, 1e-14)) : sum / lower[b * k + b];
      }
    }
    for (size_t a = 0; a < k; ++a) {
      double sum = gradient_[a] * scale[a];
      for (size_t c = 0; c < a; ++c) sum -= lower[a * k + c] * step[c];
      step[a] = sum / lower[a * k + a];
    }
    for (size_t a = k; a-- > 0;) {
      double sum = step[a];
      for (size_t c = a + 1; c < k; ++c) sum -= lower[c * k + a] * step[c];
      step[a] = sum / lower[a * k + a];
    }
    for (size_t a = 0; a < k; ++a) step[a] *= scale[a];
  }

  static double Dot(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }

 private:
  double Pivot(size_t a) const { return diagonal_[a] + weights_[a * count_ + a]; }
  void Multiply(const std::vector<double>& x, std::vector<double>& y) const {
    for (size_t a = 0; a < count_; ++a) {
      const double* row = &weights_[a * count_];
      double sums[4] = {0, 0, 0, 0};
      size_t b = 0;
      for (; b + 4 <= count_; b += 4) {
        for (int lane = 0; lane < 4; ++lane) sums[lane] += row[b + lane] * x[b + lane];
      }
      for (; b < count_; ++b) sums[0] += row[b] * x[b];
      y[a] = diagonal_[a] * x[a] + (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }

  const size_t count_;
  const double ridge_;
  const std::vector<double> degree_, size_;
  std::vector<double> weights_;  // W, [K, K]
  std::vector<double> gradient_, diagonal_, expected_;
  double residual_ = 0, equation_residual_ = 0;
};

// exp(beta_i + beta_j) = d_i d_j / sum d is the sparse limit; half the logit of d / (n-1) is exact for a regular graph.
std::vector<double> StartingPoint(const DegreeClasses& classes) {
  const double n = static_cast<double>(classes.class_of_node.size());
  double sum = 0;
  for (size_t a = 0; a < classes.degree.size(); ++a) sum += static_cast<double>(classes.degree[a]) * classes.size[a];
  const bool sparse = classes.degree.back() * static_cast<double>(classes.degree.back()) < 4 * sum && sum < 0.1 * n * (n - 1);
  std::vector<double> beta;
  for (const uint32_t degree : classes.degree) {
    const double d = degree;
    // Between the two: the mean field of a node among average ones.
    const double mean = sum / n / (n - 1), alpha = 0.5 * std::log(mean / (1 - mean));
    beta.push_back(sparse ? std::log(d) - 0.5 * std::log(sum) : std::log(d / (n - 1 - d)) - alpha);
  }
  return beta;
}

// Newton's method. A step is shortened until it does not pass the maximum along its direction (the function is concave, so it then rises), or
// halves the residual (near the solution, where rounding hides the rise).
int Maximise(Likelihood& likelihood, std::vector<double>& beta) {
  std::vector<double> step(beta.size()), trial(beta.size());
  likelihood.MoveTo(beta);
  for (int iteration = 1; iteration <= kNewtonStepsMax; ++iteration) {
    if (likelihood.residual() <= kTarget) return iteration - 1;
    if (!likelihood.SolveByConjugateGradients(step)) likelihood.SolveByCholesky(step);
    const double before = likelihood.residual();
    double length = 1.0;
    for (const double s : step) length = std::min(length, 20.0 / std::max(std::abs(s), 1e-300));
    bool moved = false;
    for (int halving = 0; halving < 60 && !moved; ++halving, length *= 0.5) {
      for (size_t a = 0; a < beta.size(); ++a) trial[a] = beta[a] + length * step[a];
      likelihood.MoveTo(trial);
      moved = Likelihood::Dot(likelihood.gradient(), step) >= 0 || likelihood.residual() <= 0.5 * before;
    }
    if (!moved) {
      likelihood.MoveTo(beta);
      return iteration;
    }
    beta = trial;
  }
  return kNewtonStepsMax;
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

bool MleExists(const DegreeClasses& classes) {
  // With d_1 >= ... >= d_n the degrees lie inside the polytope of degree sequences exactly when, for every k from 1 to n,
  // sum_{i<=k} d_i < k (k-1) + sum_{i>k} min(d_i, k). (All degrees are at least 1, which is the remaining facet.)
  const uint64_t n = classes.class_of_node.size();
  std::vector<uint64_t> prefix(n + 1, 0);  // sums of the k largest degrees
  uint64_t k = 0;
  for (size_t a = classes.degree.size(); a-- > 0;) {
    for (uint32_t member = 0; member < classes.size[a]; ++member, ++k) prefix[k + 1] = prefix[k] + classes.degree[a];
  }
  uint64_t at_least = n;  // nodes whose degree is at least k
  size_t lowest = 0;      // the first class whose degree is at least k
  for (k = 1; k <= n; ++k) {
    while (lowest < classes.degree.size() && classes.degree[lowest] < k) at_least -= classes.size[lowest++];
    const uint64_t capped = at_least > k ? at_least - k : 0;
    const uint64_t tail = prefix[n] - prefix[std::max(k, at_least)];
    if (prefix[k] >= k * (k - 1) + capped * k + tail) return false;
  }
  return true;
}

absl::StatusOr<BetaModel> FitBetaModel(const DegreeClasses& classes) {
  if (classes.class_of_node.size() < 3) return absl::InvalidArgumentError("the beta-model needs at least 3 nodes");
  const auto started = std::chrono::steady_clock::now();
  BetaModel model;
  model.exists = MleExists(classes);
  Likelihood likelihood(classes, model.exists ? 0.0 : kRidge);
  model.beta = StartingPoint(classes);
  model.iterations = Maximise(likelihood, model.beta);
  model.residual = likelihood.equation_residual();
  model.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!(likelihood.residual() <= kCertificate)) {
    return absl::InternalError(absl::StrCat("the beta-model did not converge: relative residual ", likelihood.residual(), " after ",
        model.iterations, " steps, with ", classes.degree.size(), " distinct degrees of ", classes.class_of_node.size(), " nodes"));
  }
  return model;
}

}  // namespace blink
