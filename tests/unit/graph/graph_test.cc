#include <gtest/gtest.h>

#include "common/graph/csr_graph.h"
#include "common/graph/node_attributes.h"
#include "common/privacy/bit_row.h"

namespace blink {
namespace {

std::vector<NodeIndex> Neighbours(const CsrGraph& graph, NodeIndex i) {
  return {graph.NeighboursOf(i).begin(), graph.NeighboursOf(i).end()};
}

TEST(CsrGraph, StoresBothDirectionsInOrder) {
  const auto graph = CsrGraph::FromLinks(5, {{3, 1}, {1, 0}, {1, 3}, {4, 1}, {3, 1}});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->link_count(), 3u);
  EXPECT_EQ(Neighbours(*graph, 1), (std::vector<NodeIndex>{0, 3, 4}));
  EXPECT_EQ(Neighbours(*graph, 3), (std::vector<NodeIndex>{1}));
  EXPECT_EQ(graph->DegreeOf(2), 0u);
  EXPECT_TRUE(graph->HasLink(4, 1));
  EXPECT_FALSE(graph->HasLink(4, 3));
}

TEST(CsrGraph, IsEmptyWithoutNodes) {
  EXPECT_EQ(CsrGraph().node_count(), 0u);
  EXPECT_EQ(CsrGraph::FromLinks(0, {})->node_count(), 0u);
}

TEST(CsrGraph, RefusesASelfLoop) {
  EXPECT_EQ(CsrGraph::FromLinks(5, {{2, 2}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CsrGraph, RefusesAnEndOutOfRange) {
  EXPECT_EQ(CsrGraph::FromLinks(5, {{2, 5}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(BitRow, CountsAndVisitsOnes) {
  BitRow row(130);
  for (const uint32_t j : {0u, 63u, 64u, 129u}) row.Set(j);
  row.Flip(64);
  std::vector<uint32_t> ones;
  row.ForEachOne([&](uint32_t j) { ones.push_back(j); });
  EXPECT_EQ(ones, (std::vector<uint32_t>{0, 63, 129}));
  EXPECT_EQ(row.Count(), 3u);
  row.mutable_words()[2] = ~uint64_t{0};
  row.ClearTail();
  EXPECT_EQ(row.Count(), 4u);
}

TEST(KeepFirstNodes, KeepsTheirRowsAloneInBothForms) {
  NodeAttributes attributes{
      .node_count = 3, .labels = {0, 1, 0}, .split = {Split::kTrain, Split::kTest, Split::kNone}, .class_count = 2};
  attributes.features = {.rows = 3,
                         .cols = 2,
                         .sparse = true,
                         .row_offsets = {0, 1, 3, 4},
                         .columns = {1, 0, 1, 0},
                         .values = {1, 2, 3, 4}};
  const NodeAttributes sparse = KeepFirstNodes(attributes, 2).value();
  EXPECT_EQ(sparse.node_count, 2u);
  EXPECT_EQ(sparse.features.rows, 2u);
  EXPECT_EQ(sparse.features.row_offsets, (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(sparse.features.values, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(sparse.labels, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(sparse.split.size(), 2u);
  attributes.features = {.rows = 3, .cols = 2, .values = {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(KeepFirstNodes(attributes, 2)->features.values, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(KeepFirstNodes(attributes, 3)->labels, attributes.labels);
}

TEST(KeepFirstNodes, RefusesMoreThanThereAre) {
  EXPECT_EQ(KeepFirstNodes(NodeAttributes{.node_count = 3}, 4).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NormalizeFeatures, DividesByTheRowSumButNotByLessThanOne) {
  const FeatureMatrix features{
      .rows = 3, .cols = 3, .sparse = true, .row_offsets = {0, 2, 3, 3}, .columns = {0, 2, 1}, .values = {1, 3, 0.5}};
  const FeatureMatrix normal = NormalizeFeatures(features);
  EXPECT_TRUE(normal.sparse);
  EXPECT_EQ(normal.values, (std::vector<float>{0.25, 0.75, 0.5}));
}

TEST(NormalizeFeatures, SubtractsTheMinimumOfADenseMatrix) {
  const FeatureMatrix features{.rows = 2, .cols = 2, .values = {-1, 1, 3, -1}};
  EXPECT_EQ(NormalizeFeatures(features).values, (std::vector<float>{0, 1, 1, 0}));
}

TEST(NormalizeFeatures, MakesASparseMatrixWithNegativesDense) {
  const FeatureMatrix features{
      .rows = 2, .cols = 2, .sparse = true, .row_offsets = {0, 1, 2}, .columns = {0, 1}, .values = {-1, 2}};
  const FeatureMatrix normal = NormalizeFeatures(features);
  EXPECT_FALSE(normal.sparse);
  EXPECT_EQ(normal.values, (std::vector<float>{0, 1, 0.25, 0.75}));
}

TEST(NormalizeFeatures, LeavesAnEmptyMatrixEmpty) {
  EXPECT_TRUE(NormalizeFeatures(FeatureMatrix{.rows = 4}).values.empty());
}

TEST(CsrGraph, TakesRowsThatAreReady) {
  const auto graph = CsrGraph::FromRows({0, 1, 3, 4}, {1, 0, 2, 1});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto same = CsrGraph::FromLinks(3, {{0, 1}, {1, 2}});
  EXPECT_TRUE(graph->offsets() == same->offsets());
  EXPECT_TRUE(graph->neighbours() == same->neighbours());
}

TEST(CsrGraph, RefusesRowsThatAreNone) {
  for (const auto& [offsets, neighbours] : std::vector<std::pair<std::vector<uint64_t>, std::vector<NodeIndex>>>{
           {{}, {}},                      // no end of the last row
           {{0, 1}, {0}},                 // a self-loop
           {{0, 1, 2}, {1, 2}},           // an end that is not below n
           {{0, 2, 3, 4}, {2, 1, 0, 0}},  // not ascending
           {{0, 2, 1, 2}, {1, 2}},        // ends before it begins
           {{0, 9, 1, 2}, {1, 0}},        // leaves the neighbours
           {{1, 1, 2}, {1, 0}}}) {
    EXPECT_EQ(CsrGraph::FromRows(offsets, neighbours).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace blink
