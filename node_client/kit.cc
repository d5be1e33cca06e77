#include "node_client/kit.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/http_proxy.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/text_file.h"
#include "common/wire/round.h"
#include "common/wire/strict_json.h"

namespace blink {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kKitBytesMax = 64 << 10;
constexpr uint64_t kRosterVersionMax = uint64_t{1} << 53;  // what JSON carries exactly

// A decimal number in its one spelling: digits only, no leading zero, below 2^32.
bool ParseIndex(absl::string_view text, uint32_t* value) {
  if (text.empty() || text.size() > 10 || (text.size() > 1 && text[0] == '0')) return false;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return absl::SimpleAtoi(text, value);
}

struct LineReader {
  FILE* file;
  char* line = nullptr;
  size_t capacity = 0;
  ~LineReader() {
    std::free(line);
    std::fclose(file);
  }
};

}  // namespace

namespace {

// Optional: [[first, last], ...] of the nodes that a gateway hosts no longer.
absl::StatusOr<std::vector<NodeRange>> ParseRetired(const JsonMembers& members, const KitConfig& config) {
  BLINK_ASSIGN_OR_RETURN(const Json* list, members.Array("retired"));
  std::vector<NodeRange> ranges;
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) {
      return members.Error("\"retired\" must be a list of pairs [first, last] of node ids");
    }
    const NodeRange range = {pair[0].get<uint64_t>(), pair[1].get<uint64_t>()};
    if (range.first < config.first_node || range.first > range.last || range.last > config.last_node ||
        (!ranges.empty() && range.first <= ranges.back().last)) {
      return members.Error("the ranges of \"retired\" must ascend, not overlap, and lie within \"nodes\"");
    }
    ranges.push_back(range);
  }
  if (CountNodes(ranges) == config.hosted())
    return members.Error("every node of the kit is \"retired\": there is nobody to report");
  return ranges;
}

}  // namespace

std::string KitConfig::NodesName() const {
  return is_gateway() ? absl::StrCat("nodes-", first_node, "-", last_node) : absl::StrCat("node-", first_node);
}

absl::StatusOr<KitConfig> ParseKitConfig(const std::string& text, const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const Json json, ParseStrictJson(text, path));
  const JsonMembers members(json, path, "", &text);
  BLINK_RETURN_IF_ERROR(members.CheckFormat(1));
  if (members.Has("policy")) {
    return members.Error(
        "\"policy\" is no longer part of a kit, since it belongs to the owner of the lists: move its members into "
        "policy.json beside this file (deploy/policy.json is a sample), and remove it here");
  }
  BLINK_RETURN_IF_ERROR(members.RefuseUnknown(
      {"format", "deployment", "nodes", "node_count", "roster_version", "aggregator", "proxy", "insecure", "retired"}));
  KitConfig config;
  BLINK_ASSIGN_OR_RETURN(config.deployment, members.Text("deployment"));
  if (const absl::Status valid = ValidateDeployment(config.deployment); !valid.ok()) {
    return members.Error(absl::StrCat("\"deployment\": ", valid.message()));
  }
  BLINK_ASSIGN_OR_RETURN(config.node_count, members.Integer("node_count", kNodesMin, kNodesMax));
  BLINK_ASSIGN_OR_RETURN(const Json* nodes, members.Object("nodes"));
  const JsonMembers range(*nodes, path, "nodes.", &text);
  BLINK_RETURN_IF_ERROR(range.RefuseUnknown({"first", "last"}));
  BLINK_ASSIGN_OR_RETURN(config.first_node, range.Integer("first", 0, config.node_count - 1));
  BLINK_ASSIGN_OR_RETURN(config.last_node, range.Integer("last", config.first_node, config.node_count - 1));
  BLINK_ASSIGN_OR_RETURN(config.roster_version, members.Integer("roster_version", 0, kRosterVersionMax));
  BLINK_ASSIGN_OR_RETURN(config.aggregator, members.Text("aggregator"));
  if (const absl::Status valid = ParseAddress(config.aggregator).status(); !valid.ok()) {
    return members.Error(absl::StrCat("\"aggregator\": ", valid.message()));
  }
  BLINK_ASSIGN_OR_RETURN(config.insecure, members.Bool("insecure"));
  if (members.Has("proxy")) {
    BLINK_ASSIGN_OR_RETURN(const std::string proxy, members.Text("proxy"));
    const absl::StatusOr<HttpProxy> parsed = ParseHttpProxy(proxy);
    if (!parsed.ok()) return members.Error(absl::StrCat("\"proxy\": ", parsed.status().message()));
    config.proxy = parsed->ToUri();
  }
  if (members.Has("retired")) {
    BLINK_ASSIGN_OR_RETURN(config.retired, ParseRetired(members, config));
  }
  return config;
}

absl::StatusOr<KitConfig> LoadKitConfig(const std::string& folder) {
  const std::string path = folder + "/kit.json";
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kKitBytesMax));
  BLINK_ASSIGN_OR_RETURN(KitConfig config, ParseKitConfig(text, path));
  config.folder = folder;
  return config;
}

absl::StatusOr<AdjacencyLists> LoadLists(const KitConfig& config, uint64_t entries_max) {
  const std::string path = config.folder + "/lists.csv";
  const absl::Status regular = CheckRegularFile(path);
  if (absl::IsNotFound(regular)) {
    return Reworded(regular,
                    absl::StrCat(regular.message(), ": write this kit's links there, after a line node,neighbour"));
  }
  BLINK_RETURN_IF_ERROR(regular);
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return FileError(errno, "open", path);
  LineReader reader{file};
  uint64_t number = 0;
  auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what));
  };

  AdjacencyLists lists;
  lists.first = config.first_node;
  lists.offsets.assign(config.hosted() + 1, 0);
  bool header = false, any = false;
  uint32_t last_node = 0, last_neighbour = 0;
  ssize_t length;
  while ((length = ::getline(&reader.line, &reader.capacity, file)) >= 0) {
    ++number;
    absl::string_view line(reader.line, length);
    // Or a list that was cut within a number would pass for another list.
    if (line.empty() || line.back() != '\n')
      return error("the last line does not end: the file is cut, or its editor left out the end of line: add one");
    line.remove_suffix(1);
    line = WithoutCarriageReturn(line);
    if (!header) {
      if (IsUtf16(line)) return error(kUtf16Rule);
      if (WithoutByteOrderMark(line) != "node,neighbour") return error("the first line must be \"node,neighbour\"");
      header = true;
      continue;
    }
    const size_t comma = line.find(',');
    uint32_t node, neighbour;
    if (comma == absl::string_view::npos || !ParseIndex(line.substr(0, comma), &node) ||
        !ParseIndex(line.substr(comma + 1), &neighbour)) {
      return error("malformed; a line is two node numbers with a comma between them");
    }
    if (node < config.first_node || node > config.last_node) {
      return error(
          absl::StrCat("the list of node ", node, " does not belong into this kit, which hosts ", config.NodesName()));
    }
    if (neighbour >= config.node_count) {
      return error(absl::StrCat("the neighbour is out of range; the roster has nodes 0 to ", config.node_count - 1));
    }
    if (neighbour == node) return error("a node cannot be its own neighbour");
    if (any && node == last_node && neighbour == last_neighbour) return error("the link is given twice");
    if (any && (node < last_node || (node == last_node && neighbour < last_neighbour))) {
      return error("the lines must ascend by node, then by neighbour");
    }
    if (lists.neighbours.size() + 1 + config.hosted() > entries_max) {
      return error(absl::StrCat("more than ", entries_max, " links and nodes, which is the limit of one kit: divide ",
                                config.NodesName(), " among several"));
    }
    lists.neighbours.push_back(neighbour);
    lists.offsets[node - config.first_node + 1] = lists.neighbours.size();
    last_node = node, last_neighbour = neighbour, any = true;
  }
  if (std::ferror(file)) return FileError(errno, "read", path);
  if (!header)
    return absl::InvalidArgumentError(absl::StrCat(path, ": empty; the first line must be \"node,neighbour\""));
  for (size_t i = 1; i < lists.offsets.size(); ++i) lists.offsets[i] = std::max(lists.offsets[i], lists.offsets[i - 1]);
  lists.neighbours.shrink_to_fit();
  return lists;
}

absl::StatusOr<Kit> LoadKit(const std::string& folder, const std::string& policy_path) {
  Kit kit;
  BLINK_ASSIGN_OR_RETURN(kit.config, LoadKitConfig(folder));
  BLINK_ASSIGN_OR_RETURN(kit.policy, LoadPolicy(policy_path.empty() ? DefaultPolicyPath(folder) : policy_path));
  BLINK_RETURN_IF_ERROR(CheckDeployment(kit.policy, kit.config.deployment));
  BLINK_ASSIGN_OR_RETURN(kit.lists, LoadLists(kit.config));
  return kit;
}

}  // namespace blink
