#include "aggregator_server/plausibility/plausibility.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/plausibility/pair_disagreements.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr double kSuspectsShareMax = 0.1;  // more cannot be told from lists that are not symmetric
constexpr int kPassesMax = 64;

// z-scores of integer counts that occur again and again.
template <typename Compute>
class Remembered {
 public:
  explicit Remembered(Compute compute) : compute_(std::move(compute)) {}
  double operator()(uint32_t count, uint32_t trials) {
    const auto [found, fresh] = known_.try_emplace(uint64_t{trials} << 32 | count, 0);
    if (fresh) found->second = compute_(count, trials);
    return found->second;
  }

 private:
  Compute compute_;
  std::unordered_map<uint64_t, double> known_;
};
template <typename Compute>
Remembered(Compute) -> Remembered<Compute>;

class Tester {
 public:
  // `of_odd`: the tests of the nodes with odd numbers.
  Tester(const ReportSet& reports, ReportTests tests, ReportTests of_odd, int threads)
      : reports_(reports),
        tests_(std::move(tests)),
        tests_of_odd_(std::move(of_odd)),
        threads_(threads),
        rate_(reports.parameters().flip_probability() * (1 - reports.parameters().flip_probability())),
        contrast_(std::tanh(reports.parameters().bit_log_odds() / 2)) {
    result_.threshold_z = tests_.threshold_z();
    result_.tested = reports.report_count();
    result_.scores.resize(reports.node_count());
  }

  Plausibility Run() {
    TestAlone();
    if (reports_.parameters().mechanism() == Mechanism::kOneEnd) {
      result_.note =
          "one end alone reports a pair, so no two reports about it can be compared: the tests of pairs were not made";
    } else if (reports_.parameters().sends_bits()) {
      TestPairs();
    }
    Collect();
    return std::move(result_);
  }

 private:
  bool Beyond(double z) const { return std::abs(z) > tests_.threshold_z(); }  // false for NaN

  void TestAlone() {
    const PrivacyParameters& parameters = reports_.parameters();
    const auto tests_of = [&](uint32_t odd) -> const ReportTests& { return odd == 1 ? tests_of_odd_ : tests_; };
    Remembered ones_z([&](uint32_t ones, uint32_t odd) { return tests_of(odd).ScoreOnes(ones); });
    reports_.reported_nodes().ForEachOne([&](NodeIndex i) {
      const uint32_t ones = reports_.CountOnes(i);
      ReportScores& scores = result_.scores[i];
      if (parameters.sends_bits()) scores.ones = ones_z(ones, i % 2);
      if (parameters.sends_degree()) scores.degree = tests_of(i % 2).ScoreDegree(ones, *reports_.noisy_degree(i));
    });
  }

  struct Pass {
    std::vector<double> unconfirmed, omitted;  // z-scores, NaN without a witness
    std::vector<double> deviation;             // the larger |count - m r| / sqrt(m r (1 - r)), 0 within the threshold
    uint64_t disagreements = 0, pairs = 0;     // among witnesses
  };

  Pass TestAgainst(const BitRow& witnesses) {
    const uint32_t n = reports_.node_count();
    const PairDisagreements counts = CountDisagreements(reports_, witnesses, threads_);
    Remembered z_of([&](uint32_t count, uint32_t trials) {
      return tails::ZScore(tails::BinomialAtMost(count, trials, rate_), tails::BinomialAtLeast(count, trials, rate_));
    });
    const uint32_t all = witnesses.Count();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Pass pass{std::vector<double>(n, nan), std::vector<double>(n, nan), std::vector<double>(n, 0)};
    pass.pairs = uint64_t{all} * (all - (all > 0)) / 2;
    reports_.reported_nodes().ForEachOne([&](NodeIndex i) {
      const uint32_t m = all - witnesses.Test(i);
      if (m == 0) return;
      if (witnesses.Test(i)) pass.disagreements += counts.unconfirmed[i];  // of a pair one end sent the 1
      pass.unconfirmed[i] = z_of(counts.unconfirmed[i], m);
      pass.omitted[i] = z_of(counts.omitted[i], m);
      if (!Beyond(pass.unconfirmed[i]) && !Beyond(pass.omitted[i])) return;
      const double mean = m * rate_, scale = std::sqrt(mean * (1 - rate_));
      pass.deviation[i] = std::max(std::abs(counts.unconfirmed[i] - mean), std::abs(counts.omitted[i] - mean)) / scale;
    });
    return pass;
  }

  void TestPairs() {
    BitRow witnesses = reports_.reported_nodes();
    reports_.reported_nodes().ForEachOne([&](NodeIndex i) {
      if (Beyond(result_.scores[i].ones) || Beyond(result_.scores[i].degree)) witnesses.Clear(i);
    });
    const uint32_t suspects_max = std::max(1u, static_cast<uint32_t>(kSuspectsShareMax * witnesses.Count()));
    uint32_t suspects = 0;
    const Pass first = TestAgainst(witnesses);
    Pass last = first;
    for (int passes = 1; passes < kPassesMax; ++passes) {
      double worst = 0;
      witnesses.ForEachOne([&](NodeIndex i) { worst = std::max(worst, last.deviation[i]); });
      if (worst == 0) break;
      const BitRow before = witnesses;
      before.ForEachOne([&](NodeIndex i) {
        if (last.deviation[i] < worst / 2) return;
        witnesses.Clear(i);
        ++suspects;
      });
      if (suspects > suspects_max) break;
      last = TestAgainst(witnesses);
    }
    JudgeSymmetry(first, last, suspects > suspects_max);
    const Pass& shown = result_.symmetric ? last : first;
    for (NodeIndex i = 0; i < reports_.node_count(); ++i) {
      result_.scores[i].unconfirmed = shown.unconfirmed[i];
      result_.scores[i].omitted = shown.omitted[i];
    }
  }

  // How many pairs differ beyond what noise explains: a pair with two different values disagrees with probability 1 - 2
  // r instead of 2 r, that is c^2 more often, c = 1 - 2 p.
  double OneSidedPairs(uint64_t disagreements, uint64_t pairs) const {
    return (static_cast<double>(disagreements) - static_cast<double>(pairs) * 2 * rate_) / (contrast_ * contrast_);
  }

  void JudgeSymmetry(const Pass& first, const Pass& last, bool too_many_suspects) {
    const double left = OneSidedPairs(last.disagreements, last.pairs);
    const double gone = OneSidedPairs(first.disagreements, first.pairs) - left;
    const double global =
        tails::BinomialAtLeast(static_cast<int64_t>(last.disagreements), static_cast<int64_t>(last.pairs), 2 * rate_);
    const bool too_often = global < tests_.false_alarm_each() * reports_.node_count();
    result_.symmetric = !too_many_suspects && !(too_often && left >= gone / 2);
    if (!result_.symmetric) {
      result_.note = absl::StrFormat(
          "the two ends disagree about some %.0f pairs more than noise explains, and not because of a few nodes: the "
          "lists are not "
          "symmetric (a directed data set), or many nodes lie. The tests of pairs flag nobody",
          OneSidedPairs(first.disagreements, first.pairs));
    } else if (too_often) {
      result_.note = absl::StrFormat(
          "apart from the flagged nodes, the two ends disagree about some %.0f pairs more than noise explains: a few "
          "links stand in one "
          "of two lists only, or small lies",
          left);
    }
  }

  void Collect() {
    reports_.reported_nodes().ForEachOne([&](NodeIndex i) {
      const ReportScores& scores = result_.scores[i];
      ImplausibleReport worst{i};
      const auto consider = [&](const char* test, double z) {
        if (Beyond(z) && std::abs(z) > std::abs(worst.z)) worst = {i, test, z};
      };
      consider("ones", scores.ones);
      consider("degree", scores.degree);
      if (result_.symmetric) {
        consider("unconfirmed", scores.unconfirmed);
        consider("omitted", scores.omitted);
      }
      if (worst.z != 0) result_.flagged.push_back(worst);
    });
    std::stable_sort(result_.flagged.begin(), result_.flagged.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.z) > std::abs(b.z); });
  }

  const ReportSet& reports_;
  const ReportTests tests_, tests_of_odd_;
  const int threads_;
  const double rate_, contrast_;
  Plausibility result_;
};

}  // namespace

absl::StatusOr<Plausibility> TestPlausibility(const ReportSet& reports, const TestOptions& options, int threads) {
  const auto started = std::chrono::steady_clock::now();
  BLINK_ASSIGN_OR_RETURN(ReportTests tests, ReportTests::Create(reports.parameters(), options));
  BLINK_ASSIGN_OR_RETURN(ReportTests of_odd, ReportTests::Create(reports.parameters(), options, /*node=*/1));
  Plausibility result = Tester(reports, std::move(tests), std::move(of_odd), threads).Run();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return result;
}

}  // namespace blink
