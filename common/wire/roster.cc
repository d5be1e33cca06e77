#include "common/wire/roster.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/base/format_number.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"
#include "common/wire/strict_json.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using nlohmann::json;

constexpr uint64_t kFormat = 1;

absl::Status CheckKeys(const json& document, const std::string& text) {
  constexpr std::array<const char*, 5> kKeys = {"format", "deployment", "roster_version", "node_count", "retired"};
  if (!document.is_object()) return absl::InvalidArgumentError("a roster is a JSON object");
  // First, since rosters of other formats have other keys.
  if (const auto format = document.find("format"); format != document.end() && *format != kFormat) {
    if (!format->is_number_unsigned()) return absl::InvalidArgumentError("\"format\" must be a number");
    return absl::InvalidArgumentError(OtherFormat("the roster", format->get<uint64_t>(), kFormat).message());
  }
  for (const auto& [key, value] : document.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOfKey(text, "", key), "the key \"", key, "\" is unknown to this version"));
    }
  }
  for (const char* key : kKeys) {
    if (!document.contains(key)) return absl::InvalidArgumentError(absl::StrCat("the key \"", key, "\" is missing"));
  }
  if (!document.at("deployment").is_string()) return absl::InvalidArgumentError("\"deployment\" must be text");
  if (!document.at("roster_version").is_number_unsigned() || !document.at("node_count").is_number_unsigned()) {
    return absl::InvalidArgumentError("\"roster_version\" and \"node_count\" must be numbers from 1");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NodeRange>> RangesFrom(const json& list) {
  std::vector<NodeRange> ranges;
  if (!list.is_array()) return absl::InvalidArgumentError("\"retired\" must be a list of pairs [first, last]");
  for (const json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned()) {
      return absl::InvalidArgumentError("\"retired\" must be a list of pairs [first, last]");
    }
    ranges.push_back({pair[0].get<uint64_t>(), pair[1].get<uint64_t>()});
  }
  return ranges;
}

}  // namespace

bool InRanges(const std::vector<NodeRange>& ranges, uint64_t node) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), node,
                                      [](uint64_t value, const NodeRange& range) { return value < range.first; });
  return after != ranges.begin() && node <= std::prev(after)->last;
}

std::vector<NodeRange> MergeRanges(std::vector<NodeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const NodeRange& a, const NodeRange& b) { return a.first < b.first; });
  std::vector<NodeRange> merged;
  for (const NodeRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

uint64_t CountNodes(const std::vector<NodeRange>& disjoint) {
  uint64_t count = 0;
  for (const NodeRange& range : disjoint) count += range.last - range.first + 1;
  return count;
}

absl::StatusOr<Roster> Roster::Create(std::string deployment, uint64_t version, uint32_t node_count,
                                      std::vector<NodeRange> retired) {
  BLINK_RETURN_IF_ERROR(ValidateDeployment(deployment));
  if (version == 0) return absl::InvalidArgumentError("a roster's version is at least 1");
  if (node_count < kNodesMin || node_count > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a roster has ", kNodesMin, " to ", kNodesMax, " nodes, not ", node_count));
  }
  for (const NodeRange& range : retired) {
    if (range.first > range.last || range.last >= node_count) {
      return absl::InvalidArgumentError(absl::StrCat("the retired nodes ", range.first, "-", range.last,
                                                     " are not within 0-", node_count - 1, " in ascending order"));
    }
  }
  Roster roster;
  roster.deployment_ = std::move(deployment);
  roster.version_ = version;
  roster.node_count_ = node_count;
  roster.retired_ = MergeRanges(std::move(retired));
  if (roster.active_count() < kNodesMin) {
    return absl::InvalidArgumentError(
        absl::StrCat("a roster needs ", kNodesMin, " active nodes, and ", roster.active_count(), " would be left"));
  }
  return roster;
}

absl::StatusOr<Roster> Roster::FromJson(const std::string& text) try {
  BLINK_ASSIGN_OR_RETURN(const json document, ParseStrictJson(text, ""));
  BLINK_RETURN_IF_ERROR(CheckKeys(document, text));
  if (document.at("node_count").get<uint64_t>() > kNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a roster has at most ", kNodesMax, " nodes"));
  }
  BLINK_ASSIGN_OR_RETURN(std::vector<NodeRange> retired, RangesFrom(document.at("retired")));
  BLINK_ASSIGN_OR_RETURN(Roster roster, Create(document.at("deployment"), document.at("roster_version").get<uint64_t>(),
                                               document.at("node_count").get<uint32_t>(), retired));
  if (roster.retired_ != retired) {
    return absl::InvalidArgumentError("the ranges of \"retired\" must ascend and neither overlap nor touch");
  }
  return roster;
} catch (const json::exception& error) {
  return absl::InvalidArgumentError(error.what());
}

std::string Roster::ToJson() const {
  nlohmann::ordered_json retired = nlohmann::ordered_json::array();
  for (const NodeRange& range : retired_) retired.push_back({range.first, range.last});
  const nlohmann::ordered_json document = {{"format", kFormat},
                                           {"deployment", deployment_},
                                           {"roster_version", version_},
                                           {"node_count", node_count_},
                                           {"retired", retired}};
  return document.dump() + "\n";
}

absl::Status Roster::CheckFollows(const Roster& before) const {
  if (deployment_ != before.deployment_) {
    return absl::FailedPreconditionError(absl::StrCat("the roster is of deployment \"", deployment_,
                                                      "\", the one before of \"", before.deployment_, "\""));
  }
  if (version_ < before.version_) {
    return absl::FailedPreconditionError(absl::StrCat("the roster has version ", version_, ", and version ",
                                                      before.version_,
                                                      " was in use already: a roster is never taken back"));
  }
  if (version_ == before.version_ && *this != before) {
    return absl::FailedPreconditionError(
        absl::StrCat("the roster has version ", version_,
                     ", but another roster of this version was in use: make the next one with "
                     "blink provision roster"));
  }
  if (node_count_ < before.node_count_) {
    return absl::FailedPreconditionError(absl::StrCat("the roster has ", node_count_, " nodes, the one before ",
                                                      before.node_count_, ": nodes are retired, ids never fall away"));
  }
  for (const NodeRange& range : before.retired_) {
    // Merged ranges: what was one range lies within one range, or a part of it has come back.
    const auto around = std::find_if(retired_.begin(), retired_.end(), [&](const NodeRange& now) {
      return now.first <= range.first && range.last <= now.last;
    });
    if (around == retired_.end()) {
      return absl::FailedPreconditionError(absl::StrCat("of the retired nodes ", range.first, "-", range.last,
                                                        " some would be active again: ids are never used again"));
    }
  }
  return absl::OkStatus();
}

}  // namespace blink
