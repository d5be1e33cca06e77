// Says who is who in a deployment. Makes the certificate authority, its list of names, and the folders from which the
// programs start.
//
//   in the field                                          for a simulation
//   InitAuthority(OUT)        ca/, enrolment.json         ProvisionFleet(OUT): all of it at once, keys included
//   Enrol(OUT, "nodes-0-9")   kits/nodes-0-9/ (no key)
//   ... blink-node init makes key and request on the device ...
//   SignRequest(OUT, "nodes-0-9", request, certificate)
//   Revoke(OUT, "nodes-0-9", ...)                         revoked.crl.pem
//   ChangeRoster(OUT, ...)                                aggregator/roster.json, kits/*/kit.json, revoked.crl.pem
//
// Security: OUT/ca/ca.key can name anybody; keep OUT off the machines of the aggregator and the nodes. Keys are 0600,
// folders 0700. No file that is written names an absolute path, so that a folder works wherever it is mounted.
#ifndef BLINK_TOOLS_PROVISION_PROVISION_H_
#define BLINK_TOOLS_PROVISION_PROVISION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/provision/enrolment.h"

namespace blink {

// How long a revocation list is good by default. A new one must reach the aggregator within this time.
inline constexpr absl::Duration kRevocationListValidFor = absl::Hours(24 * 90);

struct AuthorityOptions {
  std::string out;  // must not exist
  std::string deployment;
  uint32_t node_count = 0;
  uint64_t roster_version = 1;
  std::string aggregator;  // HOST:PORT for the kits
  bool insecure = false;   // kits without TLS: loopback only
  KitPolicy policy;
  absl::Duration valid_for = absl::Hours(24 * 3650);
};
// Returns INVALID_ARGUMENT, naming the value that is out of its range. Looks at no file.
absl::Status CheckAuthorityOptions(const AuthorityOptions& options);

// Returns what CheckAuthorityOptions returns, and INVALID_ARGUMENT when OUT exists.
absl::Status InitAuthority(const AuthorityOptions& options);

// Adds one name to the list, and makes its folder: a kit for nodes, operator/ or aggregator/ with the configuration.
absl::Status Enrol(const std::string& out, Enrolled entry);

// Returns INVALID_ARGUMENT, naming what is no DNS name or no IP address.
absl::Status CheckHostNames(const std::vector<std::string>& dns_names, const std::vector<std::string>& ip_addresses);

// Signs `request_path` for an enrolled name, writes the certificate to `certificate_path`, and returns when it expires.
// Certificates that the name has already stay good until they expire or are revoked. Returns INVALID_ARGUMENT when the
// name is not enrolled or retired, when the request is malformed, or when its key was certified before. `dns_names` and
// `ip_addresses` are added to what an aggregator was enrolled with.
absl::StatusOr<absl::Time> SignRequest(const std::string& out, const std::string& name, const std::string& request_path,
                                       const std::string& certificate_path, absl::Duration valid_for,
                                       const std::vector<std::string>& dns_names = {},
                                       const std::vector<std::string>& ip_addresses = {});

struct ListedCertificate {
  std::string name;                           // as enrolled
  std::string identity;                       // blink://...
  std::string serial;                         // "": the name has no certificate yet
  absl::Time until = absl::InfiniteFuture();  // InfiniteFuture: not known
  std::string state;                          // good, expires soon, expired, revoked, none
};
struct CertificateList {
  absl::Time authority_until;
  std::optional<absl::Time> revocations_until;  // absent: there is no readable list
  std::vector<ListedCertificate> certificates;  // in the order of the enrolment, then of their issue
};
// Who has which certificate until when.
absl::StatusOr<CertificateList> ListCertificates(const std::string& out, absl::Time now);

struct RevokeOptions {
  std::string out, name;
  std::string serial;  // empty: every certificate of the name
  std::string reason = "unspecified";
};
// Records the revocation, and writes the list as RenewRevocationList does. Returns how many certificates were revoked.
absl::StatusOr<size_t> Revoke(const RevokeOptions& options, absl::Duration list_valid_for);

struct RevocationListSummary {
  uint64_t number = 0;
  size_t revoked = 0;  // certificates on it
  absl::Time good_until;
};
// Writes OUT/revoked.crl.pem under the next number, and a copy into OUT/aggregator if that folder exists. Works also in
// folders that are older than revocations.
absl::StatusOr<RevocationListSummary> RenewRevocationList(const std::string& out, absl::Duration list_valid_for);

struct RosterChange {
  std::string out;
  std::optional<uint32_t> node_count;  // absent: as many as now
  std::vector<NodeRange> retire;
};
struct RosterSummary {
  uint64_t version = 0;
  uint32_t node_count = 0;
  uint32_t active_count = 0;
  size_t kits = 0;                        // whose kit.json was brought up to date
  std::vector<std::string> kits_missing;  // names whose kit is not in OUT/kits
  std::vector<std::string> revoked;       // names whose nodes are all retired
};
// Makes the next roster, writes OUT/aggregator/roster.json and the kits' kit.json, and revokes the certificates of
// names whose nodes are all retired. Without a change it writes the files of the present roster again, since a crash
// may have left some undone.
absl::StatusOr<RosterSummary> ChangeRoster(const RosterChange& change, absl::Duration list_valid_for);

// Makes a key (0600) and a request for it. The aggregator and operators need this, since they have no blink-node. Never
// replaces a key.
absl::Status MakeKeyAndRequest(const std::string& key_path, const std::string& request_path,
                               const std::string& common_name);

struct FleetOptions {
  AuthorityOptions authority;  // with `aggregator`
  uint32_t kits = 1;           // 1 .. node_count
  // empty: the aggregator's address when it is loopback, otherwise every interface at its port
  std::string listen;
  std::vector<std::string> dns_names, ip_addresses;  // that the aggregator's certificate carries as well
};
// Returns INVALID_ARGUMENT, naming the value that is out of its range. Looks at no file.
absl::Status CheckFleetOptions(const FleetOptions& options);

// Makes everything that a simulated fleet needs, journals included, except its lists and attributes, which
// `blink dataset shard` makes. Calls `progress(done)` after every folder, ascending, from one thread at a time.
absl::Status ProvisionFleet(const FleetOptions& options, const std::function<void(uint32_t)>& progress = nullptr);

}  // namespace blink

#endif  // BLINK_TOOLS_PROVISION_PROVISION_H_
