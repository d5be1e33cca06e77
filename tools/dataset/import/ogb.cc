// A node-classification data set of OGB, as its raw folder has it: CSV without headers, gzip or plain.
//
//   edge.csv              two nodes a row
//   num-node-list.csv     the number of nodes, one row
//   node-feat.csv         optional: the features of a node a row
//   node-label.csv        optional: one label a row, nan where it is unknown
//   split/NAME/train.csv, valid.csv, test.csv     optional: one node a row
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/lines.h"

namespace blink {
namespace {

class OgbReader {
 public:
  explicit OgbReader(const Folder& folder) : folder_(folder) {}

  absl::StatusOr<ImportedGraph> Read() {
    graph_.format = "a data set of OGB";
    if (folder_.Find("triplet-type-list.csv") != nullptr || folder_.Find("num-node-dict.csv") != nullptr)
      return WrongFile(folder_.path(), "holds nodes of several types, which blink does not know: export one type");
    BLINK_RETURN_IF_ERROR(ReadCount());
    BLINK_RETURN_IF_ERROR(ReadLinks());
    BLINK_RETURN_IF_ERROR(ReadFeatures());
    BLINK_RETURN_IF_ERROR(ReadLabels());
    BLINK_RETURN_IF_ERROR(ReadSplit());
    return std::move(graph_);
  }

 private:
  using Fields = std::vector<absl::string_view>;
  // Calls `use` for each row that is not empty.
  absl::Status ForEachRow(const FolderFile& file, const std::function<absl::Status(Lines&, const Fields&)>& use) {
    BLINK_ASSIGN_OR_RETURN(const std::string text, folder_.Read(file));
    const std::string name = folder_.PathOf(file);
    Lines lines(text, name);
    while (lines.Next()) {
      if (lines.line().empty()) continue;
      BLINK_RETURN_IF_ERROR(use(lines, absl::StrSplit(lines.line(), ',')));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<NodeIndex> NodeOf(const Lines& lines, absl::string_view field) const {
    uint32_t node = 0;
    if (!absl::SimpleAtoi(field, &node) || node >= nodes_)
      return lines.Error(absl::StrCat("\"", field.substr(0, 40), "\" is no node from 0 to ", nodes_ - 1));
    return node;
  }

  absl::Status ReadCount() {
    const FolderFile* file = folder_.Find("num-node-list.csv");
    uint64_t rows = 0;
    BLINK_RETURN_IF_ERROR(ForEachRow(*file, [&](Lines& lines, const Fields& fields) -> absl::Status {
      if (++rows > 1) return lines.Error("a second graph: blink reads data sets of one graph (ogbn-*)");
      if (!absl::SimpleAtoi(fields[0], &nodes_) || nodes_ > kNodesMax || nodes_ == 0)
        return lines.Error(absl::StrCat("\"", fields[0].substr(0, 40), "\" is no number of nodes up to ", kNodesMax));
      return absl::OkStatus();
    }));
    if (rows == 0) return WrongFile(folder_.PathOf(*file), "holds no number of nodes");
    graph_.edges.ids = NumberedNodes(nodes_);
    return absl::OkStatus();
  }

  absl::Status ReadLinks() {
    const FolderFile* file = folder_.Find("edge.csv");
    graph_.edges.table.name = folder_.PathOf(*file);
    return ForEachRow(*file, [&](Lines& lines, const Fields& fields) -> absl::Status {
      if (fields.size() != 2) return lines.Error("expected two nodes");
      BLINK_ASSIGN_OR_RETURN(const NodeIndex a, NodeOf(lines, fields[0]));
      BLINK_ASSIGN_OR_RETURN(const NodeIndex b, NodeOf(lines, fields[1]));
      return AddLink(a, b, graph_.edges, graph_.edges.table.name);
    });
  }

  absl::Status CheckRows(const FolderFile& file, size_t rows) const {
    if (rows == nodes_) return absl::OkStatus();
    return WrongFile(folder_.PathOf(file), absl::StrCat("has ", rows, " rows for ", nodes_, " nodes: one row a node"));
  }

  absl::Status ReadFeatures() {
    const FolderFile* file = folder_.Find("node-feat.csv");
    if (file == nullptr) return absl::OkStatus();
    FeatureMatrix& matrix = graph_.features.matrix;
    BLINK_RETURN_IF_ERROR(ForEachRow(*file, [&](Lines& lines, const Fields& fields) -> absl::Status {
      if (matrix.rows == 0) matrix.cols = static_cast<uint32_t>(fields.size());
      if (fields.size() != matrix.cols)
        return lines.Error(absl::StrCat("has ", fields.size(), " features, the first row ", matrix.cols));
      if (++matrix.rows > nodes_) return lines.Error(absl::StrCat("more rows than the ", nodes_, " nodes"));
      for (const absl::string_view field : fields) {
        float value = 0;
        if (!absl::SimpleAtof(field, &value) || !std::isfinite(value))
          return lines.Error(absl::StrCat("\"", field.substr(0, 40), "\" is no finite number"));
        matrix.values.push_back(value);
      }
      return absl::OkStatus();
    }));
    graph_.features.rows.table.name = folder_.PathOf(*file);
    const auto zeros = std::count(matrix.values.begin(), matrix.values.end(), 0.0f);
    if (static_cast<size_t>(zeros) * 2 > matrix.values.size()) matrix = ToSparse(matrix);
    return CheckRows(*file, matrix.rows);
  }

  absl::Status ReadLabels() {
    const FolderFile* file = folder_.Find("node-label.csv");
    if (file == nullptr) return absl::OkStatus();
    std::vector<std::string> labels;
    BLINK_RETURN_IF_ERROR(ForEachRow(*file, [&](Lines& lines, const Fields& fields) -> absl::Status {
      if (fields.size() != 1)
        return lines.Error(absl::StrCat("has ", fields.size(),
                                        " labels, but blink takes one class a node; keep one "
                                        "column, or remove the file"));
      labels.emplace_back(fields[0]);
      return absl::OkStatus();
    }));
    BLINK_RETURN_IF_ERROR(CheckRows(*file, labels.size()));
    BLINK_ASSIGN_OR_RETURN(graph_.labels,
                           LabelsOf(labels, RowsOfAllNodes(graph_.edges.ids, folder_.PathOf(*file)), "label"));
    return absl::OkStatus();
  }

  absl::Status ReadSplit() {
    std::vector<int64_t> parts[3];
    const char* const names[] = {"train.csv", "valid.csv", "test.csv"};
    std::string found_name;
    for (int k = 0; k < 3; ++k) {
      const FolderFile* found = nullptr;
      for (const FolderFile& file : folder_.files()) {
        if (!absl::StartsWith(file.name, "split/")) continue;
        if (!absl::EndsWith(file.name, absl::StrCat("/", names[k])) &&
            !absl::EndsWith(file.name, absl::StrCat("/", names[k], ".gz")))
          continue;
        if (found != nullptr)
          return WrongFile(folder_.path(), absl::StrCat("holds several splits (", found->name, ", ", file.name,
                                                        "): remove the folder of the one that is not meant"));
        found = &file;
      }
      if (found == nullptr) continue;
      found_name = folder_.PathOf(*found);
      BLINK_RETURN_IF_ERROR(ForEachRow(*found, [&](Lines& lines, const Fields& fields) -> absl::Status {
        BLINK_ASSIGN_OR_RETURN(const NodeIndex node, NodeOf(lines, fields[0]));
        parts[k].push_back(node);
        return absl::OkStatus();
      }));
    }
    if (found_name.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(graph_.split,
                           SplitOf(parts[0], parts[1], parts[2], RowsOfAllNodes(graph_.edges.ids, found_name)));
    return absl::OkStatus();
  }

  const Folder& folder_;
  uint32_t nodes_ = 0;
  ImportedGraph graph_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadOgb(const Folder& folder) { return OgbReader(folder).Read(); }

}  // namespace blink
