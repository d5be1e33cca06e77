#include "tools/dataset/convert.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/list_text.h"
#include "common/base/status_macros.h"
#include "common/graph/table_comments.h"
#include "tools/dataset/convert_inputs.h"
#include "tools/new_folder.h"

namespace blink {
namespace {

constexpr size_t kNoRow = SIZE_MAX;

class Converter {
 public:
  Converter(const ConvertOptions& options, ConvertInputs inputs)
      : options_(options),
        edges_(std::move(inputs.edges)),
        labels_(std::move(inputs.labels)),
        split_(std::move(inputs.split)),
        features_(std::move(inputs.features)) {
    report().format = std::move(inputs.format);
    report().notes = std::move(inputs.notes);
  }

  absl::StatusOr<Converted> Run() {
    BLINK_RETURN_IF_ERROR(AddFurtherNodes());
    BLINK_RETURN_IF_ERROR(MakeGraph());
    NodeAttributes& attributes = converted_.dataset.attributes;
    attributes.node_count = converted_.dataset.graph.node_count();
    attributes.features.rows = attributes.node_count;
    attributes.labels.assign(attributes.node_count, -1);
    attributes.split.assign(attributes.node_count, Split::kNone);
    if (report().renumbered) {
      for (NodeIndex i = 0; i < attributes.node_count; ++i) attributes.ids.push_back(edges_.ids.TextOf(i));
    }
    BLINK_RETURN_IF_ERROR(PlaceLabels());
    BLINK_RETURN_IF_ERROR(PlaceSplit());
    BLINK_RETURN_IF_ERROR(PlaceFeatures());
    const std::vector<std::string> warnings = LabelWarnings(attributes);
    report().warnings.insert(report().warnings.end(), warnings.begin(), warnings.end());
    return std::move(converted_);
  }

 private:
  ConvertReport& report() { return converted_.report; }
  size_t node_count() const { return converted_.dataset.graph.node_count(); }

  absl::Status AddFurtherNodes() {
    BLINK_RETURN_IF_ERROR(AddNodes(labels_.rows, "a label"));
    BLINK_RETURN_IF_ERROR(AddNodes(features_.rows, "features"));
    if (options_.nodes) {
      if (const absl::Status added = AddNodesUpTo(*options_.nodes, edges_.ids); !added.ok())
        return absl::InvalidArgumentError(absl::StrCat("--nodes ", *options_.nodes, ": ", added.message()));
    } else if (edges_.nodes_by_sizes && edges_.ids.are_integers()) {
      const size_t before = edges_.ids.size();
      if (AddNodesUpTo(*edges_.nodes_by_sizes, edges_.ids).ok() && edges_.ids.size() > before) {
        report().notes.push_back(absl::StrCat(CountText(edges_.ids.size() - before, "node"),
                                              " without a link added, since the first row tells ",
                                              *edges_.nodes_by_sizes));
      }
    }
    const size_t nodes = edges_.ids.size();
    if (nodes < kNodesMin) {
      return WrongFile(edges_.table.name,
                       absl::StrCat("a graph of ", CountText(nodes, "node"), "; at least ", kNodesMin, " are needed"));
    }
    if (nodes > kNodesMax) return WrongFile(edges_.table.name, absl::StrCat("more than ", kNodesMax, " nodes"));
    return absl::OkStatus();
  }

  absl::Status AddNodes(const RowIds& rows, const char* what) {
    if (rows.ids.empty()) return absl::OkStatus();
    const size_t before = edges_.ids.size();
    bool one_known = before == 0;
    for (size_t k = 0; k < rows.ids.size(); ++k) {
      const size_t size = edges_.ids.size();
      const absl::StatusOr<NodeIndex> node = edges_.ids.Add(rows.ids[k]);
      if (!node.ok()) return rows.Error(k, absl::StrCat(node.status().message(), HintOf(rows)));
      one_known = one_known || *node < before;
      if (size > kNodesMax) return rows.Error(k, absl::StrCat("more than ", kNodesMax, " nodes"));
    }
    if (!one_known) {
      return WrongFile(rows.table.name, absl::StrCat("no id of it is in ", edges_.table.name, ": its first id is \"",
                                                     rows.ids[0], "\", there it is \"", edges_.ids.TextOf(0),
                                                     "\"; are both of the same graph?", HintOf(rows)));
    }
    WarnOfAnotherBeginning(rows, before);
    if (const size_t added = edges_.ids.size() - before; added > 0) {
      report().notes.push_back(
          absl::StrCat(CountText(added, "node"), added == 1 ? " has " : " have ", what, " but no link"));
    }
    return absl::OkStatus();
  }

  // Integers 1 .. n beside links of 0 .. n - 1, or the other way round: then each row is its neighbour's.
  void WarnOfAnotherBeginning(const RowIds& rows, size_t links_ids) {
    if (!edges_.ids.are_integers() || rows.ids.size() != links_ids || edges_.ids.size() != links_ids + 1) return;
    const std::vector<int64_t>& ids = edges_.ids.integers();
    const auto [low, high] = std::minmax_element(ids.begin(), ids.begin() + links_ids);
    if (*high - *low + 1 != static_cast<int64_t>(links_ids) || (ids.back() != *low - 1 && ids.back() != *high + 1))
      return;
    const int64_t shift = ids.back() < *low ? -1 : 1;
    report().warnings.push_back(absl::StrCat(rows.table.name, ": its ids go from ", *low + shift, " to ", *high + shift,
                                             ", but those of the links from ", *low, " to ", *high,
                                             ": does one of the files begin at 0 and the other at 1?"));
  }

  absl::string_view HintOf(const RowIds& rows) const {
    if (&rows != &features_.rows || !options_.feature_ids.empty()) return "";
    return " A file of features without a column of ids needs --feature-ids or --row-order";
  }

  absl::Status MakeGraph() {
    const std::vector<NodeIndex> number = edges_.ids.Sort();
    for (auto& [a, b] : edges_.links) a = number[a], b = number[b];
    const uint64_t given = edges_.links.size();
    BLINK_ASSIGN_OR_RETURN(converted_.dataset.graph,
                           CsrGraph::FromLinks(static_cast<uint32_t>(edges_.ids.size()), std::move(edges_.links)));
    report().lines = edges_.table.lines;
    report().duplicates_dropped = given - converted_.dataset.graph.link_count();
    report().self_loops_dropped = edges_.self_loops_dropped;
    report().renumbered = !edges_.ids.AreNumbers();
    if (edges_.maybe_header) {
      report().warnings.push_back(
          absl::StrCat(edges_.table.name,
                       ": the first row was taken for a link, but no other row has its ids: if it is a header, choose "
                       "the columns by its names (--columns)"));
    }
    return absl::OkStatus();
  }

  // [n] The row of each node, or kNoRow. All ids must be known, and none may stand twice.
  absl::StatusOr<std::vector<size_t>> RowOfEach(const RowIds& rows) const {
    std::vector<size_t> row_of(node_count(), kNoRow);
    for (size_t k = 0; k < rows.ids.size(); ++k) {
      const std::optional<NodeIndex> node = edges_.ids.Find(rows.ids[k]);
      if (!node) {
        return rows.Error(k, absl::StrCat("neither the edge list nor the labels have node \"", rows.ids[k],
                                          "\"; leave the line out, or add the node"));
      }
      if (row_of[*node] != kNoRow) {
        return rows.Error(k, absl::StrCat("node \"", rows.ids[k], "\" stands twice, first on line ",
                                          rows.lines[row_of[*node]], ": keep one line a node"));
      }
      row_of[*node] = k;
    }
    return row_of;
  }

  absl::Status PlaceLabels() {
    if (labels_.rows.ids.empty()) return absl::OkStatus();
    NodeAttributes& attributes = converted_.dataset.attributes;
    BLINK_ASSIGN_OR_RETURN(const std::vector<size_t> row_of, RowOfEach(labels_.rows));
    size_t unknown = 0;
    for (NodeIndex i = 0; i < node_count(); ++i) {
      if (row_of[i] != kNoRow) attributes.labels[i] = labels_.labels[row_of[i]];
      unknown += attributes.labels[i] < 0;
      attributes.class_count = std::max(attributes.class_count, static_cast<uint32_t>(attributes.labels[i] + 1));
    }
    attributes.class_names = labels_.class_names;
    attributes.class_count = std::max(attributes.class_count, static_cast<uint32_t>(attributes.class_names.size()));
    if (!attributes.has_labels())
      return WrongFile(labels_.rows.table.name, options_.random_split
                                                    ? "no node has a known label: leave --labels and --random-split out"
                                                    : "no node has a known label: leave --labels out");
    if (unknown > 0 && attributes.class_count == 1) {
      report().warnings.push_back(
          absl::StrCat(labels_.rows.table.name, ": -1 stands for an unknown label; if it is a class, give it a name"));
    }
    if (unknown > 0) {
      report().notes.push_back(absl::StrCat(unknown, " of ", node_count(), " nodes have no label (-1 in labels.csv)"));
    }
    if (!attributes.class_names.empty()) {
      report().notes.push_back(absl::StrCat(CountText(attributes.class_count, "class", "es"),
                                            ", named in classes.txt: ", ListText(attributes.class_names, 100)));
    }
    return absl::OkStatus();
  }

  absl::Status PlaceSplit() {
    NodeAttributes& attributes = converted_.dataset.attributes;
    if (options_.random_split) {
      if (!attributes.has_labels())
        return WrongFile(edges_.table.name, "--random-split deals out the nodes that have a label: give --labels");
      absl::StatusOr<std::vector<Split>> split = DrawSplit(attributes.labels, *options_.random_split);
      if (!split.ok()) return InFile(labels_.rows.table.name, split.status());
      attributes.split = *std::move(split);
    }
    if (split_.rows.ids.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const std::vector<size_t> row_of, RowOfEach(split_.rows));
    size_t without = 0;
    for (NodeIndex i = 0; i < node_count(); ++i) {
      if (row_of[i] != kNoRow) attributes.split[i] = split_.parts[row_of[i]];
      without += row_of[i] == kNoRow;
    }
    if (without > 0) {
      report().notes.push_back(absl::StrCat(without, " of ", node_count(), " nodes are in no line of ",
                                            split_.rows.table.name, ", and so in no part"));
    }
    for (const Split part : {Split::kTrain, Split::kValidation}) {
      if (std::count(attributes.split.begin(), attributes.split.end(), part) == 0) {
        report().warnings.push_back(absl::StrCat(split_.rows.table.name, ": no node is in the part \"", SplitName(part),
                                                 "\", which a training needs"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status PlaceFeatures() {
    if (options_.features.empty() && features_.rows.ids.empty()) return absl::OkStatus();
    FeatureMatrix& matrix = features_.matrix;
    const std::string name = options_.feature_ids.empty() ? features_.rows.table.name : options_.features;
    if (matrix.rows > kNodesMax) return WrongFile(name, absl::StrCat("more than ", kNodesMax, " rows"));
    std::vector<size_t> row_of(node_count());
    if (!features_.rows.ids.empty()) {
      BLINK_ASSIGN_OR_RETURN(row_of, RowOfEach(features_.rows));
    } else {
      if (matrix.rows != node_count()) {
        return WrongFile(
            name,
            absl::StrCat("has ", CountText(matrix.rows, "row"), ", but there are ", CountText(node_count(), "node"),
                         ": give one row for each node, or the ids of the rows (--feature-ids)",
                         matrix.cols == node_count() ? ". It has a column for each: write x.T" : ""));
      }
      if (report().renumbered && options_.row_order == RowOrder::kUnknown) {
        return WrongFile(
            name, absl::StrCat("the ids were renumbered, so it is not known which node a row belongs to: give the ids "
                               "of the rows, one a line (--feature-ids FILE), or say --row-order ids-sorted (row k "
                               "belongs to the k-th smallest id) or --row-order as-is (to node k; its id is ",
                               edges_.ids.TextOf(0), " for the first row)"));
      }
      row_of = RowsInOrder();
    }
    TakeRows(row_of);
    const size_t missing = std::count(row_of.begin(), row_of.end(), kNoRow);
    if (missing > 0) {
      report().warnings.push_back(
          absl::StrCat(name, ": ", missing, " of ", node_count(), " nodes have no row: their features are all 0"));
    }
    return absl::OkStatus();
  }

  std::vector<size_t> RowsInOrder() const {
    std::vector<size_t> row_of(node_count()), order(node_count());
    std::iota(order.begin(), order.end(), 0);
    if (options_.row_order == RowOrder::kIdsSorted && !edges_.ids.are_integers()) {
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return edges_.ids.TextOf(static_cast<NodeIndex>(a)) < edges_.ids.TextOf(static_cast<NodeIndex>(b));
      });
    }
    for (size_t row = 0; row < order.size(); ++row) row_of[order[row]] = row;
    return row_of;
  }

  // The features of node i are row_of[i] of the matrix.
  void TakeRows(const std::vector<size_t>& row_of) {
    const FeatureMatrix& from = features_.matrix;
    FeatureMatrix& to = converted_.dataset.attributes.features;
    to = FeatureMatrix{.rows = static_cast<uint32_t>(row_of.size()), .cols = from.cols, .sparse = from.sparse};
    if (to.sparse) to.row_offsets.assign(1, 0);
    for (const size_t row : row_of) {
      const bool has = row != kNoRow;
      const int64_t begin = !has ? 0 : from.sparse ? from.row_offsets[row] : static_cast<int64_t>(row) * from.cols;
      const int64_t end = !has ? 0 : from.sparse ? from.row_offsets[row + 1] : begin + from.cols;
      to.values.insert(to.values.end(), from.values.begin() + begin, from.values.begin() + end);
      if (!to.sparse && !has) to.values.resize(to.values.size() + from.cols, 0.0f);
      if (!to.sparse) continue;
      to.columns.insert(to.columns.end(), from.columns.begin() + begin, from.columns.begin() + end);
      to.row_offsets.push_back(static_cast<int64_t>(to.columns.size()));
    }
  }

  const ConvertOptions& options_;
  EdgeList edges_;
  LabelTable labels_;
  SplitTable split_;
  FeatureTable features_;
  Converted converted_;
};

}  // namespace

absl::Status CheckConvertOptions(const ConvertOptions& options) {
  const auto refuse = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  BLINK_RETURN_IF_ERROR(CheckComment(options.comment));
  if (options.random_split && !options.split.empty())
    return refuse("--random-split draws a split and --split brings one along: leave one of them out");
  if (options.features.empty() &&
      (!options.feature_ids.empty() || options.row_order != RowOrder::kUnknown || !options.feature_columns.empty())) {
    return refuse("--feature-ids, --feature-columns and --row-order are about --features: give them too");
  }
  if (!options.feature_ids.empty() && options.row_order != RowOrder::kUnknown)
    return refuse("--feature-ids tells whose each row is, and --row-order too: leave one of them out");
  if (options.feature_ids.empty() && !options.feature_id_column.empty())
    return refuse("--feature-id-column is about --feature-ids: give it too");
  if (options.labels.empty() && !options.label_columns.empty())
    return refuse("--label-columns is about --labels: give it too");
  if (options.split.empty() && !options.split_columns.empty())
    return refuse("--split-columns is about --split: give it too");
  for (const std::string& name : options.attributes.feature_attributes) {
    if (name == options.attributes.label_attribute) {
      return refuse(absl::StrCat("--label-attribute and --feature-attributes both name ", name,
                                 ": a feature that is the label tells a model the answer"));
    }
  }
  int standard_inputs = 0;
  for (const std::string* path :
       {&options.input, &options.labels, &options.split, &options.features, &options.feature_ids})
    standard_inputs += *path == kStandardInput;
  return standard_inputs <= 1 ? absl::OkStatus()
                              : refuse("only one input can be standard input (-): give files for the others");
}

absl::StatusOr<Converted> ReadGraph(const ConvertOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckConvertOptions(options));
  BLINK_ASSIGN_OR_RETURN(ConvertInputs inputs, ReadConvertInputs(options));
  return Converter(options, std::move(inputs)).Run();
}

absl::StatusOr<Converted> ConvertToDataset(const ConvertOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckConvertOptions(options));
  BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(options.output));
  BLINK_ASSIGN_OR_RETURN(Converted converted, ReadGraph(options));
  BLINK_RETURN_IF_ERROR(WriteDataset(converted.dataset, staging.path()));
  BLINK_RETURN_IF_ERROR(staging.Publish());
  return converted;
}

}  // namespace blink
