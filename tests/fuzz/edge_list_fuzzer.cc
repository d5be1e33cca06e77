// Text tables, plain or gzip: the same bytes as links, labels, a split, ids and features. What is accepted as links is
// a simple graph, and written as plain numbers it reads as the same graph. What is accepted as another table has a
// value for each row.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/graph/csr_graph.h"
#include "common/graph/edge_list.h"
#include "common/graph/node_tables.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

constexpr uint32_t kNodesMax = 4096;  // larger graphs only cost time

// Returns whether every node has a link, so that the links alone tell n.
bool CheckGraph(const CsrGraph& graph) {
  bool linked = true;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    const auto list = graph.NeighboursOf(i);
    linked = linked && !list.empty();
    for (size_t k = 0; k < list.size(); ++k) {
      FUZZ_CHECK(list[k] < graph.node_count() && list[k] != i && (k == 0 || list[k - 1] < list[k]));
      FUZZ_CHECK(graph.HasLink(list[k], i));
    }
  }
  return linked;
}

std::string Csv(const CsrGraph& graph) {
  std::string text = "source,target\n";
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (i < j) absl::StrAppend(&text, i, ",", j, "\n");
    }
  }
  return text;
}

template <typename T>
bool Accepted(const absl::StatusOr<T>& read) {
  if (!read.ok()) FUZZ_CHECK(absl::IsInvalidArgument(read.status()));
  return read.ok();
}

void CheckTables(const std::string& path) {
  const TableOptions options;
  if (const auto labels = ReadLabelTable(path, options); Accepted(labels)) {
    FUZZ_CHECK(labels->labels.size() == labels->rows.ids.size() && !labels->labels.empty());
    for (const int32_t label : labels->labels) {
      FUZZ_CHECK(label >= -1 && label < 10'000);
      FUZZ_CHECK(labels->class_names.empty() || label < static_cast<int32_t>(labels->class_names.size()));
    }
  }
  if (const auto split = ReadSplitTable(path, options); Accepted(split)) {
    FUZZ_CHECK(split->parts.size() == split->rows.ids.size());
  }
  if (const auto ids = ReadIdTable(path, options); Accepted(ids)) FUZZ_CHECK(ids->ids.size() == ids->lines.size());
  for (const bool has_ids : {true, false}) {
    const auto features = ReadFeatureTable(path, options, has_ids);
    if (!Accepted(features)) continue;
    FUZZ_CHECK(features->rows.ids.empty() || features->rows.ids.size() == features->matrix.rows);
    for (const float value : features->matrix.values) FUZZ_CHECK(std::isfinite(value));
  }
}

// Nodes in the order of their ids, where these are integers.
CsrGraph GraphOf(EdgeList& list) {
  const std::vector<NodeIndex> number = list.ids.Sort();
  for (auto& [a, b] : list.links) a = number[a], b = number[b];
  const auto graph = CsrGraph::FromLinks(static_cast<uint32_t>(list.ids.size()), list.links);
  FUZZ_CHECK(graph.ok());
  return *graph;
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  const std::string path = folder.Write("edges.csv", absl::string_view(reinterpret_cast<const char*>(data), size));
  CheckTables(path);
  auto read = ReadEdgeList(path);
  if (!Accepted(read) || read->ids.size() > kNodesMax) return 0;
  FUZZ_CHECK(read->links.size() + read->self_loops_dropped <= read->table.lines);
  FUZZ_CHECK(read->table.comments + read->table.blank <= read->table.lines);
  const CsrGraph graph = GraphOf(*read);
  if (!CheckGraph(graph) || graph.node_count() == 0) return 0;
  auto again = ReadEdgeList(folder.Write("again.csv", Csv(graph)));
  FUZZ_CHECK(again.ok());
  const CsrGraph same = GraphOf(*again);
  FUZZ_CHECK(again->ids.AreNumbers());
  FUZZ_CHECK(same.neighbours() == graph.neighbours() && same.offsets() == graph.offsets());
  return 0;
}
