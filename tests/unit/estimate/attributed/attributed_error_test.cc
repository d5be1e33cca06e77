// That the attributed prior is worth having: on a graph whose links follow the features its error is below that of the
// beta-model from the same reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

ReportSet Draw(const CsrGraph& graph, uint64_t epsilon_micro, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
  const uint32_t n = graph.node_count();
  ReportSet reports(*PrivacyParameters::Create(epsilon_micro, 50'000, n));
  const PrivacyParameters& parameters = reports.parameters();
  for (NodeIndex i = 0; i < n; ++i) {
    PrivateReport report{BitRow(n), std::nullopt};
    for (const NodeIndex j : graph.NeighboursOf(i)) report.bits.Set(j);
    for (NodeIndex j = 0; j < n; ++j) {
      if (j != i && uniform() < parameters.flip_probability()) report.bits.Flip(j);
    }
    const double noise = -std::log(1 - uniform()) / parameters.epsilon_degree() * (uniform() < 0.5 ? -1 : 1);
    report.noisy_degree = graph.DegreeOf(i) + std::llround(noise);
    EXPECT_TRUE(reports.Add(i, std::move(report)).ok());
  }
  return reports;
}

struct Known {
  explicit Known(const Dataset& dataset) : profiles(MakeNodeProfiles(dataset.attributes.features, 2)) {
    const uint32_t n = dataset.graph.node_count(), class_count = dataset.attributes.class_count;
    classes = {n, class_count, {}, {}};  // half of the labels are known, and nothing of the others
    for (NodeIndex i = 0; i < n; ++i) {
      for (uint32_t c = 0; c < class_count; ++c) {
        classes.open.push_back(1.0f / static_cast<float>(class_count));
        const bool known = dataset.attributes.split[i] == Split::kTrain;
        const bool own = dataset.attributes.labels[i] == static_cast<int32_t>(c);
        classes.clamped.push_back(known ? (own ? 1.0f : 0.0f) : classes.open.back());
      }
    }
  }
  NodeProfiles profiles;
  ClassProbabilities classes;
};

// One draw for each budget. The ratio of the errors varies by a few percent between draws, and the bounds stand off
// from what was seen (0.65 and 0.8) by several times that; the seeds are fixed.
TEST(AttributedError, IsBelowThatOfTheBetaModel) {
  const Dataset dataset = *GenerateDataset({.nodes = 900, .classes = 5, .mean_degree = 6, .features = 300});
  const Known known(dataset);
  for (const uint64_t epsilon_micro : {1'000'000u, 3'000'000u}) {
    const ReportSet reports = Draw(dataset.graph, epsilon_micro, 1);
    const auto beta = EstimateLinks(reports, {.threads = 2, .truth = &dataset.graph});
    const auto attributed =
        EstimateAttributed(reports, known.profiles, known.classes, {.threads = 2, .truth = &dataset.graph});
    ASSERT_TRUE(beta.ok() && attributed.ok());
    EXPECT_LT(attributed->BestGuess().mae, 0.9 * beta->mae) << epsilon_micro;
    RecordProperty("ratio_" + std::to_string(epsilon_micro), std::to_string(attributed->BestGuess().mae / beta->mae));
  }
}

// Five draws each, fixed seeds. At such budgets neither prior can know how many links there are; but before the
// constant had a ridge most such draws ended at a graph without a link, with a log-likelihood a hundred times that of
// the beta-model (now up to 4).
TEST(AttributedError, DoesNotRunAwayWhereTheBitsSayNextToNothing) {
  const Dataset dataset = *GenerateDataset({.nodes = 600, .classes = 4, .mean_degree = 8, .features = 200});
  const Known known(dataset);
  const auto true_links = static_cast<double>(dataset.graph.link_count());
  for (const uint64_t epsilon_micro : {10'000u, 50'000u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const ReportSet reports = Draw(dataset.graph, epsilon_micro, seed);
      const auto attributed =
          EstimateAttributed(reports, known.profiles, known.classes, {.threads = 2, .truth = &dataset.graph});
      ASSERT_TRUE(attributed.ok());
      const auto beta = EstimateLinks(reports, {.threads = 2, .truth = &dataset.graph});
      ASSERT_TRUE(beta.ok());
      EXPECT_GT(attributed->BestGuess().expected_links, true_links / 50) << epsilon_micro << " " << seed;
      EXPECT_GT(attributed->BestGuess().quality->log_likelihood, 8 * beta->quality->log_likelihood)
          << epsilon_micro << " " << seed;
    }
  }
}

// One draw, and one node that sends a degree that no honest noise makes: the estimate must hardly notice.
TEST(AttributedError, IsNotDecidedByOneFalseDegree) {
  const Dataset dataset = *GenerateDataset({.nodes = 400, .classes = 4, .mean_degree = 6, .features = 200});
  const Known known(dataset);
  const auto estimate = [&](std::optional<int64_t> false_degree) {
    ReportSet reports = Draw(dataset.graph, 2'000'000, 3);
    if (false_degree) {
      PrivateReport report{BitRow(400), *false_degree};
      const absl::Span<const uint64_t> words = reports.row(7);
      std::copy(words.begin(), words.end(), report.bits.mutable_words().begin());
      reports.Drop(7);
      EXPECT_TRUE(reports.Add(7, std::move(report)).ok());
    }
    return EstimateAttributed(reports, known.profiles, known.classes, {.threads = 2, .truth = &dataset.graph})
        ->BestGuess();
  };
  const LinkPosterior honest = estimate(std::nullopt);
  for (const int64_t degree : {int64_t{-1'000'000'000}, int64_t{100'000}, int64_t{1'000'000'000},
                               std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const LinkPosterior lied = estimate(degree);
    EXPECT_NEAR(lied.expected_links, honest.expected_links, 0.25 * honest.expected_links) << degree;
    EXPECT_LT(lied.mae, 1.15 * honest.mae) << degree;
  }
}

// Links by preferential attachment, of which most close a triangle (Holme and Kim, "Growing scale-free networks with
// tunable clustering", 2002): hubs with many links, and neighbours who know each other.
CsrGraph HubsAndTriangles(uint32_t n, uint32_t links_each, double closing, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::pair<NodeIndex, NodeIndex>> links;
  std::vector<NodeIndex> ends;  // each node as often as it has links
  std::vector<std::vector<NodeIndex>> neighbours(n);
  const auto link = [&](NodeIndex i, NodeIndex j) {
    if (i == j || !links.insert({std::min(i, j), std::max(i, j)}).second) return;
    for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
      ends.push_back(from);
      neighbours[from].push_back(to);
    }
  };
  for (NodeIndex i = 0; i <= links_each; ++i) link(i, (i + 1) % (links_each + 1));
  for (NodeIndex i = links_each + 1; i < n; ++i) {
    NodeIndex last = ends[random() % ends.size()];
    link(i, last);
    for (uint32_t k = 1; k < links_each; ++k) {
      const bool close = (random() >> 11) * 0x1p-53 < closing;
      last = close ? neighbours[last][random() % neighbours[last].size()] : ends[random() % ends.size()];
      link(i, last);
    }
  }
  return *CsrGraph::FromLinks(n, {links.begin(), links.end()});
}

// One draw of each graph, of which nothing but the reports is known. The bound on the links stands off from what was
// seen by more than twice the deviation between draws (0.03); the seeds are fixed.
TEST(AttributedError, ExpectsAsManyLinksAsThereAreWithHubsAndTriangles) {
  for (const uint64_t seed : {1, 2}) {
    const CsrGraph graph = HubsAndTriangles(800, 8, 0.8, seed);
    const uint32_t n = graph.node_count();
    const ClassProbabilities nothing{n, 1, std::vector<float>(n, 1.0f), std::vector<float>(n, 1.0f)};
    const ReportSet reports = Draw(graph, 3'000'000, seed);
    const auto attributed = EstimateAttributed(reports, {}, nothing, {.threads = 2, .truth = &graph});
    const auto beta = EstimateLinks(reports, {.threads = 2, .truth = &graph});
    ASSERT_TRUE(beta.ok() && attributed.ok());
    EXPECT_NEAR(attributed->BestGuess().expected_links / static_cast<double>(graph.link_count()), 1, 0.15) << seed;
    EXPECT_GT(attributed->BestGuess().quality->log_likelihood, beta->quality->log_likelihood) << seed;
    RecordProperty("expected_" + std::to_string(seed),
                   std::to_string(attributed->BestGuess().expected_links / static_cast<double>(graph.link_count())));
  }
}

}  // namespace
}  // namespace blink
