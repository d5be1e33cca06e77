#include "tools/dataset/files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/csv_field.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

constexpr uint64_t kCompanionBytesMax = uint64_t{16} << 30;

struct Kit {
  std::string folder;
  uint32_t first = 0, last = 0;
};

absl::StatusOr<Kit> ReadKit(const std::string& folder, uint32_t node_count) {
  const std::string path = folder + "/kit.json";
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 20));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto unsigned_at = [&](const char* pointer) {
    const auto at = nlohmann::json::json_pointer(pointer);
    const bool there = json.is_object() && json.contains(at) && json[at].is_number_unsigned();
    return there ? json[at].get<uint64_t>() : std::numeric_limits<uint64_t>::max();
  };
  const uint64_t first = unsigned_at("/nodes/first"), last = unsigned_at("/nodes/last"), n = unsigned_at("/node_count");
  if (n == std::numeric_limits<uint64_t>::max() || first > last || last >= n) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not a kit with nodes.first, nodes.last and node_count: make it with `blink provision`"));
  }
  if (n != node_count) {
    return absl::InvalidArgumentError(absl::StrCat(path, " was made for ", n, " nodes, but the data set has ",
                                                   node_count, ": provision again with --nodes ", node_count));
  }
  return Kit{folder, static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

absl::StatusOr<std::vector<Kit>> ReadKits(const std::string& folder, uint32_t node_count) {
  std::vector<Kit> kits;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->is_directory(error)) continue;
    BLINK_ASSIGN_OR_RETURN(kits.emplace_back(), ReadKit(entry->path().string(), node_count));
  }
  if (kits.empty())
    return absl::NotFoundError(absl::StrCat(folder, " holds no kit: make them with `blink provision` first"));
  std::sort(kits.begin(), kits.end(), [](const Kit& x, const Kit& y) { return x.first < y.first; });
  for (size_t k = 1; k < kits.size(); ++k) {
    if (kits[k].first <= kits[k - 1].last) {
      return absl::InvalidArgumentError(absl::StrCat("the kits ", kits[k - 1].folder, " and ", kits[k].folder,
                                                     " both host node ", kits[k].first, ": a node lives in one kit"));
    }
  }
  return kits;
}

std::string ListsOf(const CsrGraph& graph, const Kit& kit) {
  std::string lists = "node,neighbour\n";
  for (NodeIndex i = kit.first; i <= kit.last; ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) absl::StrAppend(&lists, i, ",", j, "\n");
  }
  return lists;
}

std::string EdgesOf(const CsrGraph& graph) {
  std::string edges = "source,target\n";
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (i < j) absl::StrAppend(&edges, i, ",", j, "\n");
    }
  }
  return edges;
}

struct Row {
  uint64_t number = 0;  // line, 1-based
  std::string node, value;
};

bool IsLabel(absl::string_view text) {
  int32_t ignored;
  return absl::SimpleAtoi(text, &ignored);
}

bool IsSplit(absl::string_view text) { return text == "train" || text == "val" || text == "test" || text == "none"; }

// The rows "node,value" of a file, with or without a header of any names; the nodes may hold commas.
absl::StatusOr<std::vector<Row>> ReadRows(const std::string& path, bool (*is_value)(absl::string_view),
                                          const char* columns) {
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kCompanionBytesMax));
  std::vector<Row> rows;
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, "\xEF\xBB\xBF");
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const absl::string_view line = absl::StripAsciiWhitespace(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) continue;
    const size_t comma = line.rfind(',');
    if (comma == absl::string_view::npos || (number == 1 && line.find(',') != comma)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": expected the two columns ", columns, "; keep only these"));
    }
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(comma + 1));
    if (is_value(value)) {
      rows.push_back({number, std::string(absl::StripAsciiWhitespace(line.substr(0, comma))), std::string(value)});
    } else if (number > 1) {  // the first line is a header
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": \"", value, "\" is not what the columns ", columns,
                       " hold: a label is an integer (-1 where it is unknown), a split train, val, test or none"));
    }
  }
  return rows;
}

// Writes the rows in their canonical form, with the nodes put through the map.
absl::Status WriteRows(const std::string& from, const std::vector<Row>& rows, const std::string& to,
                       absl::string_view header, const absl::flat_hash_map<std::string, NodeIndex>& index) {
  std::string out = absl::StrCat(header, "\n");
  for (const Row& row : rows) {
    const auto found = index.find(row.node);
    if (found == index.end()) {
      return absl::InvalidArgumentError(absl::StrCat(from, ", line ", row.number,
                                                     ": neither the edge list nor the labels have node \"", row.node,
                                                     "\"; leave the line out, or add the node"));
    }
    absl::StrAppend(&out, found->second, ",", row.value, "\n");
  }
  return WriteFileAtomically(to, out);
}

absl::Status WriteRandomSplit(const ConvertOptions& options, const std::vector<Row>& labels, NodeIndex node_count,
                              const absl::flat_hash_map<std::string, NodeIndex>& index) {
  std::vector<int32_t> label_of(node_count, -1);
  for (const Row& row : labels) {
    const auto found = index.find(row.node);
    if (found != index.end() && !absl::SimpleAtoi(row.value, &label_of[found->second])) label_of[found->second] = -1;
  }
  const absl::StatusOr<std::vector<Split>> split = DrawSplit(label_of, *options.random_split);
  if (!split.ok()) return InFile(options.labels, split.status());
  std::string out = "node,split\n";
  for (NodeIndex i = 0; i < node_count; ++i) absl::StrAppend(&out, i, ",", SplitName((*split)[i]), "\n");
  return WriteFileAtomically(options.output + "/split.csv", out);
}

absl::Status CopyCompanions(const ConvertOptions& options, const std::vector<Row>& labels, NodeIndex node_count,
                            const EdgeListReport& report) {
  absl::flat_hash_map<std::string, NodeIndex> index;
  for (NodeIndex i = 0; i < node_count; ++i) index.emplace(report.mapped ? report.names[i] : absl::StrCat(i), i);
  if (!options.labels.empty()) {
    BLINK_RETURN_IF_ERROR(WriteRows(options.labels, labels, options.output + "/labels.csv", "node,label", index));
  }
  if (!options.split.empty()) {
    BLINK_ASSIGN_OR_RETURN(const std::vector<Row> split, ReadRows(options.split, IsSplit, "node,split"));
    BLINK_RETURN_IF_ERROR(WriteRows(options.split, split, options.output + "/split.csv", "node,split", index));
  }
  if (options.random_split) BLINK_RETURN_IF_ERROR(WriteRandomSplit(options, labels, node_count, index));
  if (options.features.empty()) return absl::OkStatus();
  const std::string extension = std::filesystem::path(options.features).extension().string();
  if (extension != ".npz" && extension != ".npy") {
    return absl::InvalidArgumentError(
        absl::StrCat(options.features, ": features are a .npz (scipy.sparse.save_npz) or a .npy (numpy.save)"));
  }
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(options.features, kCompanionBytesMax));
  return WriteFileAtomically(absl::StrCat(options.output, "/features", extension), bytes);
}

}  // namespace

DatasetSummary SummariseDataset(const Dataset& dataset) {
  const CsrGraph& graph = dataset.graph;
  const NodeAttributes& attributes = dataset.attributes;
  DatasetSummary summary{.name = dataset.name,
                         .nodes = graph.node_count(),
                         .features = attributes.features.cols,
                         .classes = attributes.class_count,
                         .links = graph.link_count()};
  std::vector<uint32_t> degrees;
  uint64_t known = 0, equal = 0;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    degrees.push_back(graph.DegreeOf(i));
    summary.isolated += graph.DegreeOf(i) == 0;
    summary.unlabelled += attributes.labels[i] < 0;
    summary.train += attributes.split[i] == Split::kTrain;
    summary.validation += attributes.split[i] == Split::kValidation;
    summary.test += attributes.split[i] == Split::kTest;
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (j < i || attributes.labels[i] < 0 || attributes.labels[j] < 0) continue;
      ++known;
      equal += attributes.labels[i] == attributes.labels[j];
    }
  }
  std::sort(degrees.begin(), degrees.end());
  summary.degree_min = degrees.front();
  summary.degree_median = degrees[degrees.size() / 2];
  summary.degree_max = degrees.back();
  summary.degree_mean = 2.0 * static_cast<double>(graph.link_count()) / graph.node_count();
  summary.homophily = known > 0 ? static_cast<double>(equal) / static_cast<double>(known) : std::nan("");
  const auto& values = attributes.features.values;
  const double filled = static_cast<double>(values.size() - std::count(values.begin(), values.end(), 0.0f));
  const double entries = static_cast<double>(attributes.features.rows) * attributes.features.cols;
  summary.feature_density = entries > 0 ? filled / entries : 0;
  return summary;
}

absl::Status CheckSplitOptions(const ConvertOptions& options) {
  if (!options.random_split) return absl::OkStatus();
  if (!options.split.empty()) {
    return absl::InvalidArgumentError(
        "--random-split draws a split and --split brings one along: leave one of them out");
  }
  if (!options.labels.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("--random-split deals out the nodes that have a label: give --labels");
}

absl::StatusOr<EdgeListReport> ConvertEdgeList(const ConvertOptions& options, CsrGraph* graph) {
  BLINK_RETURN_IF_ERROR(CheckSplitOptions(options));
  std::error_code error;
  if (std::filesystem::exists(options.output + "/edges.csv", error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.output, " holds an edges.csv already: choose another folder"));
  }
  std::vector<Row> labels;
  if (!options.labels.empty()) {
    BLINK_ASSIGN_OR_RETURN(labels, ReadRows(options.labels, IsLabel, "node,label"));
  }
  std::vector<std::string> labelled;
  for (const Row& row : labels) labelled.push_back(row.node);
  BLINK_ASSIGN_OR_RETURN(auto list, ReadEdgeList(options.input, labelled,
                                                 options.names ? EdgeListIds::kNames : EdgeListIds::kByFirstLine));
  EdgeListReport& report = list.second;
  *graph = std::move(list.first);
  BLINK_RETURN_IF_ERROR(MakeDirectories(options.output));
  BLINK_RETURN_IF_ERROR(CopyCompanions(options, labels, graph->node_count(), report));
  if (report.mapped || options.labels.empty()) {
    std::string nodes = "node,id\n";
    for (NodeIndex i = 0; i < graph->node_count(); ++i) {
      absl::StrAppend(&nodes, i, ",", report.mapped ? CsvField(report.names[i]) : absl::StrCat(i), "\n");
    }
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(options.output + "/nodes.csv", nodes));
  }
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(options.output + "/edges.csv", EdgesOf(*graph)));
  BLINK_ASSIGN_OR_RETURN(const Dataset written, ReadDataset(options.output));
  if (written.graph.node_count() != graph->node_count()) {
    return absl::InvalidArgumentError(absl::StrCat(options.labels, " has ", written.graph.node_count(),
                                                   " nodes, the edge list ", graph->node_count(),
                                                   ": both must name the same nodes"));
  }
  return std::move(report);
}

absl::StatusOr<ShardReport> ShardDataset(const Dataset& dataset, const std::string& out) {
  BLINK_ASSIGN_OR_RETURN(const std::vector<Kit> kits, ReadKits(out + "/kits", dataset.graph.node_count()));
  ShardReport report;
  for (const Kit& kit : kits) {
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(kit.folder + "/lists.csv", ListsOf(dataset.graph, kit)));
    ++report.kits;
    report.nodes += kit.last - kit.first + 1;
  }
  BLINK_RETURN_IF_ERROR(WriteAttributes(dataset.attributes, out + "/aggregator/attributes"));
  return report;
}

}  // namespace blink
