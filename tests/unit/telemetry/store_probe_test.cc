// Nobody who watches an aggregator waits for its store: what is told while it answers, hangs, and answers again.
#include "aggregator_server/telemetry/store_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/time/clock.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/unit/rounds/failing_store.h"

namespace blink {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::MakeRound;

class StoreProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = OpenRocksDbStore(folder_ / "store");
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = std::make_unique<FailingStore>(*std::move(opened));
    ASSERT_TRUE(store_->CreateRound(MakeRound(40), "", "").ok());
  }
  void TearDown() override {
    store_->Hang(false);  // the probe waits for its answer
    probe_.reset();
  }
  StoreProbe& Start() {
    probe_ = std::make_unique<StoreProbe>(*store_, folder_.path());
    return *probe_;
  }
  // How long a look takes.
  static absl::Duration TimeLook(StoreProbe& probe) {
    const absl::Time began = absl::Now();
    probe.Look();
    return absl::Now() - began;
  }

  testing::TempFolder folder_;
  std::unique_ptr<FailingStore> store_;
  std::unique_ptr<StoreProbe> probe_;
};

TEST_F(StoreProbeTest, TellsWhatTheStoreSaysWhenItIsAsked) {
  StoreProbe& probe = Start();
  ASSERT_TRUE(Eventually([&] { return probe.Look().rounds.open.size() == 1; }));
  EXPECT_TRUE(probe.Look().can_store.ok());
  EXPECT_TRUE(probe.Look().disk.has_value());
  EXPECT_LT(probe.Look().age, absl::Seconds(10));
  store_->SayOfReports(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_TRUE(Eventually([&] { return absl::IsResourceExhausted(probe.Look().can_store); }));
}

TEST_F(StoreProbeTest, NobodyWaitsForAStoreThatHangsAndItIsNotReady) {
  StoreProbe& probe = Start();
  ASSERT_TRUE(Eventually([&] { return probe.Look().rounds.open.size() == 1; }));
  store_->Hang(true);
  absl::Duration longest;
  const absl::Time began = absl::Now();
  ASSERT_TRUE(Eventually([&] {
    longest = std::max(longest, TimeLook(probe));
    return !probe.Look().can_store.ok();
  }));
  EXPECT_LT(absl::Now() - began, absl::Seconds(10)) << "found within a short time";
  EXPECT_LT(longest, absl::Seconds(1));
  EXPECT_EQ(probe.Look().can_store.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(probe.Look().can_store.message()), HasSubstr("has not answered"));
  EXPECT_EQ(probe.Look().rounds.by_state.at(v1::ROUND_STATE_OPEN), 1u) << "what it said last";
  EXPECT_GE(probe.Look().age, absl::FromChrono(StoreProbe::kHangsAfter));
}

TEST_F(StoreProbeTest, IsReadyAgainWhenTheStoreAnswers) {
  StoreProbe& probe = Start();
  store_->Hang(true);
  ASSERT_TRUE(Eventually([&] { return !probe.Look().can_store.ok(); }));
  ASSERT_TRUE(store_->CreateRound(MakeRound(40, kOtherRoundId), "", "").ok());
  store_->Hang(false);
  EXPECT_TRUE(Eventually([&] { return probe.Look().can_store.ok() && probe.Look().rounds.open.size() == 2; }));
  EXPECT_LT(probe.Look().age, absl::Seconds(10));
}

TEST_F(StoreProbeTest, RoundsThatCannotBeReadStayWhatTheyWere) {
  StoreProbe& probe = Start();
  ASSERT_TRUE(Eventually([&] { return probe.Look().rounds.open.size() == 1; }));
  store_->FailLooks(absl::UnavailableError("the database cannot be reached now"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const StoreProbe::Seen seen = probe.Look();
  EXPECT_EQ(seen.rounds.open.size(), 1u);
  EXPECT_EQ(seen.can_store.code(), absl::StatusCode::kUnavailable) << "an earlier answer may say that it is well";
  EXPECT_GE(seen.age, absl::Milliseconds(250));
}

TEST_F(StoreProbeTest, KnowsNothingOfAStoreThatHasNeverAnswered) {
  store_->Hang(true);
  StoreProbe& probe = Start();
  EXPECT_TRUE(probe.Look().rounds.by_state.empty());
  EXPECT_TRUE(Eventually([&] { return !probe.Look().can_store.ok(); }));
}

}  // namespace
}  // namespace blink
