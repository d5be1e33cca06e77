// The pass over the pairs against its slow twin.
#include <gtest/gtest.h>

#include "aggregator_server/plausibility/detection_power.h"
#include "aggregator_server/plausibility/pair_disagreements.h"
#include "tests/unit/plausibility/fleet.h"

namespace blink {
namespace {

bool Bit(const ReportSet& reports, NodeIndex i, NodeIndex j) { return (reports.row(i)[j / 64] >> (j % 64)) & 1; }

TEST(CountDisagreements, CountsWhatALoopOverAllPairsCounts) {
  for (const uint32_t n : {3u, 64u, 65u, 600u, 1100u}) {
    const auto parameters = PrivacyParameters::Create(1'000'000, 0, n).value();
    SeededRandom random(n);
    ReportSet reports(parameters);
    BitRow witnesses(n);
    for (NodeIndex i = 0; i < n; ++i) {
      if (i % 7 == 4) continue;  // never reported
      ASSERT_TRUE(reports.Add(i, testing::Draw(parameters, i, {}, random)).ok());
      if (i % 5 != 1) witnesses.Set(i);
    }
    const PairDisagreements counts = CountDisagreements(reports, witnesses, 1);
    for (NodeIndex i = 0; i < n; ++i) {
      uint32_t unconfirmed = 0, omitted = 0;
      for (NodeIndex j = 0; j < n; ++j) {
        if (i == j || !reports.reported(i) || !witnesses.Test(j)) continue;
        unconfirmed += Bit(reports, i, j) && !Bit(reports, j, i);
        omitted += !Bit(reports, i, j) && Bit(reports, j, i);
      }
      ASSERT_EQ(counts.unconfirmed[i], unconfirmed) << n << ", node " << i;
      ASSERT_EQ(counts.omitted[i], omitted) << n << ", node " << i;
    }
    const PairDisagreements threaded = CountDisagreements(reports, witnesses, 3);
    EXPECT_EQ(threaded.unconfirmed, counts.unconfirmed);
    EXPECT_EQ(threaded.omitted, counts.omitted);
  }
}

TEST(CountDisagreements, HasNothingToCountWithoutBits) {
  const auto parameters = PrivacyParameters::Create(1'000'000, 1'000'000, 10).value();
  EXPECT_EQ(CountDisagreements(ReportSet(parameters), BitRow(10), 0).omitted, std::vector<uint32_t>(10, 0));
}

}  // namespace
}  // namespace blink
