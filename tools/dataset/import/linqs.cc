// NAME.content and NAME.cites of the LINQS group: an id, the features and the class; a cited and a citing paper.
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/table_fields.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/lines.h"

namespace blink {

absl::StatusOr<ImportedGraph> ReadLinqs(const Folder& folder) {
  BLINK_ASSIGN_OR_RETURN(const FolderFile* content_file, folder.FindByEnd(".content"));
  BLINK_ASSIGN_OR_RETURN(const FolderFile* cites_file, folder.FindByEnd(".cites"));
  const std::string content_name = folder.PathOf(*content_file), cites_name = folder.PathOf(*cites_file);
  BLINK_ASSIGN_OR_RETURN(const std::string content, folder.Read(*content_file));
  BLINK_ASSIGN_OR_RETURN(const std::string cites, folder.Read(*cites_file));
  const auto separators = absl::ByAnyChar("\t ");

  ImportedGraph graph;
  graph.format = "LINQS .content and .cites";
  graph.edges.table.name = cites_name;
  // Names, also where all are integers: so nodes keep the order of the file, and its rows theirs.
  graph.edges.ids = NodeIds(false);
  std::vector<std::string> classes;
  std::vector<int64_t> rows, columns;
  std::vector<float> values;
  size_t width = 0;
  Lines lines(content, content_name);
  while (lines.Next()) {
    const std::vector<absl::string_view> fields = absl::StrSplit(lines.line(), separators, absl::SkipEmpty());
    if (fields.empty()) continue;
    if (fields.size() < 3) return lines.Error("expected an id, the features and the class");
    if (width == 0) width = fields.size();
    if (fields.size() != width)
      return lines.Error(absl::StrCat("has ", fields.size(), " fields, while the first line has ", width));
    const size_t node = graph.edges.ids.size();
    if (node >= kNodesMax) return lines.Error(absl::StrCat("more than ", kNodesMax, " nodes"));
    if (const char* why = WhyNoName(fields.front()); why != nullptr) return lines.Error(absl::StrCat("the id ", why));
    graph.edges.ids.AddName(fields.front());
    if (graph.edges.ids.size() == node)
      return lines.Error(absl::StrCat("the node \"", fields.front().substr(0, 40), "\" stands twice: remove one"));
    for (size_t k = 1; k + 1 < width; ++k) {
      float value = 0;
      if (!absl::SimpleAtof(fields[k], &value) || !std::isfinite(value))
        return lines.Error(absl::StrCat("field ", k + 1, " is \"", fields[k].substr(0, 40), "\", which is no number"));
      if (value == 0) continue;
      rows.push_back(static_cast<int64_t>(node));
      columns.push_back(static_cast<int64_t>(k - 1));
      values.push_back(value);
    }
    classes.emplace_back(fields.back());
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(classes.size()),
                                      static_cast<int64_t>(width > 2 ? width - 2 : 0)};
  BLINK_ASSIGN_OR_RETURN(RowsOfEntries sparse, SparseRowsOfEntries(shape, rows, columns, values, content_name));
  BLINK_ASSIGN_OR_RETURN(graph.features.matrix, FeaturesOf(std::move(sparse), content_name));
  graph.features.rows.table.name = content_name;
  BLINK_ASSIGN_OR_RETURN(graph.labels, LabelsOf(classes, RowsOfAllNodes(graph.edges.ids, content_name), "class"));

  uint64_t unknown = 0;
  std::string first_unknown;
  Lines links(cites, cites_name);
  while (links.Next()) {
    const std::vector<absl::string_view> ends = absl::StrSplit(links.line(), separators, absl::SkipEmpty());
    if (ends.empty()) continue;
    if (ends.size() != 2) return links.Error("expected two ids");
    const std::optional<NodeIndex> a = graph.edges.ids.Find(ends[0]), b = graph.edges.ids.Find(ends[1]);
    if (a && b) {
      BLINK_RETURN_IF_ERROR(AddLink(*a, *b, graph.edges, cites_name));
    } else if (unknown++ == 0) {
      first_unknown = absl::StrCat("line ", links.number(), ", \"", a ? ends[1] : ends[0], "\"");
    }
  }
  if (unknown > 0 && graph.edges.table.lines == 0)
    return WrongFile(cites_name, absl::StrCat("no id of it is in ", content_name, ": are both of the same data set?"));
  if (unknown > 0) {
    graph.notes.push_back(absl::StrCat(cites_name, ": left out ", unknown, " links to papers that are not in ",
                                       content_name, " (the first: ", first_unknown.substr(0, 80), ")"));
  }
  return graph;
}

}  // namespace blink
