#include "common/graph/classless_links.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace blink {
namespace {

constexpr uint64_t kAttemptsOfLink = 50;

// The natural logarithm of x > 0 by its series, and its inverse. The standard library's may differ in the last digit
// between machines, and then the graph would.
double Log(double x) {
  int power = 0;
  const double fraction = std::frexp(x, &power);  // [0.5, 1), exact
  const double t = (fraction - 1) / (fraction + 1), square = t * t;
  double sum = 0;
  for (int k = 59; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * t * sum + power * 0.6931471805599453;
}

double Exp(double x) {
  const double powers = std::floor(x / 0.6931471805599453 + 0.5);
  const double rest = x - powers * 0.6931471805599453;  // within 0.35
  double sum = 1;
  for (int k = 20; k >= 1; --k) sum = 1 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(powers));
}

// One entry of a matrix of 2^levels rows, by the shares of its quadrants.
class Rmat {
 public:
  Rmat(const SyntheticOptions& options, SplitMix64& random) : shares_(options.rmat), names_(options.nodes) {
    while ((uint64_t{1} << levels_) < options.nodes) ++levels_;
    std::iota(names_.begin(), names_.end(), 0u);
    Shuffle(names_, random);  // otherwise a node's id would tell how many links it has
  }

  std::pair<NodeIndex, NodeIndex> Draw(SplitMix64& random) const {
    const double above = shares_[0] + shares_[1];  // of the rows whose next bit is 0
    uint64_t row = 0, column = 0;
    for (int level = 0; level < levels_; ++level) {
      const double u = random.Uniform();
      const bool low = u >= above;
      const bool right = low ? u >= above + shares_[2] : u >= shares_[0];
      row = 2 * row + (low ? 1 : 0);
      column = 2 * column + (right ? 1 : 0);
    }
    // Rows and columns beyond the nodes are left out. A self-loop in their place counts as an attempt that failed.
    if (row >= names_.size() || column >= names_.size()) return {0, 0};
    return {names_[row], names_[column]};
  }

 private:
  const std::array<double, 4> shares_;
  std::vector<NodeIndex> names_;
  int levels_ = 0;
};

// The weights are the quantiles of the power law, so that the law holds for every seed. They are capped where a pair
// would be linked with a probability above 1.
class ChungLu {
 public:
  ChungLu(const SyntheticOptions& options, SplitMix64& random) {
    const uint32_t n = options.nodes;
    std::vector<double> weights(n);
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
      weights[i] = Exp(-Log((i + 0.5) / n) / (options.degree_exponent - 1));
      sum += weights[i];
    }
    const double scale = options.mean_degree * n / sum, weight_max = std::sqrt(options.mean_degree * n);
    for (double& weight : weights) weight = std::min(weight_max, weight * scale);
    Shuffle(weights, random);
    for (uint32_t i = 0; i < n; ++i) nodes_.Add(i, weights[i]);
  }

  std::pair<NodeIndex, NodeIndex> Draw(SplitMix64& random) const {
    const NodeIndex from = nodes_.Draw(random);
    return {from, nodes_.Draw(random)};
  }

 private:
  Weighted nodes_;
};

template <typename Model>
absl::StatusOr<LinkList> DrawDifferent(const Model& model, uint64_t wanted, SplitMix64& random) {
  LinkList links;
  links.reserve(wanted);
  absl::flat_hash_set<uint64_t> seen;
  seen.reserve(wanted);
  for (uint64_t attempts = 0; links.size() < wanted; ++attempts) {
    if (attempts > kAttemptsOfLink * wanted) {
      return absl::InvalidArgumentError(absl::StrCat("mean_degree is too high for this model: of ", wanted,
                                                     " links only ", links.size(),
                                                     " different ones were found; ask for fewer links, more nodes, or "
                                                     "a model whose links are spread more evenly"));
    }
    const auto [a, b] = model.Draw(random);
    if (a == b || !seen.insert((uint64_t{std::min(a, b)} << 32) | std::max(a, b)).second) continue;
    links.emplace_back(a, b);
  }
  return links;
}

}  // namespace

absl::Status CheckLinkModel(const SyntheticOptions& options) {
  if (options.model == LinkModel::kRmat) {
    double sum = 0;
    for (const double share : options.rmat) {
      if (!(share >= 0 && share <= 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("rmat holds ", share, ": the shares of the four quadrants must be from 0 to 1"));
      }
      sum += share;
    }
    if (std::fabs(sum - 1) > 1e-9) {
      return absl::InvalidArgumentError(
          absl::StrCat("rmat has the sum ", sum, ": the shares of the four quadrants must sum to 1"));
    }
  }
  if (options.model == LinkModel::kChungLu && !(options.degree_exponent > 2 && options.degree_exponent <= 10)) {
    return absl::InvalidArgumentError(absl::StrCat("degree_exponent is ", options.degree_exponent,
                                                   ": it must be above 2, where a mean degree exists, and at most 10"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LinkList> DrawClasslessLinks(const SyntheticOptions& options, uint64_t wanted, SplitMix64& random) {
  if (options.model == LinkModel::kRmat) return DrawDifferent(Rmat(options, random), wanted, random);
  return DrawDifferent(ChungLu(options, random), wanted, random);
}

}  // namespace blink
