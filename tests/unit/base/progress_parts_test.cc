#include "common/base/progress_parts.h"

#include <gtest/gtest.h>

#include <vector>

namespace blink {
namespace {

TEST(ProgressParts, SharesOneProgressByTheWeightsOfTheParts) {
  std::vector<double> told;
  ProgressParts parts([&](double fraction) { told.push_back(fraction); }, 1 + 3);
  const auto first = parts.Next(1), second = parts.Next(3);
  first(0);
  first(0.5);
  first(1);
  second(0.5);
  second(1);
  EXPECT_EQ(told, (std::vector<double>{0, 0.125, 0.25, 0.625, 1}));
}

TEST(ProgressParts, NeverGoesBackNorBeyondTheEnd) {
  std::vector<double> told;
  ProgressParts parts([&](double fraction) { told.push_back(fraction); }, 2);
  const auto part = parts.Next(1), beyond = parts.Next(3);
  part(0.5);
  part(0);  // begins again
  beyond(1);
  EXPECT_EQ(told, (std::vector<double>{0.25, 0.25, 1}));
}

TEST(ProgressParts, NeedsNobodyWhoListens) {
  ProgressParts parts(nullptr, 1);
  parts.Next(1)(0.5);
}

}  // namespace
}  // namespace blink
