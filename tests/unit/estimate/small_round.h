// Small rounds with hubs and silent nodes, for comparisons with dense twins.
#ifndef BLINK_TESTS_UNIT_ESTIMATE_SMALL_ROUND_H_
#define BLINK_TESTS_UNIT_ESTIMATE_SMALL_ROUND_H_

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"
#include "common/privacy/own_pairs.h"

namespace blink {

struct Round {
  CsrGraph truth;
  ReportSet reports;
};

// A random graph with hubs, reports drawn with the round's own p, and a share of the nodes silent. Of kOneEnd they are
// mirrored.
inline Round MakeRound(uint32_t n, uint64_t epsilon_micro, uint32_t share_ppm, double silent, uint64_t seed,
                       Mechanism mechanism = Mechanism::kBothEnds) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      if (uniform() < 6.0 / n / std::sqrt((i + 1.0) / n)) links.emplace_back(i, j);
    }
  }
  const PrivacyParameters parameters = *PrivacyParameters::Create(epsilon_micro, share_ppm, n, mechanism);
  const bool one_end = mechanism == Mechanism::kOneEnd;
  Round round{*CsrGraph::FromLinks(n, links), ReportSet(parameters)};
  for (NodeIndex i = 0; i < n; ++i) {
    const bool stays_silent = uniform() < silent;
    PrivateReport report;
    uint32_t own_links = 0;
    for (const NodeIndex j : round.truth.NeighboursOf(i)) own_links += one_end && OwnsPair(i, j);
    if (parameters.sends_bits() && one_end) {
      report.bits = BitRow(parameters.row_bits(i));
      for (uint32_t place = 0; place < report.bits.size(); ++place) {
        const bool linked = round.truth.HasLink(i, OwnPairAt(i, place));
        if (linked != (uniform() < parameters.flip_probability())) report.bits.Set(place);
      }
    } else if (parameters.sends_bits()) {
      report.bits = BitRow(n);
      for (NodeIndex j = 0; j < n; ++j) {
        if (j != i && (round.truth.HasLink(i, j) != (uniform() < parameters.flip_probability()))) report.bits.Set(j);
      }
    }
    if (parameters.sends_degree()) {
      const double noise = -std::log(1 - uniform()) / parameters.epsilon_degree() * (uniform() < 0.5 ? -1 : 1);
      report.noisy_degree = (one_end ? own_links : round.truth.DegreeOf(i)) + std::llround(noise);
    }
    if (stays_silent) continue;
    EXPECT_TRUE(round.reports.Add(i, std::move(report)).ok());
  }
  const absl::Status mirrored = one_end ? round.reports.Mirror() : absl::OkStatus();
  EXPECT_TRUE(mirrored.ok()) << mirrored;
  return round;
}

inline int BitOf(const ReportSet& reports, NodeIndex i, NodeIndex j) {
  return (reports.row(i)[j / 64] >> (j % 64)) & 1;
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ESTIMATE_SMALL_ROUND_H_
