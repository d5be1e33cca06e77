#include "node_client/policy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class FakeLedger final : public Ledger {
 public:
  std::optional<Epoch> epoch() const override { return current; }
  std::optional<BoundRound> RoundBinding(const std::string&) const override { return bound; }
  std::optional<uint64_t> SpentMicroMaxWithoutDraw(uint32_t epoch, const PrivacyParameters&) const override {
    return epoch == drawn_epoch ? std::nullopt : std::optional<uint64_t>(spent);
  }
  uint32_t RoundsOfEpoch(uint32_t epoch) const override { return current && current->index == epoch ? rounds : 0; }
  uint32_t hosted() const override { return nodes; }
  uint32_t OtherParametersOfEpoch(uint32_t epoch, const PrivacyParameters&) const override {
    return current && current->index == epoch ? other_parameters : 0;
  }
  std::optional<Epoch> current;
  uint32_t nodes = 1, other_parameters = 0;
  uint32_t rounds = 0;
  std::optional<BoundRound> bound;
  uint32_t drawn_epoch = 0;
  uint64_t spent = 0;
};

const NodePolicy kPolicy{8'000'000, 10'000'000, 86'400, 3, 0, {"demo"}};

TEST(Policy, WritesEpsilonExactly) {
  EXPECT_EQ(EpsilonText(0), "0");
  EXPECT_EQ(EpsilonText(1), "0.000001");
  EXPECT_EQ(EpsilonText(5'999'999), "5.999999");
  EXPECT_EQ(EpsilonText(6'000'000), "6");
  EXPECT_EQ(EpsilonText(120'500'000), "120.5");
  EXPECT_EQ(EpsilonText(kEpsilonMicroLifetimeMax), "9007199254.740992");
}

TEST(Policy, AcceptsTheTermsOfTheKit) {
  EXPECT_TRUE(CheckTerms(MakeKit(0, 0).config, MakeKit(0, 0).policy, MakeRound(kRoundA)).ok());
}

TEST(Policy, RefusesTermsThatAreNotTheKits) {
  const KitConfig kit = MakeKit(0, 0).config;
  NodePolicy policy = MakeKit(0, 0).policy;
  const std::pair<RoundView, const char*> cases[] = {
      {MakeRound(kRoundA, 2'000'000, 100'000, 35), "35 nodes, the kit for 34"},
      {MakeRound(kRoundA, 2'000'000, 100'000, 34, 2), "roster version 2"},
      {MakeRound(kRoundA, 8'000'001), "the policy allows 8"},
  };
  for (const auto& [round, expected] : cases) {
    const absl::Status status = CheckTerms(kit, policy, round);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
  policy.node_count_min = 35;
  EXPECT_THAT(std::string(CheckTerms(kit, policy, MakeRound(kRoundA)).message()), HasSubstr("node_count_min"));
}

RoundView OneEndRound() {
  RoundView round = MakeRound(kRoundA);
  round.parameters = *PrivacyParameters::Create(2'000'000, 100'000, 34, Mechanism::kOneEnd);
  return round;
}

TEST(Policy, RefusesAMechanismThatItDoesNotName) {
  const KitConfig kit = MakeKit(0, 0).config;
  NodePolicy policy = MakeKit(0, 0).policy;  // as one that was written before there was another
  const absl::Status refused = CheckTerms(kit, policy, OneEndRound());
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "the round asks for the mechanism one-end, the policy allows both-ends (mechanisms)");
  policy.mechanisms = {Mechanism::kBothEnds, Mechanism::kOneEnd};
  EXPECT_TRUE(CheckTerms(kit, policy, OneEndRound()).ok());
  EXPECT_TRUE(CheckTerms(kit, policy, MakeRound(kRoundA)).ok());
  policy.mechanisms = {Mechanism::kOneEnd};
  EXPECT_THAT(std::string(CheckTerms(kit, policy, MakeRound(kRoundA)).message()),
              HasSubstr("the policy allows one-end"));
}

TEST(Policy, RefusesAnAnsweredRoundThatComesBackWithAnotherMechanism) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.bound = Ledger::BoundRound{1, MakeRound(kRoundA).parameters};
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).ok());
  EXPECT_FALSE(DecideDraw(kPolicy, ledger, OneEndRound(), kNow).ok());
}

RoundView RoundAboutGroups(uint8_t map) {
  RoundView round = MakeRound(kRoundA);
  GroupQuestion question{2, {}};
  question.map_sha256[0] = map;
  round.parameters = *PrivacyParameters::CreateForGroups(2'000'000, 34, question);
  return round;
}

TEST(Policy, AsksForGroupDegreesByName) {
  const KitConfig kit = MakeKit(0, 0).config;
  NodePolicy policy = MakeKit(0, 0).policy;
  policy.mechanisms = {Mechanism::kBothEnds, Mechanism::kOneEnd};
  EXPECT_EQ(CheckTerms(kit, policy, RoundAboutGroups(0)).message(),
            "the round asks for the mechanism group-degrees, the policy allows both-ends, one-end (mechanisms)");
  policy.mechanisms.push_back(Mechanism::kGroupDegrees);
  EXPECT_TRUE(CheckTerms(kit, policy, RoundAboutGroups(0)).ok());
}

TEST(Policy, RefusesAnAnsweredRoundThatComesBackAboutOtherGroups) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.bound = Ledger::BoundRound{1, RoundAboutGroups(0).parameters};
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, RoundAboutGroups(0), kNow).ok());
  EXPECT_FALSE(DecideDraw(kPolicy, ledger, RoundAboutGroups(1), kNow).ok());
}

TEST(Policy, TheFirstDrawBeginsTheFirstEpoch) {
  const auto decision = DecideDraw(kPolicy, FakeLedger(), MakeRound(kRoundA), kNow);
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->epoch, 1u);
  EXPECT_TRUE(decision->begins_epoch);
  EXPECT_FALSE(decision->complete);
}

TEST(Policy, AnEpochLastsUntilItsTimeHasPassed) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{4, kNow};
  ledger.drawn_epoch = 4;
  const auto before = DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow + absl::Seconds(86'399));
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->epoch, 4u);
  EXPECT_TRUE(before->complete);
  const auto after = DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow + absl::Seconds(86'400));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->epoch, 5u);
  EXPECT_TRUE(after->begins_epoch);
}

TEST(Policy, RefusesADrawThatExceedsTheLifetimeBudget) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.spent = 8'000'000;
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA, 2'000'000), kNow).ok());
  const absl::Status status = DecideDraw(kPolicy, ledger, MakeRound(kRoundA, 2'000'001), kNow).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lifetime"));
}

TEST(Policy, TheLifetimeSumCannotOverflow) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  NodePolicy policy = kPolicy;
  for (const uint64_t spent : {~uint64_t{0}, ~uint64_t{0} - 1'999'999, kEpsilonMicroLifetimeMax}) {
    for (const uint64_t allowed : {uint64_t{0}, uint64_t{1'999'999}, uint64_t{2'000'000}, kEpsilonMicroLifetimeMax}) {
      ledger.spent = spent;
      policy.epsilon_micro_lifetime_max = allowed;
      EXPECT_FALSE(DecideDraw(policy, ledger, MakeRound(kRoundA), kNow).ok()) << spent << " of " << allowed;
    }
  }
  ledger.spent = kEpsilonMicroLifetimeMax - 2'000'000;
  EXPECT_TRUE(DecideDraw(policy, ledger, MakeRound(kRoundA), kNow).ok());
}

TEST(Policy, AReportThatIsDrawnAlreadyCostsNothing) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.spent = 10'000'000;
  ledger.drawn_epoch = 1;
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).ok());
}

TEST(Policy, ARoundKeepsItsDrawsWhenTheEpochIsOver) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.bound = Ledger::BoundRound{1, MakeRound(kRoundA).parameters};
  const auto decision = DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow + absl::Hours(1000));
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->epoch, 1u);
  EXPECT_FALSE(decision->begins_epoch);
}

TEST(Policy, RefusesARoundThatComesBackWithOtherParameters) {
  FakeLedger ledger;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.bound = Ledger::BoundRound{1, MakeRound(kRoundA, 1'000'000).parameters};
  EXPECT_EQ(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(DecideDraw, RefusesMoreRoundsThanAnEpochAnswersAndNoneThatWasAnswered) {
  FakeLedger ledger;
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const NodePolicy policy{8'000'000, 64'000'000, 86'400, 3, 0, {"demo"}};
  ledger.current = Ledger::Epoch{1, now};
  ledger.drawn_epoch = 1;
  ledger.rounds = kRoundsPerEpochMax - 1;
  EXPECT_TRUE(DecideDraw(policy, ledger, MakeRound(kRoundA), now).ok());
  ledger.rounds = kRoundsPerEpochMax;
  EXPECT_EQ(DecideDraw(policy, ledger, MakeRound(kRoundA), now).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(DecideDraw(policy, ledger, MakeRound(kRoundA), now + absl::Seconds(86'400)).ok()) << "the next epoch";
  ledger.bound = Ledger::BoundRound{1, MakeRound(kRoundA).parameters};
  EXPECT_TRUE(DecideDraw(policy, ledger, MakeRound(kRoundA), now).ok()) << "answered before";
}

TEST(DecideDraw, RefusesMoreParametersThanAnEpochAnswersAndNoneThatWereDrawn) {
  FakeLedger ledger;
  ledger.nodes = 10'000'000;
  ledger.current = Ledger::Epoch{1, kNow};
  ledger.other_parameters = ParametersPerEpochMax(ledger.nodes, 34) - 1;
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).ok());
  ++ledger.other_parameters;
  const absl::Status refused = DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("8 different parameters"));
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow + absl::Seconds(86'400)).ok()) << "the next epoch";
  ledger.drawn_epoch = 1;
  EXPECT_TRUE(DecideDraw(kPolicy, ledger, MakeRound(kRoundA), kNow).ok()) << "drawn before";
}

TEST(EpochLimits, BoundTheBytesThatAnEpochAddsToAJournal) {
  EXPECT_EQ(RoundsPerEpochMax(1), 1024u);
  EXPECT_EQ(RoundsPerEpochMax(2046), 1024u);
  EXPECT_EQ(RoundsPerEpochMax(22'470), 93u);
  EXPECT_EQ(RoundsPerEpochMax(10'000'000), 16u);
  EXPECT_EQ(ParametersPerEpochMax(1, 1'000'000), 1024u);
  EXPECT_EQ(ParametersPerEpochMax(22'470, 22'470), 8u);
  EXPECT_EQ(ParametersPerEpochMax(1, 10'000'000), 429u);
  EXPECT_EQ(ParametersPerEpochMax(10'000'000, 10'000'000), 8u);
  EXPECT_EQ(ParametersPerEpochMax(1, 10'000'000, 2), 1024u) << "numbers, not bits";
  EXPECT_EQ(ParametersPerEpochMax(1000, 1000, 1000), 52u);
  for (const uint64_t hosted : {1, 2708, 22'470}) {
    EXPECT_LE(RoundsPerEpochMax(hosted) * 128 * (hosted + 2), kRoundBytesPerEpoch);
    EXPECT_LE(ParametersPerEpochMax(hosted, 22'470) * hosted * (22'470 / 8 + 192), kDrawBytesPerEpoch + (4 << 20));
  }
}

}  // namespace
}  // namespace blink
