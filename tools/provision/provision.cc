#include "tools/provision/provision.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "node_client/journal.h"
#include "node_client/policy_file.h"
#include "tools/new_folder.h"
#include "tools/provision/files.h"

namespace blink {
namespace {

using provision_internal::FindPlace;
using provision_internal::LoadAuthority;
using provision_internal::LoadEnrolment;
using provision_internal::Place;
using provision_internal::PolicyJson;
using provision_internal::SaveEnrolment;
using provision_internal::SignNextList;
using provision_internal::WritePlace;

constexpr absl::Duration kCertificateValidFor = absl::Hours(24 * 365);

std::string ListenAddress(const std::string& aggregator) {
  if (RequireLoopback(aggregator).ok()) return aggregator;
  return absl::StrCat("0.0.0.0", aggregator.substr(aggregator.rfind(':')));
}

// What an aggregator's certificate carries beside its URI, so that any client can verify it: the deployment's DNS name,
// the host that the kits are told, and what was enrolled.
void AddServerNames(const Enrolment& enrolment, const Enrolled& entry, CertificateOptions& options) {
  const absl::StatusOr<Address> told = ParseAddress(enrolment.aggregator);  // checked when it was enrolled
  const std::string host = told.ok() ? told->host : "";
  const auto add = [](const std::string& name, std::vector<std::string>& names) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  options.server = true;
  add(entry.identity.DnsName(), options.dns_names);
  for (const std::string& name : entry.dns_names) add(name, options.dns_names);
  for (const std::string& address : entry.ip_addresses) add(address, options.ip_addresses);
  if (IsIpAddress(host)) {
    add(host, options.ip_addresses);
  } else if (IsDnsName(host)) {
    add(host, options.dns_names);
  }
}

absl::StatusOr<std::string> Issue(const CertificateAuthority& authority, const Enrolment& enrolment,
                                  const std::string& request, absl::Duration valid_for, Enrolled& entry) {
  CertificateOptions options = {.uri_san = entry.identity.ToUri(), .valid_for = valid_for};
  if (entry.identity.kind == Identity::Kind::kAggregator) AddServerNames(enrolment, entry, options);
  BLINK_ASSIGN_OR_RETURN(const std::string certificate, SignRequest(authority, request, options));
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo info, InspectCertificate(certificate));
  entry.certificates.push_back({.serial = info.serial, .key_digest = info.key_digest, .not_after = info.not_after});
  return certificate;
}

// A key has one certificate in its life: whoever had a copy of the old key would have the new certificate as well.
absl::Status CheckNewKey(const Enrolment& enrolment, const CertificateAuthority& authority,
                         const std::string& request_path, const std::string& request) {
  const absl::StatusOr<std::string> digest = KeyDigestOfRequest(request);
  if (!digest.ok()) return InFile(request_path, digest.status());
  std::string owner = enrolment.OwnerOfKey(*digest);
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo own, InspectCertificate(authority.certificate));
  if (own.key_digest == *digest) owner = "the authority itself";
  if (owner.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(request_path, ": a certificate with this key was issued to ", owner,
                                                 " already: make a new key and a new request"));
}

absl::Status WriteKeyAndCertificate(const std::string& out, const CertificateAuthority& authority,
                                    const Enrolment& enrolment, Enrolled& entry) {
  const Place place = FindPlace(out, entry);
  const std::string stem = absl::StrCat(place.folder, "/tls/", place.side);
  BLINK_ASSIGN_OR_RETURN(const std::string key, GenerateKey());
  BLINK_ASSIGN_OR_RETURN(const std::string request, MakeRequest(key, entry.name));
  BLINK_ASSIGN_OR_RETURN(const std::string certificate,
                         Issue(authority, enrolment, request, kCertificateValidFor, entry));
  BLINK_RETURN_IF_ERROR(WriteNew(stem + ".key", key));
  return WriteNew(stem + ".crt", certificate);
}

absl::Status WriteJournal(const std::string& out, const Enrolment& enrolment, const Enrolled& entry) {
  if (entry.identity.kind != Identity::Kind::kNodes) return absl::OkStatus();
  const JournalIdentity identity = {.deployment = enrolment.deployment(),
                                    .first_node = static_cast<NodeIndex>(entry.identity.first_node),
                                    .last_node = static_cast<NodeIndex>(entry.identity.last_node),
                                    .node_count = enrolment.node_count(),
                                    .roster_version = enrolment.roster_version()};
  const std::string folder = absl::StrCat(out, "/journals/", entry.name);
  // unsynced, as it may be until Publish; CreateJournal would sync its parent
  BLINK_RETURN_IF_ERROR(MakeFolder(folder));
  return CreateJournal(folder, identity);
}

absl::StatusOr<Enrolment> MakeEnrolment(const AuthorityOptions& options) {
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment,
                         Enrolment::Create(options.deployment, options.node_count, options.roster_version));
  if (!options.aggregator.empty()) BLINK_RETURN_IF_ERROR(ParseAddress(options.aggregator).status());
  if (options.insecure) BLINK_RETURN_IF_ERROR(RequireLoopback(options.aggregator));
  enrolment.aggregator = options.aggregator;
  enrolment.insecure = options.insecure;
  enrolment.policy = options.policy;
  // As the nodes will read it: what they would refuse is refused here.
  BLINK_RETURN_IF_ERROR(ParsePolicy(PolicyJson(enrolment), "the policy suggested to the nodes").status());
  return enrolment;
}

// Key, certificate and an empty list of revocations.
absl::StatusOr<CertificateAuthority> WriteAuthority(const std::string& out, const AuthorityOptions& options,
                                                    Enrolment& enrolment) {
  BLINK_ASSIGN_OR_RETURN(CertificateAuthority authority,
                         CreateAuthority(absl::StrCat("blink ", options.deployment), options.valid_for));
  BLINK_RETURN_IF_ERROR(MakeFolder(out + "/ca"));
  BLINK_RETURN_IF_ERROR(WriteNew(out + "/ca/ca.key", authority.key));
  BLINK_RETURN_IF_ERROR(WriteNew(out + "/ca/ca.crt", authority.certificate));
  BLINK_ASSIGN_OR_RETURN(const std::string list, SignNextList(authority, enrolment, kRevocationListValidFor));
  BLINK_RETURN_IF_ERROR(WriteNew(out + "/revoked.crl.pem", list));
  return authority;
}

// Calls work(0) .. work(count - 1), each once, by kWriters threads, and progress(calls done so far) one call at a time.
// After an error no further call begins; returns the first error.
//
// More threads than cores, because they wait: a journal is fsynced when it is made, and the file system puts the fsyncs
// that wait at the same time into one write.
absl::Status ForEachSideBySide(size_t count, const std::function<absl::Status(size_t)>& work,
                               const std::function<void(uint32_t)>& progress) {
  constexpr size_t kWriters = 32;
  std::mutex mutex;
  size_t next = 0;
  uint32_t done = 0;
  absl::Status first_error;
  const auto run = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (first_error.ok() && next < count) {
      const size_t mine = next++;
      lock.unlock();
      absl::Status status = work(mine);
      lock.lock();
      ++done;
      if (first_error.ok()) first_error = std::move(status);
      if (first_error.ok() && progress) progress(done);
    }
  };
  RunOnThreads(static_cast<int>(std::min(count, kWriters)), [&](int) { run(); });
  return first_error;
}

std::string ListenAddressOf(const FleetOptions& options) {
  return options.listen.empty() ? ListenAddress(options.authority.aggregator) : options.listen;
}

Enrolled AggregatorEntry(const Enrolment& enrolment, const FleetOptions& options) {
  Enrolled entry = {.name = "aggregator",
                    .identity = {.kind = Identity::Kind::kAggregator, .deployment = enrolment.deployment()},
                    .dns_names = options.dns_names,
                    .ip_addresses = options.ip_addresses};
  if (RequireLoopback(enrolment.aggregator).ok()) {
    entry.dns_names.push_back("localhost");
    entry.ip_addresses.insert(entry.ip_addresses.end(), {"127.0.0.1", "::1"});
  }
  return entry;
}

}  // namespace

absl::Status CheckHostNames(const std::vector<std::string>& dns_names, const std::vector<std::string>& ip_addresses) {
  for (const std::string& name : dns_names) {
    if (!IsDnsName(name)) return absl::InvalidArgumentError(absl::StrCat("--dns: '", name, "' is not a DNS name"));
  }
  for (const std::string& address : ip_addresses) {
    if (!IsIpAddress(address)) {
      return absl::InvalidArgumentError(absl::StrCat("--ip: '", address, "' is not an IP address"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAuthorityOptions(const AuthorityOptions& options) { return MakeEnrolment(options).status(); }

absl::Status InitAuthority(const AuthorityOptions& options) {
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, MakeEnrolment(options));
  BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(options.out));
  BLINK_RETURN_IF_ERROR(WriteAuthority(staging.path(), options, enrolment).status());
  BLINK_RETURN_IF_ERROR(WriteNew(staging.path() + "/enrolment.json", enrolment.ToJson()));
  return staging.Publish();
}

absl::Status Enrol(const std::string& out, Enrolled entry) {
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(out + "/enrolment.lock"));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, LoadEnrolment(out));
  if (enrolment.aggregator.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(out, "/enrolment.json: \"aggregator\" is empty, and a kit must name HOST:PORT: write it there"));
  }
  entry.identity.deployment = enrolment.deployment();
  BLINK_RETURN_IF_ERROR(enrolment.Add(entry));
  BLINK_ASSIGN_OR_RETURN(const CertificateAuthority authority, LoadAuthority(out));
  const std::string place = FindPlace(out, entry).folder;
  std::error_code ignored;
  if (std::filesystem::exists(place, ignored))
    return absl::InvalidArgumentError(absl::StrCat(place, " exists already"));
  absl::Status status = WritePlace(out, enrolment, entry, authority.certificate, ListenAddress(enrolment.aggregator));
  if (status.ok()) status = SaveEnrolment(out, enrolment);
  if (!status.ok()) std::filesystem::remove_all(place, ignored);  // what is left would refuse another attempt
  return status;
}

absl::StatusOr<absl::Time> SignRequest(const std::string& out, const std::string& name, const std::string& request_path,
                                       const std::string& certificate_path, absl::Duration valid_for,
                                       const std::vector<std::string>& dns_names,
                                       const std::vector<std::string>& ip_addresses) {
  BLINK_RETURN_IF_ERROR(CheckHostNames(dns_names, ip_addresses));
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(out + "/enrolment.lock"));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, LoadEnrolment(out));
  BLINK_ASSIGN_OR_RETURN(Enrolled * entry, enrolment.Find(name));
  BLINK_ASSIGN_OR_RETURN(const CertificateAuthority authority, LoadAuthority(out));
  if (enrolment.IsRetired(*entry)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is retired since roster version ",
                                                   enrolment.roster_version(),
                                                   " at the latest: its ids are never used again"));
  }
  if (entry->identity.kind == Identity::Kind::kAggregator) {
    entry->dns_names.insert(entry->dns_names.end(), dns_names.begin(), dns_names.end());
    entry->ip_addresses.insert(entry->ip_addresses.end(), ip_addresses.begin(), ip_addresses.end());
  } else if (!dns_names.empty() || !ip_addresses.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dns and --ip are for the aggregator: ", name, " is known by its URI alone"));
  }
  BLINK_ASSIGN_OR_RETURN(const std::string request, ReadFile(request_path, kPemBytesMax));
  BLINK_RETURN_IF_ERROR(CheckNewKey(enrolment, authority, request_path, request));
  const absl::StatusOr<std::string> certificate = Issue(authority, enrolment, request, valid_for, *entry);
  if (!certificate.ok()) return InFile(request_path, certificate.status());
  // The list first: a certificate that is out must be in it.
  BLINK_RETURN_IF_ERROR(SaveEnrolment(out, enrolment));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(certificate_path, *certificate, 0644));
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo info, InspectCertificate(*certificate));
  return info.not_after;
}

absl::Status MakeKeyAndRequest(const std::string& key_path, const std::string& request_path,
                               const std::string& common_name) {
  BLINK_ASSIGN_OR_RETURN(const std::string key, GenerateKey());
  BLINK_ASSIGN_OR_RETURN(const std::string request, MakeRequest(key, common_name));
  std::error_code ignored;
  if (std::filesystem::exists(key_path, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(key_path, " exists already: a key is not replaced"));
  }
  BLINK_RETURN_IF_ERROR(WriteNew(key_path, key));
  const absl::Status written = WriteFileAtomically(request_path, request, 0644);
  if (!written.ok()) std::filesystem::remove(key_path, ignored);  // what is left would refuse another attempt
  return written;
}

absl::Status CheckFleetOptions(const FleetOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckAuthorityOptions(options.authority));
  BLINK_RETURN_IF_ERROR(ParseAddress(options.authority.aggregator).status());
  if (options.kits < 1 || options.kits > options.authority.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("the number of kits must be 1 to the ", options.authority.node_count,
                                                   " nodes, not ", options.kits));
  }
  BLINK_RETURN_IF_ERROR(CheckHostNames(options.dns_names, options.ip_addresses));
  return ParseAddress(ListenAddressOf(options), AddressUse::kListen).status();
}

absl::Status ProvisionFleet(const FleetOptions& options, const std::function<void(uint32_t)>& progress) {
  BLINK_RETURN_IF_ERROR(CheckFleetOptions(options));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, MakeEnrolment(options.authority));
  const uint64_t n = enrolment.node_count();
  const std::string listen = ListenAddressOf(options);
  std::vector<Enrolled> entries = {
      AggregatorEntry(enrolment, options),
      {.name = "operator",
       .identity = {.kind = Identity::Kind::kOperator, .deployment = enrolment.deployment(), .name = "operator"}}};
  for (uint64_t k = 0; k < options.kits; ++k) {
    const uint64_t first = k * n / options.kits;
    const uint64_t last = (k + 1) * n / options.kits - 1;
    entries.push_back({.name = NameOfNodes(first, last),
                       .identity = {.deployment = enrolment.deployment(), .first_node = first, .last_node = last}});
  }
  BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(options.authority.out));
  const std::string& out = staging.path();
  BLINK_ASSIGN_OR_RETURN(const CertificateAuthority authority, WriteAuthority(out, options.authority, enrolment));
  BLINK_RETURN_IF_ERROR(MakeFolder(out + "/kits"));
  BLINK_RETURN_IF_ERROR(MakeFolder(out + "/journals"));
  BLINK_RETURN_IF_ERROR(ForEachSideBySide(
      entries.size(),
      [&](size_t i) -> absl::Status {
        BLINK_RETURN_IF_ERROR(WritePlace(out, enrolment, entries[i], authority.certificate, listen));
        if (!enrolment.insecure) BLINK_RETURN_IF_ERROR(WriteKeyAndCertificate(out, authority, enrolment, entries[i]));
        return WriteJournal(out, enrolment, entries[i]);
      },
      progress));
  for (Enrolled& entry : entries) BLINK_RETURN_IF_ERROR(enrolment.Add(std::move(entry)));
  BLINK_RETURN_IF_ERROR(WriteNew(out + "/enrolment.json", enrolment.ToJson()));
  return staging.Publish();
}

}  // namespace blink
