#include "aggregator_server/train/feature_rows.h"

#include <gtest/gtest.h>

#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

// Rows of the whole matrix, cut out of it.
void ExpectRowsOf(const FeatureMatrix& whole, const FeatureRows& rows, const std::vector<NodeIndex>& nodes) {
  const FeatureMatrix gathered = rows.Gather(nodes);
  ASSERT_EQ(gathered.rows, nodes.size());
  ASSERT_EQ(gathered.cols, whole.cols);
  ASSERT_EQ(gathered.sparse, whole.sparse);
  size_t at = 0;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const int64_t begin = whole.sparse ? whole.row_offsets[nodes[k]] : int64_t{nodes[k]} * whole.cols;
    const int64_t end = whole.sparse ? whole.row_offsets[nodes[k] + 1] : begin + whole.cols;
    if (whole.sparse) {
      EXPECT_EQ(gathered.row_offsets[k + 1] - gathered.row_offsets[k], end - begin);
    }
    for (int64_t place = begin; place < end; ++place, ++at) {
      if (whole.sparse) {
        EXPECT_EQ(gathered.columns[at], whole.columns[place]);
      }
      EXPECT_EQ(gathered.values[at], whole.values[place]) << "bit for bit";
    }
  }
  EXPECT_EQ(at, gathered.values.size());
}

TEST(FeatureRows, AreThoseOfTheNormalisedMatrixBitForBit) {
  const FeatureMatrix words = testing::SmallDataset(50).attributes.features;
  FeatureMatrix negative = words, full{.rows = 50, .cols = 2, .sparse = true, .row_offsets = {0}};
  negative.values[17] = -0.5f;  // becomes dense
  for (uint32_t i = 0; i < 50; ++i) {
    for (const int32_t column : {0, 1}) {
      full.columns.push_back(column);
      full.values.push_back(3.0f + static_cast<float>(i + column));  // no zero: its minimum is 3
    }
    full.row_offsets.push_back(static_cast<int64_t>(full.columns.size()));
  }
  for (const FeatureMatrix& features : {words, negative, full, ToDense(words), ToDense(negative)}) {
    const FeatureRows normalised(features, /*normalize=*/true), plain(features, /*normalize=*/false);
    for (const std::vector<NodeIndex>& nodes : {std::vector<NodeIndex>{}, {0}, {49, 3, 4, 17}}) {
      ExpectRowsOf(NormalizeFeatures(features), normalised, nodes);
      ExpectRowsOf(features, plain, nodes);
    }
  }
}

TEST(FeatureRows, OfNothingAreEmpty) {
  const FeatureMatrix empty{.rows = 3, .cols = 4, .sparse = true, .row_offsets = {0, 0, 0, 0}};
  EXPECT_TRUE(FeatureRows(empty, true).Gather({2, 1}).values.empty());
}

}  // namespace
}  // namespace blink
