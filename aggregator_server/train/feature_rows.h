// Rows of the node features, made when they are asked for: no second copy of all of them is made. No LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_ROWS_H_

#include "absl/types/span.h"
#include "common/graph/csr_graph.h"
#include "common/graph/node_attributes.h"

namespace blink {

class FeatureRows {
 public:
  // `features` outlive it. `normalize`: rows are those of NormalizeFeatures(features), bit for bit; otherwise those of
  // `features`.
  FeatureRows(const FeatureMatrix& features, bool normalize);

  uint32_t cols() const { return features_.cols; }
  // Row k is that of nodes[k]. Sparse where the whole matrix would be.
  FeatureMatrix Gather(absl::Span<const NodeIndex> nodes) const;

 private:
  const FeatureMatrix& features_;
  const bool normalize_;
  const float minimum_;  // that is subtracted
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_ROWS_H_
