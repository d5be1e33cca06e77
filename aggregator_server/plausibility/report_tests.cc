#include "aggregator_server/plausibility/report_tests.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace blink {
namespace {

// The smallest integer of (low, high] for which the monotone `holds` is true; it is false at low and true at high.
template <typename Holds>
int64_t FindFirst(int64_t low, int64_t high, Holds holds) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

constexpr int64_t kFar = int64_t{1} << 53;  // whole numbers are exact in doubles up to here

}  // namespace

absl::StatusOr<ReportTests> ReportTests::Create(const PrivacyParameters& parameters, const TestOptions& options,
                                                NodeIndex node) {
  if (!(options.false_alarm > 0 && options.false_alarm <= 0.5)) {
    return absl::InvalidArgumentError(
        absl::StrCat("false_alarm is ", options.false_alarm, ", but must be in (0, 0.5]"));
  }
  if (options.degree_max > parameters.node_count() - 1) {
    return absl::InvalidArgumentError(absl::StrCat("degree_max is ", options.degree_max, ", but must be 1 .. n-1 = ",
                                                   parameters.node_count() - 1, ", or 0 for no bound"));
  }
  return ReportTests(parameters, options, node);
}

ReportTests::ReportTests(const PrivacyParameters& parameters, const TestOptions& options, NodeIndex node)
    : parameters_(parameters),
      others_(parameters.pairs_of_report(node)),
      degree_max_(options.degree_max > 0 ? std::min<int64_t>(options.degree_max, others_) : others_),
      p_(parameters.flip_probability()),
      contrast_(std::tanh(parameters.bit_log_odds() / 2)),  // 1 - 2 p without cancellation
      false_alarm_each_(options.false_alarm / (kTestFamilies * static_cast<double>(parameters.node_count()))),
      threshold_z_(tails::UpperQuantile(false_alarm_each_ / 2)) {
  if (parameters.sends_degree() && parameters.sends_bits()) {
    degree_tail_.emplace(others_, p_, contrast_, parameters.epsilon_degree());
    if (!degree_tail_->Usable()) degree_tail_.reset();
  }
}

std::optional<double> ReportTests::Residual(uint32_t ones, int64_t noisy_degree) const {
  if (!degree_tail_.has_value()) return std::nullopt;
  return static_cast<double>(ones) - static_cast<double>(others_) * p_ - contrast_ * static_cast<double>(noisy_degree);
}

double ReportTests::ScoreOnes(uint32_t ones) const {
  return tails::ZScore(tails::BinomialAtMost(ones, others_, p_),
                       tails::SumAtLeast(ones, degree_max_, 1 - p_, others_ - degree_max_, p_));
}

double ReportTests::ScoreDegree(uint32_t ones, int64_t noisy_degree) const {
  if (const std::optional<double> residual = Residual(ones, noisy_degree)) {
    const double tail = degree_tail_->AtLeast(std::abs(*residual));
    return *residual < 0 ? tails::ZScore(tail, 1) : tails::ZScore(1, tail);
  }
  const double degree = static_cast<double>(noisy_degree), epsilon = parameters_.epsilon_degree();
  return tails::ZScore(tails::DiscreteLaplaceAtLeast(degree - static_cast<double>(degree_max_), epsilon),
                       tails::DiscreteLaplaceAtLeast(-degree, epsilon));
}

ReportScreen ReportTests::MakeScreen() const {
  ReportScreen screen;
  if (parameters_.sends_bits()) {
    const int64_t first =
        FindFirst(-1, others_, [&](int64_t k) { return !(ScoreOnes(static_cast<uint32_t>(k)) < -threshold_z_); });
    const int64_t end = FindFirst(first, others_ + 1, [&](int64_t k) {
      return k > others_ || ScoreOnes(static_cast<uint32_t>(k)) > threshold_z_;
    });
    screen.ones_min_ = static_cast<double>(first);
    screen.ones_max_ = static_cast<double>(end - 1);
  }
  if (degree_tail_.has_value()) {
    // The tail is a step function of floor(|T| / c): off the edges, so that rounding cannot matter.
    const int64_t first = FindFirst(-1, kFar, [&](int64_t m) {
      return tails::ZScore(1, degree_tail_->AtLeast(contrast_ * (static_cast<double>(m) + 0.5))) > threshold_z_;
    });
    const double reach = contrast_ * (static_cast<double>(first) - 1e-6), mean = static_cast<double>(others_) * p_;
    screen.ones_weight_ = 1;
    screen.degree_weight_ = contrast_;
    screen.value_min_ = mean - reach;
    screen.value_max_ = mean + reach;
  } else if (parameters_.sends_degree()) {
    screen.degree_weight_ = 1;
    screen.value_max_ =
        static_cast<double>(FindFirst(0, kFar, [&](int64_t y) { return ScoreDegree(0, -y) > threshold_z_; }) - 1);
    screen.value_min_ =
        -static_cast<double>(FindFirst(0, kFar, [&](int64_t y) { return ScoreDegree(0, y) < -threshold_z_; }) - 1);
  }
  return screen;
}

}  // namespace blink
