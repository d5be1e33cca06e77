#include "tools/provision/enrolment.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/format_number.h"
#include "common/base/limits.h"
#include "common/base/name.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/wire/strict_json.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using nlohmann::json;

constexpr uint64_t kFormat = 1;

// A name that no command takes for a flag.
bool IsKitName(absl::string_view name) { return IsName(name) && name.front() != '-'; }

KitPolicy PolicyFromJson(const json& object) {
  KitPolicy policy;
  object.at("epsilon_micro_per_round_max").get_to(policy.epsilon_micro_per_round_max);
  object.at("epsilon_micro_lifetime_max").get_to(policy.epsilon_micro_lifetime_max);
  object.at("epoch_seconds_min").get_to(policy.epoch_seconds_min);
  object.at("node_count_min").get_to(policy.node_count_min);
  object.at("send_spread_seconds").get_to(policy.send_spread_seconds);
  return policy;
}

absl::StatusOr<absl::Time> ParseTime(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kIsoTimeFormat, text, &time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time as 2026-11-28T10:00:00Z"));
  }
  return time;
}

json CertificatesToJson(const std::vector<IssuedCertificate>& certificates) {
  json list = json::array();
  for (const IssuedCertificate& certificate : certificates) {
    json item = {{"serial", certificate.serial}};
    if (!certificate.key_digest.empty()) item["key"] = certificate.key_digest;
    if (certificate.not_after != absl::InfiniteFuture()) item["not_after"] = IsoTimeText(certificate.not_after);
    if (certificate.revoked.has_value()) {
      item["revoked"] = {{"date", IsoTimeText(certificate.revoked->when)}, {"reason", certificate.revoked->reason}};
    }
    list.push_back(std::move(item));
  }
  return list;
}

absl::StatusOr<std::vector<IssuedCertificate>> CertificatesFromJson(const json& entry) {
  std::vector<IssuedCertificate> certificates;
  if (!entry.contains("certificates")) {
    for (const json& serial : entry.at("serials")) certificates.push_back({.serial = serial.get<std::string>()});
    return certificates;
  }
  for (const json& item : entry.at("certificates")) {
    IssuedCertificate certificate = {.serial = item.at("serial").get<std::string>(),
                                     .key_digest = item.value("key", "")};
    if (item.contains("not_after")) {
      BLINK_ASSIGN_OR_RETURN(certificate.not_after, ParseTime(item.at("not_after").get<std::string>()));
    }
    if (item.contains("revoked")) {
      IssuedCertificate::Revoked revoked;
      BLINK_ASSIGN_OR_RETURN(revoked.when, ParseTime(item.at("revoked").at("date").get<std::string>()));
      item.at("revoked").at("reason").get_to(revoked.reason);
      certificate.revoked = std::move(revoked);
    }
    certificates.push_back(std::move(certificate));
  }
  return certificates;
}

json RostersToJson(const std::vector<Enrolment::DatedRoster>& rosters) {
  json list = json::array();
  for (const auto& [roster, date] : rosters) {
    json retired = json::array();
    for (const NodeRange& range : roster.retired()) retired.push_back({range.first, range.last});
    list.push_back({{"version", roster.version()},
                    {"node_count", roster.node_count()},
                    {"retired", std::move(retired)},
                    {"date", IsoTimeText(date)}});
  }
  return list;
}

absl::StatusOr<std::vector<Enrolment::DatedRoster>> RostersFromJson(const json& list, const std::string& deployment) {
  std::vector<Enrolment::DatedRoster> rosters;
  for (const json& item : list) {
    std::vector<NodeRange> retired;
    for (const json& pair : item.at("retired"))
      retired.push_back({pair.at(0).get<uint64_t>(), pair.at(1).get<uint64_t>()});
    BLINK_ASSIGN_OR_RETURN(Roster roster, Roster::Create(deployment, item.at("version").get<uint64_t>(),
                                                         item.at("node_count").get<uint32_t>(), std::move(retired)));
    if (!rosters.empty()) {
      const absl::Status follows = roster.CheckFollows(rosters.back().roster);
      if (!follows.ok()) return absl::InvalidArgumentError(follows.message());
    }
    BLINK_ASSIGN_OR_RETURN(const absl::Time date, ParseTime(item.at("date").get<std::string>()));
    rosters.push_back({std::move(roster), date});
  }
  return rosters;
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

nlohmann::ordered_json PolicyMembers(const KitPolicy& policy) {
  return {{"epsilon_micro_per_round_max", policy.epsilon_micro_per_round_max},
          {"epsilon_micro_lifetime_max", policy.epsilon_micro_lifetime_max},
          {"epoch_seconds_min", policy.epoch_seconds_min},
          {"node_count_min", policy.node_count_min},
          {"send_spread_seconds", policy.send_spread_seconds}};
}

std::string NameOfNodes(uint64_t first, uint64_t last) {
  return first == last ? absl::StrCat("node-", first) : absl::StrCat("nodes-", first, "-", last);
}

absl::StatusOr<Enrolment> Enrolment::Create(std::string deployment, uint32_t node_count, uint64_t roster_version) {
  const Identity probe = {.kind = Identity::Kind::kAggregator, .deployment = deployment};
  if (!Identity::FromUri(probe.ToUri()).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the deployment '", deployment, "' must be 1 to 64 characters of a-z, 0-9 and -"));
  }
  BLINK_ASSIGN_OR_RETURN(Roster roster, Roster::Create(std::move(deployment), roster_version, node_count, {}));
  Enrolment enrolment;
  enrolment.rosters_.push_back({std::move(roster), absl::Now()});
  return enrolment;
}

absl::Status Enrolment::Add(Enrolled entry) {
  if (entry.identity.kind == Identity::Kind::kNodes) {
    for (const NodeRange& range : roster().retired()) {
      if (entry.identity.first_node <= range.last && range.first <= entry.identity.last_node) {
        return absl::InvalidArgumentError(absl::StrCat("of the nodes of ", entry.name, " some are retired (",
                                                       range.first, "-", range.last,
                                                       "): ids are never used again, add nodes instead (blink "
                                                       "provision roster --nodes)"));
      }
    }
  }
  return Insert(std::move(entry));
}

absl::Status Enrolment::Insert(Enrolled entry) {
  if (!IsKitName(entry.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name '", entry.name, "' must be ", kNameRule, ", and not begin with -"));
  }
  if (entry.identity.deployment != deployment()) {
    return absl::InvalidArgumentError(absl::StrCat(entry.identity.ToUri(), " is not of the deployment ", deployment()));
  }
  if (entry.identity.kind == Identity::Kind::kNodes && entry.identity.last_node >= node_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the nodes ", entry.identity.first_node, "-", entry.identity.last_node, " of ", entry.name,
                     " reach past the roster, which has 0-", node_count() - 1,
                     ": name nodes of the roster, or let it grow first (blink provision roster --nodes ",
                     uint64_t{entry.identity.last_node} + 1, ")"));
  }
  if (names_.count(entry.name) > 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", entry.name,
                     "' is enrolled already: give another --name, or sign for the one that is there (blink "
                     "provision sign)"));
  const auto place = std::upper_bound(entries_.begin(), entries_.end(), entry, Before);
  // Nodes lie sorted and disjoint, so only the two beside the place can share a node with the new entry.
  for (auto at = place == entries_.begin() ? place : place - 1; at != entries_.end() && at <= place; ++at) {
    if (Overlap(at->identity, entry.identity)) {
      return absl::InvalidArgumentError(absl::StrCat("the nodes of ", entry.name, " are in part those of ", at->name,
                                                     ": a node has one certificate"));
    }
  }
  if (!uris_.insert(entry.identity.ToUri()).second) {
    return absl::InvalidArgumentError(absl::StrCat(entry.identity.ToUri(), " is enrolled already, under another name"));
  }
  names_.insert(entry.name);
  entries_.insert(place, std::move(entry));
  return absl::OkStatus();
}

absl::StatusOr<Enrolled*> Enrolment::Find(absl::string_view name) {
  for (Enrolled& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nobody is enrolled as '", name,
                   "': choose a name that blink provision list shows, or add one with blink provision enrol"));
}

absl::Status Enrolment::AdvanceRoster(std::optional<uint32_t> node_count, std::vector<NodeRange> retired,
                                      absl::Time date) {
  const Roster& now = roster();
  const uint32_t nodes = node_count.value_or(now.node_count());
  if (nodes < now.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the roster has ", now.node_count(), " nodes, and ", nodes,
                                                   " are fewer: ids never fall away, retire nodes instead (--retire)"));
  }
  for (const NodeRange& range : retired) {
    if (range.last < nodes) continue;
    return absl::InvalidArgumentError(absl::StrCat("the nodes ", range.first, "-", range.last,
                                                   " cannot retire: the roster has 0-", nodes - 1,
                                                   ", so name nodes of it (--retire)"));
  }
  retired.insert(retired.end(), now.retired().begin(), now.retired().end());
  BLINK_ASSIGN_OR_RETURN(Roster next, Roster::Create(now.deployment(), now.version() + 1, nodes, std::move(retired)));
  if (next.node_count() == now.node_count() && next.retired() == now.retired()) {
    return absl::InvalidArgumentError(
        absl::StrCat("nothing changes: the roster has ", nodes, " nodes already, and those nodes are retired already"));
  }
  rosters_.push_back({std::move(next), date});
  return absl::OkStatus();
}

bool Enrolment::IsRetired(const Enrolled& entry) const {
  if (entry.identity.kind != Identity::Kind::kNodes) return false;
  for (const NodeRange& range : roster().retired()) {
    if (range.first <= entry.identity.first_node && entry.identity.last_node <= range.last) return true;
  }
  return false;
}

absl::StatusOr<size_t> Enrolment::Revoke(absl::string_view name, const std::optional<std::string>& serial,
                                         const std::string& reason, absl::Time when) {
  const std::vector<std::string>& reasons = RevocationReasons();
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", reason, "' is no reason for a revocation: it is ", absl::StrJoin(reasons, ", ")));
  }
  BLINK_ASSIGN_OR_RETURN(Enrolled * entry, Find(name));
  size_t count = 0;
  bool known = false;
  for (IssuedCertificate& certificate : entry->certificates) {
    if (serial.has_value() && certificate.serial != *serial) continue;
    known = true;
    if (certificate.revoked.has_value() || (!serial.has_value() && certificate.not_after < when)) continue;
    certificate.revoked = {when, reason};
    ++count;
  }
  if (count > 0) return count;
  if (!serial.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     " has no certificate that is neither revoked nor expired, so there is nothing to revoke "
                     "(blink provision list shows what it has)"));
  }
  return absl::InvalidArgumentError(known
                                        ? absl::StrCat("the certificate ", *serial, " of ", name, " is revoked already")
                                        : absl::StrCat(name, " was never given a certificate with the serial number ",
                                                       *serial, " (enrolment.json lists them)"));
}

std::vector<RevokedCertificate> Enrolment::revoked() const {
  std::vector<RevokedCertificate> all;
  for (const Enrolled& entry : entries_) {
    for (const IssuedCertificate& certificate : entry.certificates) {
      if (certificate.revoked.has_value()) {
        all.push_back({certificate.serial, certificate.revoked->when, certificate.revoked->reason});
      }
    }
  }
  return all;
}

std::string Enrolment::OwnerOfKey(absl::string_view key_digest) const {
  for (const Enrolled& entry : entries_) {
    for (const IssuedCertificate& certificate : entry.certificates) {
      if (certificate.key_digest == key_digest) return entry.name;
    }
  }
  return "";
}

std::string Enrolment::ToJson() const {
  json list = json::array();
  for (const Enrolled& entry : entries_) {
    list.push_back({{"name", entry.name},
                    {"uri", entry.identity.ToUri()},
                    {"dns", entry.dns_names},
                    {"ip", entry.ip_addresses},
                    {"certificates", CertificatesToJson(entry.certificates)}});
  }
  const json document = {{"format", kFormat},
                         {"deployment", deployment()},
                         {"node_count", node_count()},
                         {"roster_version", roster_version()},
                         {"rosters", RostersToJson(rosters_)},
                         {"crl_number", crl_number},
                         {"aggregator", aggregator},
                         {"insecure", insecure},
                         {"policy", json(PolicyMembers(policy))},
                         {"enrolled", list}};
  return document.dump(1) + "\n";
}

absl::StatusOr<Enrolment> Enrolment::FromJson(const std::string& text) try {
  BLINK_ASSIGN_OR_RETURN(const json document, ParseStrictJson(text, ""));
  const json& format = document.at("format");
  if (!format.is_number_unsigned()) return absl::InvalidArgumentError("\"format\" must be a whole number");
  if (format != kFormat) {
    return absl::InvalidArgumentError(OtherFormat("the enrolment", format.get<uint64_t>(), kFormat).message());
  }
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment,
                         Create(document.at("deployment"), document.at("node_count").get<uint32_t>(),
                                document.at("roster_version").get<uint64_t>()));
  document.at("aggregator").get_to(enrolment.aggregator);
  document.at("insecure").get_to(enrolment.insecure);
  enrolment.policy = PolicyFromJson(document.at("policy"));
  enrolment.crl_number = document.value("crl_number", uint64_t{0});
  if (document.contains("rosters")) {
    BLINK_ASSIGN_OR_RETURN(std::vector<DatedRoster> rosters,
                           RostersFromJson(document.at("rosters"), enrolment.deployment()));
    if (rosters.empty() || rosters.back().roster.version() != enrolment.roster_version() ||
        rosters.back().roster.node_count() != enrolment.node_count()) {
      return absl::InvalidArgumentError(
          "\"node_count\" and \"roster_version\" are not those of the last of \"rosters\"");
    }
    enrolment.rosters_ = std::move(rosters);
  }
  for (const json& item : document.at("enrolled")) {
    Enrolled entry;
    item.at("name").get_to(entry.name);
    BLINK_ASSIGN_OR_RETURN(entry.identity, Identity::FromUri(item.at("uri").get<std::string>()));
    item.at("dns").get_to(entry.dns_names);
    item.at("ip").get_to(entry.ip_addresses);
    BLINK_ASSIGN_OR_RETURN(entry.certificates, CertificatesFromJson(item));
    BLINK_RETURN_IF_ERROR(enrolment.Insert(std::move(entry)));
  }
  return enrolment;
} catch (const json::exception& error) {
  return absl::InvalidArgumentError(error.what());
}

}  // namespace blink
