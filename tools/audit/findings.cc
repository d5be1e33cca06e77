#include "tools/audit/findings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/audit/families.h"

namespace blink {
namespace {

constexpr const char* kListNames[kAuditedLists] = {"sparse list", "neighbouring list", "dense list"};

std::string BitName(size_t j) { return absl::StrCat("bit ", j); }

class EvidenceJudge {
 public:
  EvidenceJudge(const AuditEvidence& evidence, MechanismAudit& audit)
      : evidence_(evidence),
        audit_(audit),
        parameters_(evidence.parameters),
        n_(parameters_.node_count()),
        p_(parameters_.flip_probability()) {
    for (const ListCounts& counts : evidence.counts) all_.Merge(counts);
  }

  void JudgeAll() {
    CheckForm();
    if (parameters_.sends_bits()) {
      BoundBits();
      CheckFlipRates();
      CheckFlipTotals();
      CheckPairs();
      CheckSuccessiveBits();
      if (evidence_.gap_runs.length > 0) CheckSharedGaps();
      CheckCrossPairs();
    }
    if (parameters_.sends_degree()) {
      BoundDegree();
      CheckDegreeNoise();
    }
    if (parameters_.sends_bits() && parameters_.sends_degree()) {
      BoundReport();
      CheckBitsAgainstNoise();
    }
    ComputeDetectionPower();
  }

 private:
  bool IsBit(size_t j) const { return j < n_ && j != evidence_.self; }
  // j and j + distance are two bits of the report.
  bool IsPair(size_t j, size_t distance) const { return IsBit(j) && IsBit(j + distance); }
  void AddCheck(Family family) { audit_.checks.push_back(family.Finish()); }
  void AddBound(std::string of, double lower, double promised) {
    audit_.bounds.push_back({std::move(of), lower, promised, lower > promised});
  }

  void CheckForm() {
    Family form("a report has n bits, none for the node itself");
    if (all_.malformed > 0) form.Fail(absl::StrCat(all_.malformed, " malformed reports"));
    AddCheck(std::move(form));
    if (!parameters_.sends_degree()) return;
    Family integral("the noisy degree is an integer");
    if (all_.non_integer_degrees > 0) integral.Fail(absl::StrCat(all_.non_integer_degrees, " degrees with a fraction"));
    AddCheck(std::move(integral));
  }

  void BoundBits() {
    const ListCounts& a = evidence_.counts[kSparse];
    const ListCounts& b = evidence_.counts[kNeighbour];
    RatioBound direct(2);
    for (int bit = 0; bit < 2; ++bit) {
      const auto count = [bit](const ListCounts& counts) {
        return std::accumulate(counts.degree_cells[bit].begin(), counts.degree_cells[bit].end(), uint64_t{0});
      };
      direct.Add(count(a), a.reports, count(b), b.reports);
    }
    AddBound("the bit in which two lists differ", direct.lower(), parameters_.epsilon_list());
    uint64_t fewest = all_.reports, total = 0;
    for (size_t j = 0; j < n_; ++j) {
      if (!IsBit(j)) continue;
      fewest = std::min(fewest, all_.flips[j]);
      total += all_.flips[j];
    }
    const auto from_flips = [](uint64_t flips, uint64_t trials, double alpha) {
      const double most = UpperLimit(flips, trials, alpha);
      return most < 0.5 ? std::log1p(-most) - std::log(most) : 0;
    };
    AddBound("the bit that was flipped least, of all bits", from_flips(fewest, all_.reports, kFamilyAlpha / (n_ - 1)),
             parameters_.epsilon_list());
    pooled_bit_ = from_flips(total, all_.reports * (n_ - 1), kFamilyAlpha);
    AddBound("a bit, pooled over all", pooled_bit_, parameters_.epsilon_list());
  }

  void CheckFlipRates() {
    Family pooled("all bits are flipped with probability p', pooled"),
        by_list("... whatever the list and its entry are");
    Family each("each bit is flipped with probability p'"), each_by_list("... under each list");
    uint64_t total = 0;
    for (int name = 0; name < kAuditedLists; ++name) {
      const ListCounts& counts = evidence_.counts[name];
      const AuditedList& list = evidence_.lists[name];
      uint64_t flips[2] = {0, 0};
      for (size_t j = 0; j < n_; ++j) {
        if (IsBit(j)) flips[list.row.Test(static_cast<uint32_t>(j))] += counts.flips[j];
      }
      const uint64_t ones = list.neighbours.size(), zeros = n_ - 1 - ones;
      by_list.Add(flips[0] + flips[1], counts.reports * (n_ - 1), p_, kListNames[name]);
      by_list.Add(flips[1], counts.reports * ones, p_, absl::StrCat(kListNames[name], ", entries with a link"));
      by_list.Add(flips[0], counts.reports * zeros, p_, absl::StrCat(kListNames[name], ", entries without"));
      total += flips[0] + flips[1];
      each_by_list.AddAlike(
          counts.flips, counts.reports, p_, [this](size_t j) { return IsBit(j); },
          [name](size_t j) { return absl::StrCat(kListNames[name], ", bit ", j); });
    }
    pooled.Add(total, all_.reports * (n_ - 1), p_, "all bits");
    each.AddAlike(
        all_.flips, all_.reports, p_, [this](size_t j) { return IsBit(j); }, BitName);
    AddCheck(std::move(pooled));
    AddCheck(std::move(by_list));
    AddCheck(std::move(each));
    AddCheck(std::move(each_by_list));
  }

  // How many bits of a report are flipped. A report without noise, or with another p', hardly changes the rate of all
  // bits. But it stands out in the one cell, or beyond the one tail, in which it falls.
  void CheckFlipTotals() {
    Family family("the number of flips of a report is binomial");
    const uint64_t bits = n_ - 1;
    uint64_t tests = 2 * n_;  // each number, and all numbers that are as far off or further
    uint64_t below = 0;       // reports with fewer than k flips
    for (uint64_t k = 0; k < n_; ++k) {
      const uint64_t count = all_.flip_totals[k];
      const double mass = BinomialMass(k, bits, p_);
      if (count > 0 || mass * static_cast<double>(all_.reports) > 1) {
        family.Add(count, all_.reports, mass, absl::StrCat(k, " flips"), std::exchange(tests, 0));
        if (static_cast<double>(k) < p_ * static_cast<double>(bits)) {
          family.Add(below + count, all_.reports, BinomialAtMost(k, bits, p_), absl::StrCat("at most ", k, " flips"),
                     0);
        } else {
          family.Add(all_.reports - below, all_.reports, BinomialAtLeast(k, bits, p_),
                     absl::StrCat("at least ", k, " flips"), 0);
        }
      }
      below += count;
    }
    AddCheck(std::move(family));
  }

  // Bits j and j + distance are flipped together in counts[j] reports. Tests each pair, and the sums over pairs that
  // have no bit in common. Such pairs are independent, so that their sum is binomial.
  void CheckPairsAt(size_t distance, const std::vector<uint64_t>& counts, const std::string& claim) {
    Family each(claim), pooled(absl::StrCat(claim, ", pooled"));
    each.AddAlike(
        counts, all_.reports, p_ * p_, [&](size_t j) { return IsPair(j, distance); },
        [&](size_t j) { return absl::StrCat("bits ", j, " and ", j + distance); });
    for (size_t parity = 0; parity < 2; ++parity) {
      uint64_t pairs = 0, together = 0;
      for (size_t j = 0; j < n_; ++j) {
        if (!IsPair(j, distance) || j / distance % 2 != parity) continue;
        ++pairs;
        together += counts[j];
      }
      pooled.Add(together, all_.reports * pairs, p_ * p_, parity == 0 ? "even pairs" : "odd pairs");
    }
    AddCheck(std::move(each));
    AddCheck(std::move(pooled));
  }

  void CheckPairs() {
    CheckPairsAt(1, all_.adjacent, "adjacent bits are independent");
    CheckPairsAt(64, all_.lanes, "a lane of two words in a row: independent");
    Family every("every pair of bits is independent");
    const auto& counts = evidence_.pair_counts;
    const size_t paired = evidence_.paired_bits;
    PairExtremes extremes;
    for (size_t i = 0; i < paired; ++i) {
      for (size_t j = i + 1; j < paired; ++j) {
        if (IsBit(i) && IsBit(j)) extremes.Add(i, j, counts[i * paired + j]);
      }
    }
    extremes.AddTo(every, evidence_.pair_reports, p_ * p_, "bits %d and %d");
    AddCheck(std::move(every));
  }

  // Bit i of one report and bit j of the next. Tests each pair, and the sum over the pairs of one distance j - i. Such
  // a sum is binomial, since it has every bit of either report once. This finds a stale word, and a generator's stream
  // that is read again from another place.
  void CheckCrossPairs() {
    const auto& counts = evidence_.cross_counts;
    const size_t paired = evidence_.paired_bits;
    PairExtremes extremes;
    std::vector<uint64_t> together(2 * paired), pairs(2 * paired);  // [paired + j - i]
    for (size_t i = 0; i < paired; ++i) {
      for (size_t j = 0; j < paired; ++j) {
        if (!IsBit(i) || !IsBit(j)) continue;
        const uint64_t count = counts[i * paired + j];
        extremes.Add(i, j, count);
        together[paired + j - i] += count;
        ++pairs[paired + j - i];
      }
    }
    Family each("a bit does not depend on any bit of the report before"), pooled("... at each distance, pooled");
    extremes.AddTo(each, evidence_.cross_reports, p_ * p_, "bit %d of a report and bit %d of the next");
    for (size_t d = 0; d < pairs.size(); ++d) {
      if (pairs[d] == 0) continue;
      pooled.Add(together[d], evidence_.cross_reports * pairs[d], p_ * p_,
                 absl::StrCat("distance ", static_cast<int64_t>(d) - static_cast<int64_t>(paired)));
    }
    AddCheck(std::move(each));
    AddCheck(std::move(pooled));
  }

  void CheckSuccessiveBits() {
    Family family("successive reports share no flips"), distant("... nor do reports that are further apart");
    for (int half = 0; half < 2; ++half) {
      family.Add(all_.distant[1].flips[half], all_.distant[1].pairs[half] * (n_ - 1), p_ * p_, "all bits");
      family.AddAlike(
          all_.successive[half], all_.distant[1].pairs[half], p_ * p_, [this](size_t j) { return IsBit(j); }, BitName);
      for (size_t d = 2; d <= kReportDistanceMax; ++d) {
        distant.Add(all_.distant[d].flips[half], all_.distant[d].pairs[half] * (n_ - 1), p_ * p_,
                    absl::StrCat("all bits, ", d, " reports apart"));
      }
    }
    AddCheck(std::move(family));
    AddCheck(std::move(distant));
  }

  // A random stream that two reports share, where flips are drawn by gaps.
  void CheckSharedGaps() {
    Family family("reports in a row, or a few apart, share no gaps of flips");
    for (size_t d = 1; d <= kReportDistanceMax; ++d) {
      for (int half = 0; half < 2; ++half) {
        family.AddAtMost(all_.distant[d].shared_gaps[half], all_.distant[d].pairs[half],
                         evidence_.gap_runs.probability_max,
                         absl::StrCat("a run of ", evidence_.gap_runs.length, " gaps in both, ", d,
                                      d == 1 ? " report apart" : " reports apart"));
      }
    }
    AddCheck(std::move(family));
  }

  // Adds the events of the noisy degree alone: each cell, all up to it, and all from it on. `of` maps the counts of a
  // list to counts by cell.
  template <typename Counts>
  void AddDegreeEvents(RatioBound& bound, const Counts& of) {
    const ListCounts& a = evidence_.counts[kSparse];
    const ListCounts& b = evidence_.counts[kNeighbour];
    const std::vector<uint64_t> in_a = of(a), in_b = of(b);
    const uint64_t all_a = std::accumulate(in_a.begin(), in_a.end(), uint64_t{0});
    const uint64_t all_b = std::accumulate(in_b.begin(), in_b.end(), uint64_t{0});
    uint64_t below_a = 0, below_b = 0;
    for (size_t c = 0; c < in_a.size(); ++c) {
      bound.Add(in_a[c], a.reports, in_b[c], b.reports);
      bound.Add(all_a - below_a, a.reports, all_b - below_b, b.reports);
      below_a += in_a[c];
      below_b += in_b[c];
      bound.Add(below_a, a.reports, below_b, b.reports);
    }
  }

  static std::vector<uint64_t> SumBothBits(const ListCounts& counts) {
    std::vector<uint64_t> sum = counts.degree_cells[0];
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += counts.degree_cells[1][c];
    return sum;
  }

  void BoundDegree() {
    RatioBound bound(3 * evidence_.cells.size());
    AddDegreeEvents(bound, SumBothBits);
    degree_ = bound.lower();
    AddBound("the degree", degree_, parameters_.epsilon_degree());
  }

  void BoundReport() {
    RatioBound bound(6 * evidence_.cells.size());
    for (int bit = 0; bit < 2; ++bit) {
      AddDegreeEvents(bound, [bit](const ListCounts& counts) { return counts.degree_cells[bit]; });
    }
    AddBound("the report: that bit and the degree", bound.lower(), parameters_.epsilon());
    // Bits and degree noise are independent (tested below), so what each spends adds up.
    AddBound("the report: a bit, pooled, and the degree", pooled_bit_ + degree_, parameters_.epsilon());
  }

  void CheckDegreeNoise() {
    const double epsilon = parameters_.epsilon_degree();
    for (int name = 0; name < kAuditedLists; ++name) {
      const ListCounts& counts = evidence_.counts[name];
      const AuditedList& list = evidence_.lists[name];
      Family family(absl::StrCat("the degree noise is discrete Laplace: ", kListNames[name]));
      const std::vector<double> probabilities =
          evidence_.cells.Probabilities(list.degree() - list.degree_origin, epsilon);
      const std::vector<uint64_t> cells = SumBothBits(counts);
      uint64_t below = 0;
      for (size_t c = 0; c < cells.size(); ++c) {
        const int64_t first = evidence_.cells.First(c) - (list.degree() - list.degree_origin);
        family.Add(cells[c], counts.reports, probabilities[c], absl::StrCat("noise in the cell from ", first));
        below += cells[c];
        if (c + 1 == cells.size()) break;
        const int64_t next = evidence_.cells.First(c + 1) - (list.degree() - list.degree_origin);
        if (next <= 0) {
          family.Add(below, counts.reports, DiscreteLaplaceAtLeast(1 - next, epsilon),
                     absl::StrCat("noise below ", next));
        } else {
          family.Add(counts.reports - below, counts.reports, DiscreteLaplaceAtLeast(next, epsilon),
                     absl::StrCat("noise from ", next, " on"));
        }
      }
      AddCheck(std::move(family));
    }
    Family successive("reports in a row, or a few apart, share no degree noise");
    // Pr[Y = Y'] = sum over y of Pr[Y = y]^2 = tanh(e/2)^2 / tanh(e).
    const double tanh_half = std::tanh(epsilon / 2), equal = tanh_half * tanh_half / std::tanh(epsilon);
    for (size_t d = 1; d <= kReportDistanceMax; ++d) {
      for (int half = 0; half < 2; ++half) {
        successive.Add(all_.distant[d].equal_noise[half], all_.distant[d].pairs[half], equal,
                       absl::StrCat("equal noise, ", d, d == 1 ? " report apart" : " reports apart"));
      }
    }
    AddCheck(std::move(successive));
  }

  void CheckBitsAgainstNoise() {
    constexpr const char* kClassNames[kNoiseClasses] = {"positive", "negative", "large", "odd"};
    Family pooled("flips do not depend on the degree noise, pooled"), each("... each bit");
    for (int c = 0; c < kNoiseClasses; ++c) {
      const std::vector<uint64_t>& flips = all_.class_flips[c];
      const uint64_t reports = all_.class_reports[c];
      if (reports == 0) continue;
      const std::string suffix = absl::StrCat(" where the noise is ", kClassNames[c]);
      uint64_t total = 0;
      for (size_t j = 0; j < n_; ++j) total += IsBit(j) ? flips[j] : 0;
      pooled.Add(total, reports * (n_ - 1), p_, absl::StrCat("all bits", suffix));
      each.AddAlike(
          flips, reports, p_, [this](size_t j) { return IsBit(j); },
          [&suffix](size_t j) { return absl::StrCat(BitName(j), suffix); });
    }
    AddCheck(std::move(pooled));
    AddCheck(std::move(each));
  }

  // Uses the normal approximation. A fault is noticed with probability 0.99 when it moves the expectation by 2.33
  // standard deviations more than the threshold lies away.
  void ComputeDetectionPower() {
    constexpr double kNinetyNinePercent = 2.33;
    const auto noticed = [&](double alpha) { return TwoSidedDeviations(alpha) + kNinetyNinePercent; };
    const double reports = static_cast<double>(all_.reports);
    DetectionPower& power = audit_.detection_power;
    if (parameters_.sends_bits()) {
      const double one = std::sqrt((1 - p_) / (p_ * reports));  // relative deviation of the rate of one bit
      power.flip_rate_change = noticed(kFamilyAlpha) * one / std::sqrt(n_ - 1.0);
      power.one_bit_flip_rate_change = noticed(kFamilyAlpha / (n_ - 1)) * one;
      const double bits = static_cast<double>(std::min<size_t>(n_, evidence_.paired_bits)) - 1;
      const double pairs = bits * (bits - 1) / 2;
      uint64_t critical = 0;  // the least count of a pair that is a violation
      while (critical <= evidence_.pair_reports &&
             2 * BinomialAtLeast(critical, evidence_.pair_reports, p_ * p_) >= kFamilyAlpha / pairs) {
        critical += 1 + critical / 256;
      }
      const auto& successive = all_.distant[1].pairs;
      power.shared_stream_flips =
          NoticedStream(evidence_.gap_runs, std::min(successive[0], successive[1]),
                        kFamilyAlpha / (2.0 * kReportDistanceMax), parameters_.node_count(), p_);
      power.reused_coin_miss = critical == 0 ? 0 : BinomialAtMost(critical - 1, evidence_.pair_reports, p_);
    }
    if (parameters_.sends_degree()) {
      const double epsilon = parameters_.epsilon_degree();
      const double tests = 2.0 * static_cast<double>(evidence_.cells.size());
      double best = 0;  // deviations per relative change of the scale, over the tails Pr[Y >= t]
      for (size_t c = static_cast<size_t>(evidence_.cells.half) + 1; c < evidence_.cells.size(); ++c) {
        const double t = static_cast<double>(evidence_.cells.First(c));
        const double tail = DiscreteLaplaceAtLeast(evidence_.cells.First(c), epsilon);
        const double odds = std::exp(-epsilon) / (1 + std::exp(-epsilon));
        const double change = tail * epsilon * (t - odds);  // d tail / d ln(scale)
        best = std::max(best,
                        std::abs(change) / std::sqrt(tail * (1 - tail) / static_cast<double>(audit_.reports_per_list)));
      }
      power.noise_scale_change = best > 0 ? noticed(kFamilyAlpha / tests) / best : 0;
    }
  }

  const AuditEvidence& evidence_;
  MechanismAudit& audit_;
  const PrivacyParameters& parameters_;
  const size_t n_;
  const double p_;
  ListCounts all_;  // of the three lists together; its degree_cells mean nothing
  double pooled_bit_ = 0, degree_ = 0;
};

}  // namespace

double ComputeMedianNoise(double epsilon_degree) {
  // Pr[|Y| > m] = 2 a^(m+1) / (1 + a), a = e^-epsilon.
  const double a = std::exp(-epsilon_degree);
  return std::max(0.0, std::ceil(-std::log((1 + a) / 4) / epsilon_degree - 1));
}

uint64_t ChoosePairSample(double flip_probability) {
  constexpr double kFlipsTogetherMin = 48;  // of a reused coin; a pair of honest bits has at most a few
  uint64_t sample = 4096;
  while (sample < 65536 && static_cast<double>(sample) * flip_probability < kFlipsTogetherMin) sample *= 2;
  return sample;
}

void JudgeEvidence(const AuditEvidence& evidence, MechanismAudit& audit) { EvidenceJudge(evidence, audit).JudgeAll(); }

}  // namespace blink
