// OUT/enrolment.json: the authority's own list of who may have which certificate. Everything that a certificate says
// comes from this list.
//
//   {"format":1,"deployment":"demo","node_count":2708,"roster_version":1,"aggregator":"host:7443","insecure":false,
//    "policy":{...},"rosters":[{"version":1,"node_count":2708,"retired":[],"date":"2026-11-28T10:00:00Z"}, ...],
//    "crl_number":3,"enrolled":[{"name":"nodes-0-135","uri":"blink://demo/nodes/0-135","dns":[],"ip":[],
//                 "certificates":[{"serial":"...","key":"<SHA-256 of the public key>","not_after":"...",
//                                  "revoked":{"date":"...","reason":"superseded"}}, ...]}, ...]}
//
// The last of "rosters" is in use, and "node_count" and "roster_version" repeat it. Lists that are older than
// revocations have "serials" in the place of "certificates", and no "rosters".
#ifndef BLINK_TOOLS_PROVISION_ENROLMENT_H_
#define BLINK_TOOLS_PROVISION_ENROLMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/identity.h"
#include "common/pki/revocation.h"
#include "common/wire/roster.h"
#include "nlohmann/json_fwd.hpp"

namespace blink {

// The policy that is suggested to a node: the members of its policy.json.
struct KitPolicy {
  uint64_t epsilon_micro_per_round_max = 8'000'000;
  uint64_t epsilon_micro_lifetime_max = 64'000'000;
  int64_t epoch_seconds_min = 86'400;
  uint32_t node_count_min = 3;
  int64_t send_spread_seconds = 0;
};
nlohmann::ordered_json PolicyMembers(const KitPolicy& policy);

struct IssuedCertificate {
  std::string serial;      // hexadecimal
  std::string key_digest;  // SHA-256 of the public key, hexadecimal; empty: not known
  absl::Time not_after = absl::InfiniteFuture();
  struct Revoked {
    absl::Time when;
    std::string reason;
  };
  std::optional<Revoked> revoked;
};

struct Enrolled {
  std::string name;  // [a-z0-9-]{1,64}; the name of the kit's folder
  Identity identity;
  std::vector<std::string> dns_names;           // aggregator
  std::vector<std::string> ip_addresses;        // aggregator
  std::vector<IssuedCertificate> certificates;  // every one that was ever issued to it
};

class Enrolment {
 public:
  struct DatedRoster {
    Roster roster;
    absl::Time date;
  };

  // Returns INVALID_ARGUMENT, naming the value and its range.
  static absl::StatusOr<Enrolment> Create(std::string deployment, uint32_t node_count, uint64_t roster_version);
  static absl::StatusOr<Enrolment> FromJson(const std::string& text);
  std::string ToJson() const;

  // Returns INVALID_ARGUMENT when
  // - the name is taken or malformed,
  // - the identity is of another deployment, is enrolled already, or shares a node with one that is,
  // - one of its nodes is retired or past the roster.
  absl::Status Add(Enrolled entry);
  // Returns INVALID_ARGUMENT when nobody of that name is enrolled.
  absl::StatusOr<Enrolled*> Find(absl::string_view name);

  // Makes the next roster, of `node_count` nodes (absent: as many as now). The nodes of `retired` are retired as well
  // as those that are already. Returns INVALID_ARGUMENT when there are fewer nodes than before, when nothing changes,
  // or when Roster::Create refuses.
  absl::Status AdvanceRoster(std::optional<uint32_t> node_count, std::vector<NodeRange> retired, absl::Time date);
  // Whether `entry` is of nodes that are all retired.
  bool IsRetired(const Enrolled& entry) const;

  // Revokes the certificate `serial` of `name`. Without a serial number, revokes all certificates of the name that are
  // not revoked and have not expired at `when`. Returns how many. Returns INVALID_ARGUMENT for an unknown name, serial
  // number or reason, and when nothing is left to revoke.
  absl::StatusOr<size_t> Revoke(absl::string_view name, const std::optional<std::string>& serial,
                                const std::string& reason, absl::Time when);
  std::vector<RevokedCertificate> revoked() const;
  // The name that a certificate with this key was issued to, or "".
  std::string OwnerOfKey(absl::string_view key_digest) const;

  const std::string& deployment() const { return roster().deployment(); }
  uint32_t node_count() const { return roster().node_count(); }
  uint64_t roster_version() const { return roster().version(); }
  const Roster& roster() const { return rosters_.back().roster; }
  const std::vector<DatedRoster>& rosters() const { return rosters_; }
  const std::vector<Enrolled>& entries() const { return entries_; }

  std::string aggregator;  // HOST:PORT that the kits are told; may be empty
  bool insecure = false;
  KitPolicy policy;
  uint64_t crl_number = 0;  // of the last revocation list; 0: none was made yet

 private:
  absl::Status Insert(Enrolled entry);

  std::vector<DatedRoster> rosters_;              // never empty, ascending versions
  std::vector<Enrolled> entries_;                 // nodes by their first node, then the others
  std::unordered_set<std::string> names_, uris_;  // of the entries
};

// "node-3" or "nodes-0-135".
std::string NameOfNodes(uint64_t first, uint64_t last);

}  // namespace blink

#endif  // BLINK_TOOLS_PROVISION_ENROLMENT_H_
