#include "common/graph/dataset_digest.h"

#include "absl/types/span.h"

namespace blink {
namespace {

template <typename T>
void HashAll(absl::Span<const T> values, Sha256& hash) {
  hash.UpdateUint64(values.size()).Update({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

void HashAttributes(const NodeAttributes& attributes, Sha256& hash) {
  hash.UpdateUint64(attributes.node_count).UpdateUint64(attributes.class_count);
  hash.UpdateUint64(attributes.features.cols);
  HashAll<int64_t>(attributes.features.row_offsets, hash);
  HashAll<int32_t>(attributes.features.columns, hash);
  HashAll<float>(attributes.features.values, hash);
  HashAll<int32_t>(attributes.labels, hash);
  HashAll<Split>(attributes.split, hash);
}

}  // namespace

Digest DigestOfAttributes(const NodeAttributes& attributes) {
  Sha256 hash;
  hash.Update("blink attributes");
  HashAttributes(attributes, hash);
  return hash.Finish();
}

Digest DigestOfDataset(const Dataset& dataset) {
  Sha256 hash;
  hash.Update("blink data set");
  HashAll<uint64_t>(dataset.graph.offsets(), hash);
  HashAll<NodeIndex>(dataset.graph.neighbours(), hash);
  HashAttributes(dataset.attributes, hash);
  return hash.Finish();
}

}  // namespace blink
