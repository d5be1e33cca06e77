#include "tools/dataset/files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

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
  summary.warnings = LabelWarnings(attributes);
  return summary;
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
