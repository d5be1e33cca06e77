#include "tools/enrolment.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using nlohmann::json;

constexpr size_t kNameCharactersMax = 64;

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kNameCharactersMax && name.front() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

json PolicyToJson(const KitPolicy& policy) {
  return {{"epsilon_micro_per_round_max", policy.epsilon_micro_per_round_max},
          {"epsilon_micro_lifetime_max", policy.epsilon_micro_lifetime_max},
          {"epoch_seconds_min", policy.epoch_seconds_min},
          {"node_count_min", policy.node_count_min},
          {"send_spread_seconds", policy.send_spread_seconds}};
}

KitPolicy PolicyFromJson(const json& object) {
  KitPolicy policy;
  object.at("epsilon_micro_per_round_max").get_to(policy.epsilon_micro_per_round_max);
  object.at("epsilon_micro_lifetime_max").get_to(policy.epsilon_micro_lifetime_max);
  object.at("epoch_seconds_min").get_to(policy.epoch_seconds_min);
  object.at("node_count_min").get_to(policy.node_count_min);
  object.at("send_spread_seconds").get_to(policy.send_spread_seconds);
  return policy;
}

bool Overlap(const Identity& a, const Identity& b) {
  return a.kind == Identity::Kind::kNodes && b.kind == Identity::Kind::kNodes && a.first_node <= b.last_node &&
         b.first_node <= a.last_node;
}

bool Before(const Enrolled& a, const Enrolled& b) {
  if (a.identity.kind != b.identity.kind) return a.identity.kind < b.identity.kind;
  return a.identity.first_node < b.identity.first_node;
}

}  // namespace

std::string NameOfNodes(uint64_t first, uint64_t last) {
  return first == last ? absl::StrCat("node-", first) : absl::StrCat("nodes-", first, "-", last);
}

absl::StatusOr<Enrolment> Enrolment::Create(std::string deployment, uint32_t node_count, uint64_t roster_version) {
  const Identity probe = {.kind = Identity::Kind::kAggregator, .deployment = deployment};
  if (!Identity::FromUri(probe.ToUri()).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the deployment '", deployment, "' must be 1 to 64 characters of a-z, 0-9 and -"));
  }
  if (node_count < kNodesMin || node_count > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a roster has ", kNodesMin, " to ", kNodesMax, " nodes, not ", node_count));
  }
  Enrolment enrolment;
  enrolment.deployment_ = std::move(deployment);
  enrolment.node_count_ = node_count;
  enrolment.roster_version_ = roster_version;
  return enrolment;
}

absl::Status Enrolment::Add(Enrolled entry) {
  if (!IsName(entry.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name '", entry.name, "' must be 1 to 64 characters of a-z, 0-9 and -, and not begin with -"));
  }
  if (entry.identity.deployment != deployment_) {
    return absl::InvalidArgumentError(absl::StrCat(entry.identity.ToUri(), " is not of the deployment ", deployment_));
  }
  if (entry.identity.kind == Identity::Kind::kNodes && entry.identity.last_node >= node_count_) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.identity.ToUri(), " reaches past the roster's ", node_count_, " nodes"));
  }
  const auto place = std::upper_bound(entries_.begin(), entries_.end(), entry, Before);
  // Nodes lie sorted and disjoint, so only the two beside the place can share a node with the new entry.
  for (auto at = place == entries_.begin() ? place : place - 1; at != entries_.end() && at <= place; ++at) {
    if (Overlap(at->identity, entry.identity)) {
      return absl::InvalidArgumentError(absl::StrCat("the nodes of ", entry.name, " are in part those of ", at->name,
                                                     ": a node has one certificate"));
    }
  }
  for (const Enrolled& other : entries_) {
    if (other.name == entry.name)
      return absl::InvalidArgumentError(absl::StrCat("'", entry.name, "' is enrolled already"));
    if (other.identity == entry.identity) {
      return absl::InvalidArgumentError(absl::StrCat(entry.identity.ToUri(), " is enrolled already, as ", other.name));
    }
  }
  entries_.insert(place, std::move(entry));
  return absl::OkStatus();
}

absl::StatusOr<Enrolled*> Enrolment::Find(absl::string_view name) {
  for (Enrolled& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nobody is enrolled as '", name, "': enrol it first (blink provision enrol --name ", name, " ...)"));
}

std::string Enrolment::ToJson() const {
  json list = json::array();
  for (const Enrolled& entry : entries_) {
    list.push_back({{"name", entry.name},
                    {"uri", entry.identity.ToUri()},
                    {"dns", entry.dns_names},
                    {"ip", entry.ip_addresses},
                    {"serials", entry.serials}});
  }
  const json document = {{"format", 1},
                         {"deployment", deployment_},
                         {"node_count", node_count_},
                         {"roster_version", roster_version_},
                         {"aggregator", aggregator},
                         {"insecure", insecure},
                         {"policy", PolicyToJson(policy)},
                         {"enrolled", list}};
  return document.dump(1) + "\n";
}

absl::StatusOr<Enrolment> Enrolment::FromJson(const std::string& text) try {
  const json document = json::parse(text);
  if (document.at("format") != 1) return absl::InvalidArgumentError("this program reads format 1 only");
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment,
                         Create(document.at("deployment"), document.at("node_count").get<uint32_t>(),
                                document.at("roster_version").get<uint64_t>()));
  document.at("aggregator").get_to(enrolment.aggregator);
  document.at("insecure").get_to(enrolment.insecure);
  enrolment.policy = PolicyFromJson(document.at("policy"));
  for (const json& item : document.at("enrolled")) {
    Enrolled entry;
    item.at("name").get_to(entry.name);
    BLINK_ASSIGN_OR_RETURN(entry.identity, Identity::FromUri(item.at("uri").get<std::string>()));
    item.at("dns").get_to(entry.dns_names);
    item.at("ip").get_to(entry.ip_addresses);
    item.at("serials").get_to(entry.serials);
    BLINK_RETURN_IF_ERROR(enrolment.Add(std::move(entry)));
  }
  return enrolment;
} catch (const json::exception& error) {
  return absl::InvalidArgumentError(error.what());
}

}  // namespace blink
