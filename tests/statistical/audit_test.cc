// The audit catches what it is for, and accuses no honest mechanism. Fixed seeds; kFalseAlarmMax = 1e-6 bounds the
// probability that one audit of an honest mechanism fails under another seed. Each fault's power stands beside its
// test: z is its size in standard deviations of the test that sees it, against a threshold of 5.5 (one test in a
// family) to 7.6 (all 522,753 pairs).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/privacy/discrete_laplace.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/randomized_response.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tools/audit/mechanism.h"
#include "tools/audit/report.h"

namespace blink {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kNodes = 1024;
constexpr uint64_t kTrillion = 1'000'000'000'000;

// The shipped functions with a seeded source. Faults override the step that they spoil.
class SeededMechanism : public AuditedMechanism {
 public:
  SeededMechanism(const PrivacyParameters& parameters, uint64_t seed) : parameters_(parameters), random_(seed) {}
  absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours) override {
    ReportNoise noise = *DrawNoise(parameters_, self, random_);
    SpoilNoise(self, neighbours, noise);
    const PrivateReport report = *ApplyNoise(parameters_, self, std::move(noise), neighbours);
    AuditedReport audited{report.bits, static_cast<double>(report.noisy_degree.value_or(0))};
    SpoilReport(neighbours, audited);
    return audited;
  }

 protected:
  virtual void SpoilNoise(NodeIndex self, absl::Span<const NodeIndex> neighbours, ReportNoise& noise) {}
  virtual void SpoilReport(absl::Span<const NodeIndex> neighbours, AuditedReport& report) {}
  // Discrete Laplace noise of `percent` of the scale that was promised.
  int64_t NoiseOfScale(uint64_t percent) {
    RandomBits bits(random_);
    return DrawDiscreteLaplace(parameters_.degree_epsilon_numerator() * 100 / percent, kTrillion, bits);
  }
  void DrawFlips(uint64_t flip_numerator, NodeIndex self, ReportNoise& noise) {
    RandomBits bits(random_);
    FillBernoulli(flip_numerator, bits, noise.flips.mutable_words());
    noise.flips.ClearTail();
    noise.flips.Clear(self);
  }
  double Uniform() { return std::uniform_real_distribution<double>()(engine_); }
  double ContinuousLaplace() {
    const double magnitude = -std::log1p(-Uniform()) / parameters_.epsilon_degree();
    return Uniform() < 0.5 ? magnitude : -magnitude;
  }
  const PrivacyParameters parameters_;
  SeededRandom random_;
  std::mt19937_64 engine_{99};
};

class SmallerFlipProbability final : public SeededMechanism {
 public:
  SmallerFlipProbability(const PrivacyParameters& parameters, uint64_t seed, double factor)
      : SeededMechanism(parameters, seed),
        numerator_(static_cast<uint64_t>(static_cast<double>(parameters.flip_numerator()) * factor)) {}
  void SpoilNoise(NodeIndex self, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    DrawFlips(numerator_, self, noise);
  }

 private:
  const uint64_t numerator_;
};

// Bits 40 and 900 are flipped by one coin.
class ReusedCoin final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (noise.flips.Test(40) != noise.flips.Test(900)) noise.flips.Flip(900);
  }
};

class SmallerDegreeNoise final : public SeededMechanism {
 public:
  SmallerDegreeNoise(const PrivacyParameters& parameters, uint64_t seed, uint64_t percent)
      : SeededMechanism(parameters, seed), percent_(percent) {}
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    noise.degree_noise = NoiseOfScale(percent_);
  }

 private:
  const uint64_t percent_;
};

class ContinuousLaplaceLeak final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilReport(absl::Span<const NodeIndex> neighbours, AuditedReport& report) override {
    report.degree = static_cast<double>(neighbours.size()) + ContinuousLaplace();
  }
};

// Hides the digits, but not the distribution.
class RoundedContinuousLaplace final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilReport(absl::Span<const NodeIndex> neighbours, AuditedReport& report) override {
    report.degree = static_cast<double>(neighbours.size()) + std::floor(ContinuousLaplace());
  }
};

// A link is hidden less often than an absent one.
class FlipsDependOnTheList final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex> neighbours, ReportNoise& noise) override {
    for (const NodeIndex j : neighbours) {
      if (noise.flips.Test(j) && Uniform() < 0.2) noise.flips.Clear(j);
    }
  }
};

// Long lists get less noise.
class DegreeNoiseDependsOnTheList final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex> neighbours, ReportNoise& noise) override {
    if (neighbours.size() > 100) noise.degree_noise = NoiseOfScale(85);
  }
};

// The sign of the degree noise is the coin of bit 5.
class CoinSharedWithTheDegree final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (noise.flips.Test(5)) noise.degree_noise = std::abs(*noise.degree_noise) + 1;
  }
};

// Every second report has the noise of the one before.
class NoiseUsedTwice final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (again_) noise = last_;
    again_ = !again_;
    last_ = noise;
  }
  bool again_ = false;
  ReportNoise last_;
};

// A buffer of noise is drawn for every second report, and serves each twice: for the report, and for the one `apart`
// later. `first`: which report is the first to have fresh noise.
class NoiseUsedAgainLater final : public SeededMechanism {
 public:
  NoiseUsedAgainLater(const PrivacyParameters& parameters, uint64_t seed, size_t apart, size_t first)
      : SeededMechanism(parameters, seed), kept_(apart), apart_(apart), report_(2 * apart - first) {}
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    ReportNoise& place = kept_[report_ % apart_];
    if (report_ / apart_ % 2 == 1 && !place.flips.empty()) {
      noise = place;
    } else {
      place = noise;
    }
    ++report_;
  }

 private:
  std::vector<ReportNoise> kept_;
  const size_t apart_;
  size_t report_;
};

// One report in `every` goes out as the list is: a failure of the generator that nobody looked at.
class BareNowAndThen final : public SeededMechanism {
 public:
  BareNowAndThen(const PrivacyParameters& parameters, uint64_t seed, uint64_t every)
      : SeededMechanism(parameters, seed), every_(every) {}
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (++reports_ % every_ == 0) noise.flips = BitRow(kNodes);
  }

 private:
  const uint64_t every_;
  uint64_t reports_ = 0;
};

// Where bit 5 is flipped, the degree noise is rather odd, and as often as that, where it is not, rather even: both are
// distributed as they should be, and neither the sign nor the size of the noise tells anything.
class DigitSharedWithTheDegree final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    const double p = parameters_.flip_probability();
    const bool odd = noise.flips.Test(5), even = !odd && Uniform() < p / (1 - p);
    const int64_t other = NoiseOfScale(100);
    if ((odd && other % 2 != 0 && *noise.degree_noise % 2 == 0) ||
        (even && other % 2 == 0 && *noise.degree_noise % 2 != 0)) {
      noise.degree_noise = other;
    }
  }
};

// Word 5 of every second report is word 3 of the one before.
class StaleNoiseWord final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (again_) noise.flips.mutable_words()[5] = last_;
    again_ = !again_;
    last_ = noise.flips.words()[3];
  }
  bool again_ = false;
  uint64_t last_ = 0;
};

// Every second report has the flips of the one before, 13 bits further on.
class ShiftedFlips final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilNoise(NodeIndex self, absl::Span<const NodeIndex>, ReportNoise& noise) override {
    if (again_) {
      for (uint32_t j = 13; j < kNodes; ++j) {
        if (noise.flips.Test(j) != last_.flips.Test(j - 13)) noise.flips.Flip(j);
      }
      noise.flips.Clear(self);
    }
    again_ = !again_;
    last_ = noise;
  }
  bool again_ = false;
  ReportNoise last_;
};

// The generator's stream is read again for every second report, from some words further on: what a buffer that is
// refilled in the wrong place does, or a generator that was copied.
class ShiftedStream final : public AuditedMechanism {
 public:
  ShiftedStream(const PrivacyParameters& parameters, uint64_t seed, size_t words = 8)
      : parameters_(parameters), random_(seed), begin_(random_), words_(words) {}
  absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours) override {
    if (again_) {
      random_ = begin_;
      std::vector<uint8_t> skipped(8 * words_);
      (void)random_.Fill(absl::MakeSpan(skipped));
    } else {
      begin_ = random_;
    }
    again_ = !again_;
    const PrivateReport report = *ApplyNoise(parameters_, self, *DrawNoise(parameters_, self, random_), neighbours);
    return AuditedReport{report.bits, static_cast<double>(report.noisy_degree.value_or(0))};
  }

 private:
  const PrivacyParameters parameters_;
  SeededRandom random_, begin_;
  const size_t words_;
  bool again_ = false;
};

// Node `apart` reports later has the stream of the first again, from three words further on.
class StreamReadAgainLater final : public AuditedMechanism {
 public:
  StreamReadAgainLater(const PrivacyParameters& parameters, uint64_t seed, size_t apart)
      : parameters_(parameters), random_(seed), begin_(apart, random_), apart_(apart) {}
  absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours) override {
    const size_t place = report_ % apart_;
    const bool again = report_++ / apart_ % 2 == 1;
    SeededRandom read_again = begin_[place];
    if (again) {
      std::array<uint8_t, 3 * 8> skipped;
      (void)read_again.Fill(absl::MakeSpan(skipped));
    } else {
      begin_[place] = random_;
    }
    const PrivateReport report =
        *ApplyNoise(parameters_, self, *DrawNoise(parameters_, self, again ? read_again : random_), neighbours);
    return AuditedReport{report.bits, 0};
  }

 private:
  const PrivacyParameters parameters_;
  SeededRandom random_;
  std::vector<SeededRandom> begin_;  // [report mod apart]
  const size_t apart_;
  size_t report_ = 0;
};

class Malformed final : public SeededMechanism {
  using SeededMechanism::SeededMechanism;
  void SpoilReport(absl::Span<const NodeIndex>, AuditedReport& report) override { report.bits.Set(17); }
};

class Failing final : public AuditedMechanism {
  absl::StatusOr<AuditedReport> Report(NodeIndex, absl::Span<const NodeIndex>) override {
    return absl::UnavailableError("no randomness");
  }
};

PrivacyParameters ParametersOf(uint64_t epsilon_micro, uint32_t share_ppm = 100'000, uint32_t nodes = kNodes) {
  return *PrivacyParameters::Create(epsilon_micro, share_ppm, nodes);
}

template <typename Mechanism, typename... Arguments>
MechanismAudit Audit(const PrivacyParameters& parameters, uint64_t reports, Arguments... arguments) {
  // BLINK_AUDIT_REPORTS: as many as `blink audit` draws, say; then this takes an hour and not seconds.
  const char* const more = std::getenv("BLINK_AUDIT_REPORTS");
  if (more != nullptr) reports = std::max<uint64_t>(reports, std::strtoull(more, nullptr, 10));
  return *AuditMechanism({.parameters = parameters, .reports = reports, .threads = 2}, [=](int thread) {
    return std::make_unique<Mechanism>(parameters, 1000 + thread, arguments...);
  });
}

std::vector<std::string> Violations(const MechanismAudit& audit) {
  std::vector<std::string> violations;
  for (const EpsilonBound& bound : audit.bounds) {
    if (bound.violated) violations.push_back(bound.of);
  }
  for (const AuditCheck& check : audit.checks) {
    if (check.violated) violations.push_back(check.claim + ": " + check.worst);
  }
  return violations;
}

double LowerBound(const MechanismAudit& audit, const std::string& of) {
  for (const EpsilonBound& bound : audit.bounds) {
    if (bound.of.find(of) != std::string::npos) return bound.lower;
  }
  return -1;
}

class MechanismAuditAt : public ::testing::TestWithParam<uint64_t> {
 protected:
  const PrivacyParameters parameters_ = ParametersOf(GetParam() * 1'000'000);
};

TEST_P(MechanismAuditAt, FindsNothingInAnHonestMechanism) {
  const MechanismAudit audit = Audit<SeededMechanism>(parameters_, 40'000);
  EXPECT_THAT(Violations(audit), IsEmpty());
  EXPECT_TRUE(audit.passed());
  // And its bounds are no idle ones: they come near to what is really spent.
  EXPECT_GT(LowerBound(audit, "a bit, pooled over all"), 0.99 * parameters_.epsilon_list());
  EXPECT_GT(LowerBound(audit, "the degree"), 0.1 * parameters_.epsilon_degree());
  EXPECT_GT(LowerBound(audit, "that bit and the degree"), 0.4 * parameters_.epsilon());
}

// 1 % of the pooled flips: z = 0.01 sqrt(3 * reports * (n - 1) * p / (1 - p)): 35, 9 and 9.6.
TEST_P(MechanismAuditAt, CatchesAFlipProbabilityThatIsOnePercentTooSmall) {
  const bool rare = GetParam() == 8;
  const PrivacyParameters parameters = ParametersOf(GetParam() * 1'000'000, 100'000, rare ? 4096 : kNodes);
  const MechanismAudit audit = Audit<SmallerFlipProbability>(parameters, rare ? 100'000 : 10'000, 0.99);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("pooled: all bits")));
}

// Two bits flipped together reports * p' times instead of reports * p'^2, in a sample of 4,096 (epsilon 1, 4) and
// 65,536 reports: missed with a probability below 1e-9, see audit.detection_power.
TEST_P(MechanismAuditAt, CatchesACoinThatIsUsedForTwoBits) {
  const MechanismAudit audit = Audit<ReusedCoin>(parameters_, GetParam() == 8 ? 65'536 : 10'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("bits 40 and 900")));
  EXPECT_LT(audit.detection_power.reused_coin_miss, 1e-9);
}

// The tails of the degree noise move by z > 12 at every budget.
TEST_P(MechanismAuditAt, CatchesDegreeNoiseOfNineTenthsOfItsScale) {
  const MechanismAudit audit = Audit<SmallerDegreeNoise>(parameters_, 40'000, 90);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("degree noise is discrete Laplace: sparse")));
  EXPECT_LT(audit.detection_power.noise_scale_change, 0.1);
}

// Certain after one report.
TEST_P(MechanismAuditAt, CatchesTheDigitsOfContinuousLaplaceNoise) {
  const MechanismAudit audit = Audit<ContinuousLaplaceLeak>(parameters_, 2'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("noisy degree is an integer")));
}

// floor(L) is below 0 half of the time, discrete Laplace noise 1 / (1 + e^epsilon_d) of the time: z = 0.025 * 2
// sqrt(60,000) = 12 at epsilon_d = 0.1.
TEST_P(MechanismAuditAt, CatchesContinuousLaplaceNoiseThatWasRounded) {
  const MechanismAudit audit = Audit<RoundedContinuousLaplace>(parameters_, 60'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("degree noise is discrete Laplace")));
}

// The dense list has 512 links, of whose 20,000 * 512 * p' flips (7,600 at epsilon = 8) a fifth are missing: z > 17.
TEST_P(MechanismAuditAt, CatchesFlipsThatDependOnTheList) {
  const MechanismAudit audit = Audit<FlipsDependOnTheList>(parameters_, 20'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("dense list, entries with a link")));
}

TEST_P(MechanismAuditAt, CatchesDegreeNoiseThatDependsOnTheList) {
  const std::vector<std::string> violations = Violations(Audit<DegreeNoiseDependsOnTheList>(parameters_, 40'000));
  EXPECT_THAT(violations, Contains(HasSubstr("discrete Laplace: dense")));
  EXPECT_THAT(violations, ::testing::Not(Contains(HasSubstr("discrete Laplace: sparse"))));
}

// 64 pairs of bits are equal in the 2,048 (epsilon 1, 4) to 32,768 pairs of reports of the sample: one pair alone has z
// > 30, all of them at their distance z > 100.
TEST_P(MechanismAuditAt, CatchesAStaleWordOfNoise) {
  const MechanismAudit audit = Audit<StaleNoiseWord>(parameters_, GetParam() == 8 ? 65'536 : 10'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("at each distance, pooled: distance 128")));
}

TEST_P(MechanismAuditAt, CatchesFlipsShiftedBySomeBits) {
  const MechanismAudit audit = Audit<ShiftedFlips>(parameters_, GetParam() == 8 ? 65'536 : 10'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("at each distance, pooled: distance 13")));
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("a bit does not depend on any bit of the report before")));
}

// Two readings of one stream soon agree on where a word of flips begins, and from there on give the same flips some
// words apart. Gaps between flips (epsilon 8) agree, too, but begin anywhere. So the flips have no distance of their
// own, and the degree noise tells. With fewer than one flip a report there is no run of gaps that could.
TEST_P(MechanismAuditAt, CatchesAStreamShiftedBySomeWords) {
  const MechanismAudit audit = Audit<ShiftedStream>(parameters_, GetParam() == 8 ? 65'536 : 10'000);
  const bool by_gaps = parameters_.flip_numerator() < kFewFlips;
  EXPECT_THAT(Violations(audit),
              Contains(HasSubstr(by_gaps ? "share no degree noise" : "at each distance, pooled: distance -64")));
}

// Without a degree, the gaps tell. A first report has flips + length flips or more with probability 0.26, 0.10 (1,024
// bits) and 0.97 (100,000 bits). Two honest ones share a run with probability 1e-3 at most.
TEST(MechanismAudit, CatchesAStreamOfGapsThatIsSharedWhereNoDegreeIsSent) {
  for (const auto& [epsilon_micro, nodes, reports, words] :
       {std::tuple<uint64_t, uint32_t, uint64_t, size_t>{5'000'000, kNodes, 10'000, 6},
        {6'000'000, kNodes, 10'000, 3},
        {8'000'000, 100'000, 2'000, 12}}) {
    const PrivacyParameters parameters = ParametersOf(epsilon_micro, 0, nodes);
    ASSERT_LT(parameters.flip_numerator(), kFewFlips);
    const MechanismAudit audit = Audit<ShiftedStream>(parameters, reports, words);
    EXPECT_THAT(Violations(audit), Contains(HasSubstr("share no gaps of flips: a run of"))) << epsilon_micro;
    ASSERT_TRUE(audit.detection_power.shared_stream_flips.has_value());
    EXPECT_GE(*audit.detection_power.shared_stream_flips, words);  // and it says that it would
    EXPECT_THAT(Violations(Audit<SeededMechanism>(parameters, reports)), IsEmpty()) << epsilon_micro;
  }
}

TEST(MechanismAudit, CatchesAStreamOfGapsThatIsReadAgainUpToSixteenReportsLater) {
  for (const size_t apart : {1, 2, 7, 16}) {
    EXPECT_THAT(Violations(Audit<StreamReadAgainLater>(ParametersOf(6'000'000, 0), 10'000, apart)),
                Contains(HasSubstr(absl::StrCat(" gaps in both, ", apart, " report"))))
        << apart;
  }
}

// Where a report has hardly any flip, it has no run of gaps; and where flips are not rare, words are compared.
TEST(MechanismAudit, SaysWhichSharedStreamsItWouldNotice) {
  const auto flips = [](uint64_t epsilon_micro, uint64_t reports) {
    return Audit<SeededMechanism>(ParametersOf(epsilon_micro, 0), reports).detection_power.shared_stream_flips;
  };
  EXPECT_EQ(flips(20'000'000, 2'000), std::nullopt);
  EXPECT_EQ(flips(1'000'000, 2'000), std::nullopt);
  EXPECT_GT(flips(6'000'000, 20'000), flips(8'000'000, 20'000));
}

INSTANTIATE_TEST_SUITE_P(Epsilon, MechanismAuditAt, ::testing::Values(1, 4, 8));

TEST(MechanismAudit, CatchesACoinThatABitSharesWithTheDegree) {
  const MechanismAudit audit = Audit<CoinSharedWithTheDegree>(ParametersOf(4'000'000), 20'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("bit 5 where the noise is")));
}

TEST(MechanismAudit, CatchesNoiseThatIsUsedTwice) {
  const std::vector<std::string> violations = Violations(Audit<NoiseUsedTwice>(ParametersOf(4'000'000), 5'000));
  EXPECT_THAT(violations, Contains(HasSubstr("share no flips")));
  EXPECT_THAT(violations, Contains(HasSubstr("share no degree noise")));
}

// Wherever the pairs of the same noise begin, and however far apart they are.
TEST(MechanismAudit, CatchesNoiseThatIsUsedAgainLater) {
  for (const auto& [apart, first] :
       std::vector<std::pair<size_t, size_t>>{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {7, 3}, {16, 0}, {16, 9}}) {
    const std::vector<std::string> violations =
        Violations(Audit<NoiseUsedAgainLater>(ParametersOf(4'000'000), 5'000, apart, first));
    EXPECT_THAT(violations, Contains(HasSubstr(apart == 1 ? "share no flips" : "further apart")))
        << apart << " " << first;
    EXPECT_THAT(violations, Contains(HasSubstr("share no degree noise"))) << apart << " " << first;
  }
}

// Without a flip is 1 report in 10^146 at epsilon = 1, and 1 in 10^12 at epsilon = 4. The rate of all bits moves by z =
// 1.2 and 0.4.
TEST(MechanismAudit, CatchesAListThatGoesOutBareNowAndThen) {
  for (const uint64_t epsilon : {1, 4}) {
    const std::vector<std::string> violations =
        Violations(Audit<BareNowAndThen>(ParametersOf(epsilon * 1'000'000), 6'000, 2'000));
    EXPECT_EQ(violations.size(), 1u);
    EXPECT_THAT(violations, Contains(HasSubstr("number of flips of a report is binomial: 0 flips: 8 of 18000")));
  }
}

TEST(MechanismAudit, CatchesADigitThatABitSharesWithTheDegree) {
  const MechanismAudit audit = Audit<DigitSharedWithTheDegree>(ParametersOf(1'000'000), 20'000);
  EXPECT_THAT(Violations(audit), Contains(HasSubstr("bit 5 where the noise is odd")));
}

TEST(MechanismAudit, CatchesABitForTheNodeItself) {
  EXPECT_THAT(Violations(Audit<Malformed>(ParametersOf(1'000'000), 1'000)),
              Contains(HasSubstr("3000 malformed reports")));
}

// Half of p and half of the scale: the bounds alone prove that more is spent than was promised.
TEST(MechanismAudit, ProvesThatTooMuchIsSpent) {
  const PrivacyParameters parameters = ParametersOf(1'000'000, 500'000);
  const std::vector<std::string> of_bits = Violations(Audit<SmallerFlipProbability>(parameters, 20'000, 0.5));
  EXPECT_THAT(of_bits, Contains("the bit in which two lists differ"));
  EXPECT_THAT(of_bits, Contains("the bit that was flipped least, of all bits"));
  EXPECT_THAT(of_bits, Contains("a bit, pooled over all"));
  EXPECT_THAT(of_bits, Contains("the report: that bit and the degree"));
  const std::vector<std::string> of_degree = Violations(Audit<SmallerDegreeNoise>(parameters, 20'000, 50));
  EXPECT_THAT(of_degree, Contains("the degree"));
  EXPECT_THAT(of_degree, Contains("the report: a bit, pooled, and the degree"));
}

TEST(MechanismAudit, HasNothingToSayAboutWhatIsNotSent) {
  for (const uint32_t share_ppm : {0u, 1'000'000u}) {
    const MechanismAudit audit = Audit<SeededMechanism>(ParametersOf(2'000'000, share_ppm), 5'000);
    EXPECT_THAT(Violations(audit), IsEmpty());
    EXPECT_EQ(LowerBound(audit, "that bit and the degree"), -1);
    EXPECT_EQ(LowerBound(audit, "the degree") >= 0, share_ppm > 0);
    EXPECT_EQ(LowerBound(audit, "a bit, pooled") >= 0, share_ppm == 0);
  }
}

TEST(MechanismAudit, HoldsAtTheExtremesOfTheBudget) {
  for (const auto& [epsilon_micro, share_ppm] :
       {std::pair<uint64_t, uint32_t>{1, 1}, {1, 500'000}, {50'000'000, 1}, {50'000'000, 999'999}}) {
    EXPECT_THAT(Violations(Audit<SeededMechanism>(ParametersOf(epsilon_micro, share_ppm), 2'000)), IsEmpty())
        << epsilon_micro;
  }
}

TEST(MechanismAudit, SaysWhenItCouldNotHaveSeenAReusedCoin) {
  EXPECT_GT(Audit<SeededMechanism>(ParametersOf(50'000'000), 2'000).detection_power.reused_coin_miss, 0.99);
}

// Real randomness: fails with probability 1e-6.
TEST(MechanismAudit, FindsNothingInWhatIsShipped) {
  const PrivacyParameters parameters = ParametersOf(6'000'000);
  const MechanismAudit audit =
      *AuditMechanism({.parameters = parameters, .reports = 20'000, .threads = 2}, ShippedMechanism(parameters));
  EXPECT_THAT(Violations(audit), IsEmpty());
}

TEST(MechanismAudit, SplitsItsFalseAlarmsAmongNoMoreFamiliesThanItSays) {
  const MechanismAudit audit = Audit<SeededMechanism>(ParametersOf(1'000'000), 1'000);
  EXPECT_LE(audit.bounds.size() + audit.checks.size(), static_cast<size_t>(kAuditFamiliesMax));
  double total = 0;
  for (const AuditCheck& check : audit.checks) total += check.threshold * static_cast<double>(check.tests);
  EXPECT_LE(total, kFalseAlarmMax);
}

TEST(MechanismAudit, EndsWithTheErrorOfTheMechanism) {
  const auto audit = AuditMechanism({.parameters = ParametersOf(1'000'000), .reports = 5'000, .threads = 2},
                                    [](int) { return std::make_unique<Failing>(); });
  EXPECT_EQ(audit.status().code(), absl::StatusCode::kUnavailable);
}

TEST(MechanismAudit, RefusesNumbersOutOfRange) {
  const PrivacyParameters good = ParametersOf(1'000'000);
  for (const MechanismAuditOptions& options :
       {MechanismAuditOptions{.parameters = *PrivacyParameters::Create(1'000'000, 100'000, 1023), .reports = 2'000},
        MechanismAuditOptions{.parameters = *PrivacyParameters::Create(1'000'000, 100'000, 1'000'001),
        .reports = 2'000},
        MechanismAuditOptions{.parameters = good, .reports = 999},
        MechanismAuditOptions{.parameters = good, .reports = 1'000'000'001},
        MechanismAuditOptions{.parameters = good, .reports = 2'000, .threads = 0}}) {
    EXPECT_EQ(AuditMechanism(options, ShippedMechanism(options.parameters)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(MechanismAuditReport, SaysTheSameToPeopleAndPrograms) {
  const MechanismAudit audit = Audit<Malformed>(ParametersOf(1'000'000), 1'000);
  const nlohmann::ordered_json json = MechanismAuditJson(audit);
  EXPECT_FALSE(json["passed"].get<bool>());
  EXPECT_EQ(json["checks"].size(), audit.checks.size());
  EXPECT_EQ(json["epsilon_bounds"].size(), audit.bounds.size());
  const std::string table = MechanismAuditTable(audit);
  EXPECT_THAT(table, HasSubstr("3000 malformed reports"));
  EXPECT_THAT(table, HasSubstr("VIOLATED: the mechanism does not keep its promise"));
}

}  // namespace
}  // namespace blink
