// Short runs of the simulation, and what it is made of. README.md says what must never happen, and how to run it long.
#include "tests/simulation/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/simulation/model.h"
#include "tests/simulation/shared_store.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink::simulation {
namespace {

SimulationResult RunSeed(uint64_t seed, uint64_t operations, Fault fault = Fault::kNone) {
  const SimulationOptions options{.seed = seed, .operations = operations, .fault = fault};
  SimulationResult result = Simulate(options);
  EXPECT_TRUE(fault != Fault::kNone || result.violation.empty()) << DescribeViolation(options, result);
  return result;
}

class SimulationTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SimulationTest, FindsNothingThatMustNeverHappen) {
  const SimulationResult result = RunSeed(GetParam(), 3000);
  EXPECT_EQ(result.operations, 3000u);
}

INSTANTIATE_TEST_SUITE_P(OfSeed, SimulationTest, ::testing::Values(1, 2, 3, 4, 5));

TEST(Simulation, RepeatsExactlyFromItsSeed) {
  EXPECT_EQ(DigestToHex(RunSeed(11, 3000).trace), DigestToHex(RunSeed(11, 3000).trace));
}

TEST(Simulation, DiffersFromSeedToSeed) { EXPECT_NE(RunSeed(12, 200).trace, RunSeed(13, 200).trace); }

TEST(Simulation, MeetsEverythingThatCanHappen) {
  std::string trace;
  const SimulationOptions options{
      .seed = 14, .operations = 10'000, .trace = [&](const std::string& line) { absl::StrAppend(&trace, line, "\n"); }};
  EXPECT_EQ(Simulate(options).violation, "");
  for (const char* const what : {"aggregator 0 dies",
                                 "aggregator 1 dies",
                                 "aggregator 0 ends",
                                 "the power is cut during the work",
                                 "the disk fails once",
                                 "the disk is full",
                                 "a sync takes 3",
                                 "a backup is restored: OK",
                                 "the clock is set by -",
                                 "time passes",
                                 "the database cannot be reached",
                                 "an answer of the database is lost",
                                 "a turn of a runner alone",
                                 "a life of a node that dies at its receipt",
                                 "batch:",
                                 ": ALREADY_EXISTS",
                                 ": FAILED_PRECONDITION",
                                 ": RESOURCE_EXHAUSTED",
                                 ": UNAVAILABLE",
                                 "cancel during the work: OK",
                                 "ends: stopped",
                                 "ends: killed",
                                 "ends: silent",
                                 "ends: an error",

                                 " is done: "}) {
    EXPECT_TRUE(absl::StrContains(trace, what)) << what;
  }
}

TEST(Simulation, TellsSeedAndOperationAndTheLastOperationsOfWhatItFinds) {
  const SimulationOptions options{.seed = 1, .operations = 20'000, .fault = Fault::kCountsDuplicatesTwice};
  const SimulationResult result = Simulate(options);
  const std::string text = DescribeViolation(options, result);
  EXPECT_THAT(text, ::testing::HasSubstr(absl::StrCat("seed 1, operation ", result.operations, ": ")));
  EXPECT_THAT(text, ::testing::HasSubstr(absl::StrCat("\n  ", result.operations, ": VIOLATION ")));
  EXPECT_THAT(text,
              ::testing::HasSubstr("simulate_aggregator --seed 1 --operations 20000 --fault counts-duplicates-twice"));
  EXPECT_EQ(Simulate(options).trace, result.trace) << "and the run repeats exactly";
}

class DeliberateFault : public ::testing::TestWithParam<NamedFault> {};

TEST_P(DeliberateFault, IsFoundWithEverySeed) {
  for (const uint64_t seed : {1, 2, 3}) {
    const SimulationResult result = RunSeed(seed, 20'000, GetParam().fault);
    EXPECT_NE(result.violation, "") << "seed " << seed;
    std::printf("%s, seed %d: found at operation %d: %s\n", GetParam().name, static_cast<int>(seed),
                static_cast<int>(result.operations), result.violation.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Which, DeliberateFault, ::testing::ValuesIn(kFaults), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// ---- what must be true ----

v1::Round InStates(const std::vector<v1::RoundState>& states) {
  v1::Round round = testing::MakeRound(20);
  for (const v1::RoundState state : states) round.add_history()->set_state(state);
  round.set_state(states.back());
  return round;
}

TEST(Model, RefusesAStateThatIsSkippedOrGoesBack) {
  Model model;
  EXPECT_EQ(model.AddRound(InStates({v1::ROUND_STATE_OPEN})), "");
  model.Find(testing::kRoundId)->may_be_sealed = true;
  EXPECT_THAT(model.CheckStates(InStates({v1::ROUND_STATE_OPEN, v1::ROUND_STATE_ESTIMATING})),
              ::testing::HasSubstr("a state is skipped between open and estimating"));
  EXPECT_EQ(model.CheckStates(InStates({v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED})), "");
  EXPECT_THAT(model.CheckStates(InStates({v1::ROUND_STATE_OPEN})),
              ::testing::HasSubstr("its state went back from sealed to open"));
}

TEST(Model, RefusesASealOrARetryWithoutACause) {
  Model model;
  EXPECT_EQ(model.AddRound(InStates({v1::ROUND_STATE_OPEN})), "");
  EXPECT_THAT(model.CheckStates(InStates({v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED})),
              ::testing::HasSubstr("before its deadline, with 0 of 20 reports"));
  model.Find(testing::kRoundId)->may_be_sealed = true;
  const std::vector<v1::RoundState> retried = {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_CANCELLED, v1::ROUND_STATE_SEALED};
  EXPECT_THAT(model.CheckStates(InStates(retried)), ::testing::HasSubstr("nobody asked for that"));
  model.Find(testing::kRoundId)->retries = 1;
  EXPECT_EQ(model.CheckStates(InStates(retried)), "");
}

TEST(Model, RefusesReportsThatAreLostOrWereNeverSent) {
  testing::ManualClock clock;
  SharedDatabase database(clock);
  SharedStore store(database);
  ASSERT_TRUE(store.CreateRound(testing::MakeRound(20), "").ok());
  const CheckedReport report = testing::MakeChecked(testing::MakeParameters(20), 7);
  Model model;
  EXPECT_EQ(model.AddRound(InStates({v1::ROUND_STATE_OPEN})), "");
  model.NoteSent(testing::kRoundId, 7, report.report);
  EXPECT_EQ(model.NoteAcknowledged(testing::kRoundId, 7, report.report.digest), "");
  const auto check = [&] { return model.CheckReports(*store.GetRound(testing::kRoundId), store); };
  EXPECT_THAT(check(), ::testing::HasSubstr("the acknowledged report of node 7 is lost"));
  ASSERT_TRUE(store.PutReportAndWait(report).ok());
  EXPECT_EQ(check(), "");
  ASSERT_TRUE(store.PutReportAndWait(testing::MakeChecked(testing::MakeParameters(20), 8)).ok());
  EXPECT_THAT(check(), ::testing::HasSubstr("the report of node 8 is none that it sent"));
  EXPECT_THAT(model.NoteAcknowledged(testing::kRoundId, 7, Digest{}), ::testing::HasSubstr("two different reports"));
}

// ---- the store that simulated aggregators share; store_conformance_test has what it shares with the real ones ----

TEST(SharedLease, IsOfOneAndIsTakenByAnotherAfterItsEnd) {
  testing::ManualClock clock;
  SharedDatabase database(clock);
  SharedStore a(database), b(database);
  a.RenewLease();
  b.RenewLease();
  const std::optional<uint64_t> first = a.GetLease();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(b.GetLease(), std::nullopt);
  clock.Advance(SharedDatabase::kLease * 4 / 5);
  EXPECT_EQ(a.GetLease(), std::nullopt) << "a fifth before the other one may have it";
  b.RenewLease();
  EXPECT_EQ(b.GetLease(), std::nullopt);
  clock.Advance(SharedDatabase::kLease / 5);
  b.RenewLease();
  ASSERT_TRUE(b.GetLease().has_value());
  EXPECT_GT(*b.GetLease(), *first);
}

TEST(SharedLease, LastsAsLongAsItIsRenewedAndNotWithoutADatabase) {
  testing::ManualClock clock;
  SharedDatabase database(clock);
  SharedStore a(database);
  a.RenewLease();
  const std::optional<uint64_t> lease = a.GetLease();
  for (int i = 0; i < 5; ++i) {
    clock.Advance(SharedDatabase::kLease / 2);
    a.RenewLease();
    EXPECT_EQ(a.GetLease(), lease);
  }
  a.SetReachable(false);
  clock.Advance(SharedDatabase::kLease);
  a.RenewLease();
  EXPECT_EQ(a.GetLease(), std::nullopt);
}

TEST(SharedLease, FencesOffWhoHasLostIt) {
  testing::ManualClock clock;
  SharedDatabase database(clock);
  SharedStore a(database), b(database);
  ASSERT_TRUE(a.CreateRound(testing::MakeRound(20), "").ok());
  a.RenewLease();
  const uint64_t old = *a.GetLease();
  clock.Advance(SharedDatabase::kLease);
  b.RenewLease();
  const auto seal = [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_SEALED);
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsAborted(a.UpdateRoundAsHolder(old, testing::kRoundId, {v1::ROUND_STATE_OPEN}, seal).status()));
  EXPECT_TRUE(b.UpdateRoundAsHolder(*b.GetLease(), testing::kRoundId, {v1::ROUND_STATE_OPEN}, seal).ok());
}

}  // namespace
}  // namespace blink::simulation
