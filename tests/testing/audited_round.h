// Reports of a whole round, drawn with the shipped functions and a seed, for the tests of audits. NOT PRIVATE.
#ifndef BLINK_TESTS_TESTING_AUDITED_ROUND_H_
#define BLINK_TESTS_TESTING_AUDITED_ROUND_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "aggregator_server/reports/report_set.h"
#include "common/privacy/privatizer.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tools/audit/round_audit.h"

namespace blink {

using Lists = std::vector<std::vector<NodeIndex>>;  // [n], each ascending

// Symmetric lists of about `mean_degree` links each.
inline Lists RandomLists(uint32_t n, double mean_degree, uint64_t seed) {
  std::mt19937_64 engine(seed);
  Lists lists(n);
  const auto links = static_cast<uint64_t>(mean_degree * n / 2);
  for (uint64_t l = 0; l < links; ++l) {
    const auto i = static_cast<NodeIndex>(engine() % n), j = static_cast<NodeIndex>(engine() % n);
    if (i == j || std::find(lists[i].begin(), lists[i].end(), j) != lists[i].end()) continue;
    lists[i].push_back(j);
    lists[j].push_back(i);
  }
  for (auto& list : lists) std::sort(list.begin(), list.end());
  return lists;
}

// Spoils the noise of a node before it is applied, or the report afterwards.
struct RoundFaults {
  std::function<void(NodeIndex node, const std::vector<NodeIndex>& list, ReportNoise& noise, RandomSource& random)>
      noise;
  std::function<void(NodeIndex node, const std::vector<NodeIndex>& list, PrivateReport& report)> report;
};

inline ReportSet DrawRound(const PrivacyParameters& parameters, const Lists& lists, uint64_t seed,
                           const RoundFaults& faults = {}) {
  SeededRandom random(seed);
  ReportSet reports(parameters);
  for (NodeIndex node = 0; node < lists.size(); ++node) {
    ReportNoise noise = *DrawNoise(parameters, node, random);
    if (faults.noise) faults.noise(node, lists[node], noise, random);
    PrivateReport report = *ApplyNoise(parameters, node, std::move(noise), lists[node]);
    if (faults.report) faults.report(node, lists[node], report);
    EXPECT_TRUE(reports.Add(node, std::move(report)).ok());
  }
  return reports;
}

inline KnownLists KnownOf(const Lists& lists) {
  KnownLists known(static_cast<uint32_t>(lists.size()));
  for (NodeIndex node = 0; node < lists.size(); ++node) EXPECT_TRUE(known.Add(node, lists[node]).ok());
  return known;
}

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_AUDITED_ROUND_H_
