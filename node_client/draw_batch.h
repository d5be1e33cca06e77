// Some reports on their way from noise to bytes, on several threads.
//
//   DrawBatch batch(parameters, groups, threads);
//   batch.Draw(nodes, random_of)    all randomness; no list is in sight
//   batch.Apply(lists)              the only step that reads lists: an xor and an addition for each report
//   batch.Encode()                  reads the noisy bits alone, which are sent anyway
//
// The steps do not overlap, so each can be timed by itself. The time of Draw depends on the noise, and that of Apply on
// the lists: both are hidden (pacing.h).
#ifndef BLINK_NODE_CLIENT_DRAW_BATCH_H_
#define BLINK_NODE_CLIENT_DRAW_BATCH_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/random_source.h"
#include "common/wire/report_codec.h"
#include "node_client/adjacency.h"

namespace blink {

// The source for the noise of a node. With more than one thread it is called at any time on any of them, and what it
// returns is used by one thread at a time only if no two nodes share it. SecureRandom() may be shared: OpenSSL keeps a
// generator for each thread, and seeds each of them by itself.
using RandomOfNode = absl::FunctionRef<RandomSource&(NodeIndex node)>;

class DrawBatch {
 public:
  // `groups`: those that the parameters name, or null. Both must outlive the batch.
  DrawBatch(const PrivacyParameters& parameters, const NodeGroups* groups, int threads)
      : parameters_(parameters), groups_(groups), threads_(threads) {}

  // How many reports a batch has at most: rows of 8 MiB together, and at least one for each thread.
  static size_t RowsMax(uint32_t node_count, int threads);

  // Each step returns the first error in the order of the nodes. The step after an error must not be called.
  absl::Status Draw(std::vector<NodeIndex> nodes, RandomOfNode random_of);
  absl::Status Apply(const AdjacencyLists& lists);
  absl::Status Encode();

  const std::vector<NodeIndex>& nodes() const { return nodes_; }
  const CodedReport& report(size_t row) const { return *coded_[row]; }

 private:
  void ForEachRow(absl::FunctionRef<void(size_t row)> work) const;

  const PrivacyParameters& parameters_;
  const NodeGroups* const groups_;
  const int threads_;
  std::vector<NodeIndex> nodes_;
  // [nodes_.size()] each, once its step is done
  std::vector<absl::StatusOr<ReportNoise>> noise_;
  std::vector<absl::StatusOr<PrivateReport>> noisy_;
  std::vector<absl::StatusOr<CodedReport>> coded_;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_DRAW_BATCH_H_
