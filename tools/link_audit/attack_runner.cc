#include "tools/link_audit/attack_runner.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "common/base/run_on_threads.h"
#include "tools/link_audit/measures.h"

namespace blink {
namespace {

AttackResult RunAttack(const PlannedAttack& planned, const CsrGraph& truth) {
  AttackResult result{.kind = planned.kind, .name = planned.attack->name()};
  DensityCut cut;
  for (size_t group = 0; group < kGroups; ++group) {
    const PairsTaken taken =
        group == kEveryNode && planned.rows->every_pair ? PairsTaken::kOnce : PairsTaken::kOfEachRow;
    const SortedScores scores(ScorePairs(*planned.attack, truth, planned.rows->rows[group], taken));
    if (group == kEveryNode) cut = scores.CutAtDensity();
    result.groups[group] = scores.Measure(cut);
  }
  return result;
}

}  // namespace

std::vector<NodeIndex> GroupRows::AllRows() const {
  std::vector<NodeIndex> all;
  for (const std::vector<NodeIndex>& of_group : rows) {
    std::vector<NodeIndex> both;
    std::set_union(all.begin(), all.end(), of_group.begin(), of_group.end(), std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

std::optional<uint32_t> NodesToSample(uint32_t nodes) {
  const uint64_t rows = std::max<uint64_t>(1, kPairsOfGroupMax / nodes);
  return rows >= nodes ? std::nullopt : std::optional<uint32_t>(static_cast<uint32_t>(rows));
}

GroupRows ChooseRows(const std::array<NodeGroup, kGroups>& groups, std::optional<uint32_t> sampled_nodes,
                     uint64_t seed) {
  GroupRows chosen{.every_pair = !sampled_nodes.has_value()};
  for (size_t group = 0; group < kGroups; ++group) {
    const std::vector<NodeIndex>& nodes = groups[group].nodes;
    chosen.rows[group] = sampled_nodes ? SampleNodes(nodes, *sampled_nodes, seed * kGroups + group) : nodes;
  }
  return chosen;
}

std::vector<AttackResult> RunAttacks(const std::vector<PlannedAttack>& attacks, const CsrGraph& truth, int threads) {
  std::vector<AttackResult> results(attacks.size());
  std::atomic<size_t> next = 0;
  const int used = std::min(ThreadsOrCores(threads), static_cast<int>(attacks.size()));
  RunOnThreads(used, [&](int) {
    for (size_t k = next++; k < attacks.size(); k = next++) results[k] = RunAttack(attacks[k], truth);
  });
  return results;
}

}  // namespace blink
