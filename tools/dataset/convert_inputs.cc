#include "tools/dataset/convert_inputs.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/list_text.h"
#include "common/base/status_macros.h"
#include "common/graph/input.h"
#include "tools/dataset/import/import.h"

namespace blink {
namespace {

class InputReader {
 public:
  explicit InputReader(const ConvertOptions& options) : options_(options) {}

  absl::StatusOr<ConvertInputs> Read() {
    BLINK_RETURN_IF_ERROR(ReadInput());
    if (!inputs_.edges.sizes.empty()) {
      inputs_.notes.push_back(absl::StrCat(inputs_.edges.table.name, ": the first row (", inputs_.edges.sizes,
                                           ") holds the counts of what follows, and is no link"));
    }
    if (!options_.labels.empty()) {
      BLINK_ASSIGN_OR_RETURN(inputs_.labels, ReadLabelTable(options_.labels, Table(options_.label_columns)));
      Tell(inputs_.labels.rows.table);
    }
    if (!options_.split.empty()) {
      BLINK_ASSIGN_OR_RETURN(inputs_.split, ReadSplitTable(options_.split, Table(options_.split_columns)));
      Tell(inputs_.split.rows.table);
    }
    if (options_.features.empty()) return std::move(inputs_);
    BLINK_RETURN_IF_ERROR(ReadFeatures());
    if (options_.feature_ids.empty()) return std::move(inputs_);
    BLINK_ASSIGN_OR_RETURN(RowIds ids, ReadIdTable(options_.feature_ids, Table(options_.feature_id_column)));
    Tell(ids.table);
    if (ids.ids.size() != inputs_.features.matrix.rows) {
      return WrongFile(ids.table.name, absl::StrCat("holds ", CountText(ids.ids.size(), "id"), ", but ",
                                                    inputs_.features.rows.table.name, " has ",
                                                    CountText(inputs_.features.matrix.rows, "row"),
                                                    ": there must be one id for each row, in their order"));
    }
    inputs_.features.rows = std::move(ids);
    return std::move(inputs_);
  }

 private:
  TableOptions Table(const std::vector<std::string>& columns) const {
    return {.columns = columns, .comment = options_.comment, .names = options_.names};
  }

  // The links, or a whole graph.
  absl::Status ReadInput() {
    std::error_code error;
    if (options_.input != kStandardInput && std::filesystem::is_directory(options_.input, error)) {
      BLINK_ASSIGN_OR_RETURN(ImportedGraph graph, ImportFolder(options_.input, options_.attributes));
      return Take(std::move(graph));
    }
    BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(options_.input));
    BLINK_ASSIGN_OR_RETURN(std::optional<ImportedGraph> graph, ImportGraph(*input, options_.attributes));
    if (graph) return Take(*std::move(graph));
    BLINK_ASSIGN_OR_RETURN(inputs_.edges,
                           ReadEdgeList(std::move(input), {Table(options_.columns), options_.first_row}));
    Tell(inputs_.edges.table);
    return absl::OkStatus();
  }

  absl::Status Take(ImportedGraph graph) {
    if (!options_.columns.empty() || options_.first_row != EdgeListOptions::FirstRow::kByWhatFollows) {
      return WrongFile(
          options_.input,
          absl::StrCat("is ", graph.format, ", which has no columns of links: leave --columns and --first-row out"));
    }
    inputs_.edges = std::move(graph.edges);
    inputs_.labels = std::move(graph.labels);
    inputs_.features = std::move(graph.features);
    if (!options_.random_split) inputs_.split = std::move(graph.split);
    inputs_.format = std::move(graph.format);
    inputs_.notes = std::move(graph.notes);
    return absl::OkStatus();
  }

  absl::Status ReadFeatures() {
    BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(options_.features));
    BLINK_ASSIGN_OR_RETURN(std::optional<FeatureTable> imported, ImportFeatures(*input));
    const bool has_ids = options_.feature_ids.empty() && options_.row_order == RowOrder::kUnknown;
    if (imported) {
      if (!options_.feature_columns.empty())
        return WrongFile(options_.features, "has no columns with names or numbers: leave --feature-columns out");
      inputs_.features = *std::move(imported);
      return absl::OkStatus();
    }
    BLINK_ASSIGN_OR_RETURN(inputs_.features,
                           ReadFeatureTable(std::move(input), Table(options_.feature_columns), has_ids));
    Tell(inputs_.features.rows.table);
    return absl::OkStatus();
  }

  void Tell(const TableReport& table) {
    std::vector<std::string> parts;
    if (!table.header.empty())
      parts.push_back(absl::StrCat("line ", table.header_line, " is a header (", table.header.substr(0, 60), ")"));
    if (table.comments > 0) {
      parts.push_back(absl::StrCat("skipped ", CountText(table.comments, "comment line"), ", the first is line ",
                                   table.first_comment_line, " \"", table.first_comment, "\""));
    }
    if (table.blank > 0) parts.push_back(absl::StrCat("skipped ", CountText(table.blank, "empty line")));
    if (!table.unused.empty()) {
      parts.push_back(absl::StrCat("not used: column ", ListText(table.unused, 100)));
    }
    if (!parts.empty()) inputs_.notes.push_back(absl::StrCat(table.name, ": ", absl::StrJoin(parts, "; ")));
  }

  const ConvertOptions& options_;
  ConvertInputs inputs_;
};

}  // namespace

std::string CountText(size_t count, absl::string_view noun, absl::string_view plural) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : plural);
}

absl::StatusOr<ConvertInputs> ReadConvertInputs(const ConvertOptions& options) { return InputReader(options).Read(); }

}  // namespace blink
