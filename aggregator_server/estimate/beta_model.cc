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
// How far beyond the boundary degrees without a maximum are pulled, as a share of the way that is left to the mean
// degree.
constexpr double kPullMargin = 1.0 / 64;

double Sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

// The concave log-likelihood of the classes at one point: gradient, and the negative Hessian D + W as its parts.
class Likelihood {
 public:
  Likelihood(const std::vector<double>& degree, const std::vector<uint32_t>& size)
      : count_(degree.size()),
        degree_(degree),
        size_(size.begin(), size.end()),
        weights_(count_ * count_),
        gradient_(count_),
        diagonal_(count_),
        expected_(count_) {}

  void MoveTo(const std::vector<double>& beta) {
    std::fill(expected_.begin(), expected_.end(), 0.0);
    std::vector<double> row_sums(count_, 0.0);
    for (size_t a = 0; a < count_; ++a) {
      for (size_t b = a; b < count_; ++b) {
        const double p = Sigmoid(beta[a] + beta[b]);
        const double q = Sigmoid(-beta[a] - beta[b]);
        const double w = p * q;
        const double others =
            a == b ? size_[a] - 1 : size_[b];  // nodes of class b that a node of class a may be linked to
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
    residual_ = 0;
    for (size_t a = 0; a < count_; ++a) {
      const double missing = degree_[a] - expected_[a];
      gradient_[a] = size_[a] * missing;
      diagonal_[a] = row_sums[a];
      residual_ = std::max(residual_, std::abs(missing) / degree_[a]);
    }
  }

  double residual() const { return residual_; }
  const std::vector<double>& expected() const {
    return expected_;
  }  // [K] degree of a node of each class under the model
  const std::vector<double>& gradient() const { return gradient_; }

  // Solves (D + W) step = gradient by conjugate gradients with the diagonal as preconditioner: D^-1 W has its
  // eigenvalues in
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

  // The same by Cholesky's decomposition of the matrix scaled to a unit diagonal: O(K^3), for what is badly
  // conditioned.
  void SolveByCholesky(std::vector<double>& step) const {
    const size_t k = count_;
    std::vector<double> scale(k), lower(k * k);
    for (size_t a = 0; a < k; ++a) scale[a] = 1.0 / std::sqrt(std::max(Pivot(a), 1e-300));
    for (size_t a = 0; a < k; ++a) {
      for (size_t b = 0; b <= a; ++b)
        lower[a * k + b] = (weights_[a * k + b] + (a == b ? diagonal_[a] : 0)) * scale[a] * scale[b];
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
  const std::vector<double> degree_, size_;
  std::vector<double> weights_;  // W, [K, K]
  std::vector<double> gradient_, diagonal_, expected_;
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

// Strict Erdos-Gallai. With d_1 >= ... >= d_n the degrees lie inside the polytope of degree sequences exactly when, for
// every k from 1 to n, sum_{i<=k} d_i < k (k-1) + sum_{i>k} min(d_i, k). (All degrees are positive, which is the
// remaining facet.)
bool IsInside(const std::vector<double>& degree, const std::vector<uint32_t>& size, size_t n) {
  std::vector<double> prefix(n + 1, 0);  // sums of the k largest degrees
  size_t k = 0;
  for (size_t a = degree.size(); a-- > 0;) {
    for (uint32_t member = 0; member < size[a]; ++member, ++k) prefix[k + 1] = prefix[k] + degree[a];
  }
  size_t at_least = n;  // nodes whose degree is at least k
  size_t lowest = 0;    // the first class whose degree is at least k
  for (k = 1; k <= n; ++k) {
    const double kd = static_cast<double>(k);
    while (lowest < degree.size() && degree[lowest] < kd) at_least -= size[lowest++];
    const double capped = at_least > k ? static_cast<double>(at_least - k) : 0.0;
    const double tail = prefix[n] - prefix[std::max(k, at_least)];
    if (prefix[k] >= kd * (kd - 1) + capped * kd + tail) return false;
  }
  return true;
}

// The regularised degrees: d + pull * (mean - d) with the smallest pull that brings them inside, and a margin. The
// regular graph lies inside, so such a pull exists; the expected number of links does not change, nor does the order of
// the degrees.
std::vector<double> PullInside(const std::vector<double>& degree, const std::vector<uint32_t>& size, size_t n) {
  const double mean = MeanDegree(degree, size);
  const auto pulled = [&](double pull) {
    std::vector<double> moved;
    for (const double d : degree) moved.push_back(d + pull * (mean - d));
    return moved;
  };
  double outside = 0, inside = 1;
  for (int k = 0; k < 12; ++k) {
    const double middle = 0.5 * (outside + inside);
    (IsInside(pulled(middle), size, n) ? inside : outside) = middle;
  }
  return pulled(inside + kPullMargin * (1 - inside));
}

// Newton's method. A step is shortened until it does not pass the maximum along its direction (the function is concave,
// so it then rises), or halves the residual (near the solution, where rounding hides the rise).
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
  return IsInside(std::vector<double>(classes.degree.begin(), classes.degree.end()), classes.size,
                  classes.class_of_node.size());
}

absl::StatusOr<BetaModel> FitBetaModel(const DegreeClasses& classes) {
  const size_t n = classes.class_of_node.size();
  if (n < 3) return absl::InvalidArgumentError("the beta-model needs at least 3 nodes");
  const auto started = std::chrono::steady_clock::now();
  const std::vector<double> given(classes.degree.begin(), classes.degree.end());
  BetaModel model;
  model.exists = MleExists(classes);
  const std::vector<double> degree = model.exists ? given : PullInside(given, classes.size, n);
  Likelihood likelihood(degree, classes.size);
  model.beta = StartingPoint(degree, classes.size, static_cast<double>(n));
  model.iterations = Maximise(likelihood, model.beta);
  for (size_t a = 0; a < given.size(); ++a) {
    model.residual = std::max(model.residual, std::abs(given[a] - likelihood.expected()[a]) / given[a]);
  }
  model.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!(likelihood.residual() <= kCertificate)) {
    return absl::InternalError(absl::StrCat("the beta-model did not converge: relative residual ",
                                            likelihood.residual(), " after ", model.iterations, " steps, with ",
                                            degree.size(), " distinct degrees of ", n, " nodes"));
  }
  return model;
}

}  // namespace blink
