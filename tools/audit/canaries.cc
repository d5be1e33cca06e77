#include "tools/audit/canaries.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/strict_json.h"
#include "nlohmann/json.hpp"
#include "tools/new_folder.h"

namespace blink {
namespace {

constexpr uint64_t kCanariesBytesMax = 1 << 20;

std::string NameOfKit(const NodeRange& range) {
  return range.first == range.last ? absl::StrCat("node-", range.first)
                                   : absl::StrCat("nodes-", range.first, "-", range.last);
}

absl::Status ValidateCanaries(const Canaries& canaries) {
  const uint32_t n = canaries.node_count;
  if (n < kNodesMin || n > kNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the number of nodes must be ", kNodesMin, " .. ", kNodesMax));
  }
  if (canaries.nodes.empty()) return absl::InvalidArgumentError("there must be a canary node at least");
  for (size_t r = 0; r < canaries.nodes.size(); ++r) {
    const NodeRange& range = canaries.nodes[r];
    if (range.first > range.last || range.last >= n) {
      return absl::InvalidArgumentError(
          absl::StrCat("canary nodes ", range.first, "-", range.last, " do not lie below the number of nodes, ", n));
    }
    if (r > 0 && range.first <= canaries.nodes[r - 1].last) {
      return absl::InvalidArgumentError(absl::StrCat("node ", range.first, " is a canary twice: name it once"));
    }
  }
  if (canaries.entries < 1 || canaries.entries > n - 1) {
    return absl::InvalidArgumentError(absl::StrCat("the entries of a canary list must be 1 .. ", n - 1));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<bool> Canaries::CoinsOf(NodeIndex node) const {
  std::vector<bool> coins(entries);
  Digest block{};
  for (uint32_t t = 0; t < entries; ++t) {
    if (t % 256 == 0) {
      block = Sha256()
                  .Update("blink canary coins")
                  .Update(DigestToBytes(seed))
                  .UpdateUint64(node)
                  .UpdateUint64(t / 256)
                  .Finish();
    }
    coins[t] = (block[t % 256 / 8] >> (t % 8)) & 1;
  }
  return coins;
}

std::vector<NodeIndex> Canaries::ListOf(NodeIndex node) const {
  const std::vector<bool> coins = CoinsOf(node);
  std::vector<NodeIndex> list;
  for (uint32_t t = 0; t < entries; ++t) {
    if (coins[t]) list.push_back(EntryOf(node, t));
  }
  std::sort(list.begin(), list.end());
  return list;
}

absl::StatusOr<Canaries> MakeCanaries(uint32_t node_count, std::vector<NodeRange> nodes, uint32_t entries,
                                      RandomSource& random) {
  std::sort(nodes.begin(), nodes.end(), [](const NodeRange& a, const NodeRange& b) { return a.first < b.first; });
  Canaries canaries{.node_count = node_count,
                    .nodes = std::move(nodes),
                    .entries = entries == 0 && node_count > 0 ? node_count - 1 : entries};
  BLINK_RETURN_IF_ERROR(ValidateCanaries(canaries));
  BLINK_RETURN_IF_ERROR(random.Fill(absl::MakeSpan(canaries.seed)));
  return canaries;
}

std::string CanariesToJson(const Canaries& canaries) {
  nlohmann::ordered_json json = {{"format", 1},
                                 {"node_count", canaries.node_count},
                                 {"entries", canaries.entries},
                                 {"seed", DigestToHex(canaries.seed)},
                                 {"canaries", nlohmann::ordered_json::array()}};
  for (const NodeRange& range : canaries.nodes) json["canaries"].push_back({range.first, range.last});
  return json.dump() + "\n";
}

absl::StatusOr<Canaries> ReadCanaries(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kCanariesBytesMax));
  BLINK_ASSIGN_OR_RETURN(const nlohmann::json json, ParseStrictJson(text, path));
  const JsonMembers members(json, path, "", &text);
  BLINK_RETURN_IF_ERROR(members.CheckFormat(1));
  BLINK_RETURN_IF_ERROR(members.RefuseUnknown({"format", "node_count", "entries", "seed", "canaries"}));
  Canaries canaries;
  BLINK_ASSIGN_OR_RETURN(canaries.node_count, members.Integer("node_count", kNodesMin, kNodesMax));
  BLINK_ASSIGN_OR_RETURN(canaries.entries, members.Integer("entries", 1, canaries.node_count - 1));
  BLINK_ASSIGN_OR_RETURN(const std::string seed, members.Text("seed"));
  const std::string bytes = absl::HexStringToBytes(seed);
  if (bytes.size() != canaries.seed.size() || absl::BytesToHexString(bytes) != seed) {
    return members.Error("\"seed\" must be 64 lower-case hexadecimal digits");
  }
  std::copy(bytes.begin(), bytes.end(), canaries.seed.begin());
  BLINK_ASSIGN_OR_RETURN(const nlohmann::json* ranges, members.Array("canaries"));
  for (const nlohmann::json& pair : *ranges) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) {
      return members.Error("\"canaries\" must be a list of pairs [first, last] of node ids");
    }
    canaries.nodes.push_back({pair[0].get<uint64_t>(), pair[1].get<uint64_t>()});
  }
  if (const absl::Status valid = ValidateCanaries(canaries); !valid.ok()) {
    return members.Error(std::string(valid.message()));
  }
  return canaries;
}

absl::Status WriteCanaries(const Canaries& canaries, const std::vector<NodeRange>& kits, const std::string& folder) {
  BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(folder));
  for (const NodeRange& kit : kits) {
    const std::string place = absl::StrCat(staging.path(), "/", NameOfKit(kit));
    BLINK_RETURN_IF_ERROR(MakeFolder(place));
    std::string lists = "node,neighbour\n";
    for (uint64_t node = kit.first; node <= kit.last; ++node) {
      for (const NodeIndex neighbour : canaries.ListOf(static_cast<NodeIndex>(node))) {
        absl::StrAppend(&lists, node, ",", neighbour, "\n");
      }
    }
    BLINK_RETURN_IF_ERROR(WriteNew(place + "/lists.csv", lists));
  }
  BLINK_RETURN_IF_ERROR(WriteNew(staging.path() + "/canaries.json", CanariesToJson(canaries)));
  return staging.Publish();
}

}  // namespace blink
