// Edge lists, plain or gzip. What is accepted is a simple graph, and written as plain numbers it reads as the same
// graph.
#include "absl/strings/str_cat.h"
#include "common/graph/dataset.h"
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

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  const std::string path = folder.Write("edges.csv", absl::string_view(reinterpret_cast<const char*>(data), size));
  const auto read = ReadEdgeList(path);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(read.status()));
    return 0;
  }
  const auto& [graph, report] = *read;
  FUZZ_CHECK(graph.node_count() >= 3);
  FUZZ_CHECK(graph.link_count() + report.self_loops_dropped + report.duplicates_dropped <= report.lines);
  FUZZ_CHECK(report.names.size() == (report.mapped ? graph.node_count() : 0));
  if (graph.node_count() > kNodesMax || !CheckGraph(graph)) return 0;
  const auto again = ReadEdgeList(folder.Write("again.csv", Csv(graph)));
  FUZZ_CHECK(again.ok() && !again->second.mapped);
  FUZZ_CHECK(again->first.neighbours() == graph.neighbours() && again->first.offsets() == graph.offsets());
  return 0;
}
