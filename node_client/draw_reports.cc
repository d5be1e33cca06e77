#include "node_client/draw_reports.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr uint64_t kStagedBytes = 1 << 20;       // drawn reports held in memory before they go to the disk
constexpr uint64_t kMadeUpEntriesMax = 1 << 20;  // links of the lists that are made up, all together
constexpr int kMeasurements = 3;

// Lists of `nodes` nodes with so many links each, spread evenly.
AdjacencyLists MakeUpLists(NodeIndex first, uint32_t nodes, uint32_t links, uint32_t node_count) {
  AdjacencyLists lists{.first = first, .offsets = {0}, .neighbours = {}};
  lists.neighbours.reserve(uint64_t{nodes} * links);
  const uint64_t step = (node_count - 1) / links;
  for (uint64_t node = first; node < uint64_t{first} + nodes; ++node) {
    for (uint64_t k = 0; k < links; ++k) {
      lists.neighbours.push_back(static_cast<NodeIndex>((node + 1 + k * step) % node_count));
    }
    lists.offsets.push_back(lists.neighbours.size());
  }
  return lists;
}

}  // namespace

int DrawingThreads(const KitConfig& kit, int asked, uint64_t memory_bytes) {
  // A thread's stack, and its rows: the noise, the list, the noisy bits, their code and the journal's record.
  const uint64_t bytes = (1 << 20) + uint64_t{kit.node_count} / 8 * 5;
  const uint64_t room = std::max<uint64_t>(1, memory_bytes / 4 / bytes);
  return static_cast<int>(std::min<uint64_t>({static_cast<uint64_t>(ThreadsOrCores(asked)), kit.hosted(), room}));
}

std::optional<DrawFailure> DrawReports(const DrawTask& task, RandomOfNode random_of, HiddenWork& hidden_work,
                                       Journal& journal) {
  const PrivacyParameters& parameters = task.round.parameters;
  const KitConfig& config = task.kit.config;
  const uint32_t epoch = task.decision.epoch;
  bool epoch_is_staged = task.decision.begins_epoch;
  // The size of the snapshot depends on the number of links, and so does the time of all that is done to the journal
  // before it is committed.
  const auto with_journal = [&](absl::FunctionRef<void()> step) {
    if (epoch_is_staged) {
      hidden_work.Time(step);
    } else {
      step();
    }
  };
  const auto commit = [&]() -> std::optional<DrawFailure> {
    absl::Status committed;
    with_journal([&] { committed = journal.Commit(); });
    if (!committed.ok()) return DrawFailure{JournalExitCode(committed), committed};
    epoch_is_staged = false;
    return std::nullopt;
  };

  journal.StageClock(task.now);
  if (epoch_is_staged) with_journal([&] { journal.StageEpoch(epoch, task.now, task.kit.lists); });
  std::vector<NodeIndex> left;  // without a draw
  for (NodeIndex node = config.first_node; !task.decision.complete && node <= config.last_node; ++node) {
    if (!journal.FindDraw(epoch, parameters, node).has_value()) left.push_back(node);
  }
  const size_t rows_max = DrawBatch::RowsMax(parameters.node_count(), task.threads);
  uint64_t other_bytes = journal.staged_bytes();  // the clock and the snapshot, which is no reason to commit early
  DrawBatch batch(parameters, task.groups, task.threads);
  for (auto next = left.begin(); next != left.end();) {
    const auto end = next + static_cast<ptrdiff_t>(std::min<size_t>(rows_max, left.end() - next));
    absl::Status status;
    hidden_work.Time([&] {
      status = batch.Draw({next, end}, random_of);
      if (status.ok()) status = batch.Apply(epoch_is_staged ? task.kit.lists : journal.snapshot());
    });
    if (status.ok()) status = batch.Encode();
    if (!status.ok()) {
      journal.DiscardStaged();
      return DrawFailure{ExitCode::kInternal, status};
    }
    next = end;
    with_journal([&] {
      for (size_t row = 0; row < batch.nodes().size(); ++row) {
        journal.StageDraw(epoch, parameters, batch.nodes()[row], batch.report(row));
      }
    });
    if (journal.staged_bytes() - other_bytes >= kStagedBytes) {
      if (auto failure = commit()) return failure;
      other_bytes = 0;
    }
  }
  with_journal([&] { journal.StageRound(task.round.round_id, epoch, parameters); });
  return commit();
}

absl::StatusOr<absl::Duration> MeasureHiddenWork(const DrawTask& task, Clock& clock, Journal& journal) {
  const KitConfig& config = task.kit.config;
  const PrivacyParameters& parameters = task.round.parameters;
  if (task.decision.complete) return absl::ZeroDuration();
  const uint32_t hosted = config.hosted();
  const auto rows =
      static_cast<uint32_t>(std::min<size_t>(hosted, DrawBatch::RowsMax(parameters.node_count(), task.threads)));
  const uint32_t links = HiddenLinks(config);
  const auto made_up = static_cast<uint32_t>(std::clamp<uint64_t>(kMadeUpEntriesMax / rows, 1, links));
  const AdjacencyLists lists = MakeUpLists(config.first_node, rows, made_up, config.node_count);
  std::vector<NodeIndex> nodes;
  for (uint32_t row = 0; row < rows; ++row) nodes.push_back(config.first_node + row);

  DrawBatch batch(parameters, task.groups, task.threads);
  absl::Duration draw, apply, snapshot;  // the longest of some
  for (int i = 0; i < kMeasurements; ++i) {
    HiddenWork drawing(clock), applying(clock), writing(clock);
    absl::Status status;
    // Noise that is used for nothing else, and is of the system's own source, whatever the task's is.
    drawing.Time([&] { status = batch.Draw(nodes, [](NodeIndex) -> RandomSource& { return SecureRandom(); }); });
    BLINK_RETURN_IF_ERROR(status);
    applying.Time([&] { status = batch.Apply(lists); });
    BLINK_RETURN_IF_ERROR(status);
    if (task.decision.begins_epoch) {
      writing.Time([&] { journal.StageEpoch(task.decision.epoch, task.now, lists); });
      journal.DiscardStaged();
    }
    draw = std::max(draw, drawing.total());
    apply = std::max(apply, applying.total());
    snapshot = std::max(snapshot, writing.total());
  }
  const int64_t batches = (int64_t{hosted} + rows - 1) / rows;
  const absl::Duration lists_work = apply * batches + snapshot * (static_cast<double>(hosted) / rows);
  return draw * batches + lists_work * (static_cast<double>(links) / made_up);
}

}  // namespace blink
