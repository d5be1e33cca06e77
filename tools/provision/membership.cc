// Lets nodes leave and join: revocations and the next roster. Says who is there.
//
// The authority's own list is written first, then the files that follow from it. A crash in between leaves files that
// are older than the list. The same command without a change (blink provision crl, blink provision roster) writes them
// again.
#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/pki/expiry.h"
#include "common/pki/revocation.h"
#include "common/wire/strict_json.h"
#include "nlohmann/json.hpp"
#include "tools/provision/files.h"
#include "tools/provision/provision.h"

namespace blink {
namespace {

using provision_internal::LoadAuthority;
using provision_internal::LoadEnrolment;
using provision_internal::SaveEnrolment;
using provision_internal::SignNextList;

constexpr uint64_t kKitBytesMax = 1 << 20;
constexpr uint64_t kListBytesMax = 256 << 20;

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Returns FAILED_PRECONDITION when OUT/revoked.crl.pem knows more than `enrolment`. An enrolment that was restored from
// a copy has forgotten what was revoked since. Its next list would give those certificates back, under numbers that
// were used already.
absl::Status CheckNothingForgotten(const std::string& out, const CertificateAuthority& authority,
                                   const Enrolment& enrolment) {
  const std::string path = out + "/revoked.crl.pem";
  const absl::StatusOr<std::string> pem = ReadFile(path, kListBytesMax);
  if (absl::IsNotFound(pem.status())) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(pem.status());
  const absl::StatusOr<RevocationList> last = RevocationList::Parse(*pem, authority.certificate);
  if (!last.ok()) return absl::OkStatus();  // damaged: it says nothing, and the next one must not wait for it
  size_t known = 0;
  for (const RevokedCertificate& revoked : enrolment.revoked()) known += last->Find(revoked.serial) != nullptr;
  if (last->number() <= enrolment.crl_number && known == last->size()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(out, "/enrolment.json is older than ", path, ", which has number ",
                                                    last->number(), " (here ", enrolment.crl_number, ") and ",
                                                    last->size() - known,
                                                    " revoked certificates more: restore the newest enrolment.json, or "
                                                    "move the list away to begin anew from this one"));
}

// Saves the enrolment as well, since the list has a number from it.
absl::Status SaveWithNextList(const std::string& out, Enrolment& enrolment, absl::Duration valid_for) {
  BLINK_ASSIGN_OR_RETURN(const CertificateAuthority authority, LoadAuthority(out));
  BLINK_RETURN_IF_ERROR(CheckNothingForgotten(out, authority, enrolment));
  BLINK_ASSIGN_OR_RETURN(const std::string list, SignNextList(authority, enrolment, valid_for));
  BLINK_RETURN_IF_ERROR(SaveEnrolment(out, enrolment));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(out + "/revoked.crl.pem", list));
  const std::string tls = out + "/aggregator/tls";
  return IsFolder(tls) ? WriteFileAtomically(tls + "/revoked.crl.pem", list) : absl::OkStatus();
}

// Changes what the roster decides in a kit.json, and nothing else. NOT_FOUND: there is none.
absl::Status UpdateKit(const std::string& path, const Roster& roster, const Identity& nodes) try {
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kKitBytesMax));
  BLINK_RETURN_IF_ERROR(ParseStrictJson(text, path).status());
  nlohmann::ordered_json kit = nlohmann::ordered_json::parse(text);
  kit.at("node_count") = roster.node_count();
  kit.at("roster_version") = roster.version();
  nlohmann::ordered_json retired = nlohmann::ordered_json::array();
  for (const NodeRange& range : roster.retired()) {
    const NodeRange own = {std::max(range.first, nodes.first_node), std::min(range.last, nodes.last_node)};
    if (own.first <= own.last) retired.push_back({own.first, own.last});
  }
  if (!retired.empty()) kit["retired"] = std::move(retired);
  const std::string updated = kit.dump(2) + "\n";
  return updated == text ? absl::OkStatus() : WriteFileAtomically(path, updated);
} catch (const nlohmann::json::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
}

// As openssl prints it (upper case, with colons), or as enrolment.json has it.
std::string NormalizeSerial(const std::string& serial) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(serial, {{":", ""}}));
}

std::string DescribeState(const IssuedCertificate& certificate, absl::Time now) {
  if (certificate.revoked.has_value()) return "revoked";
  if (certificate.not_after == absl::InfiniteFuture()) return "good";
  if (certificate.not_after < now) return "expired";
  return certificate.not_after - now <= kExpiryNotice ? "expires soon" : "good";
}

}  // namespace

absl::StatusOr<CertificateList> ListCertificates(const std::string& out, absl::Time now) {
  BLINK_ASSIGN_OR_RETURN(const Enrolment enrolment, LoadEnrolment(out));
  BLINK_ASSIGN_OR_RETURN(const std::string authority, ReadFile(out + "/ca/ca.crt", kKitBytesMax));
  CertificateList list;
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo own, InspectCertificate(authority));
  list.authority_until = own.not_after;
  if (const absl::StatusOr<std::string> pem = ReadFile(out + "/revoked.crl.pem", kListBytesMax); pem.ok()) {
    const absl::StatusOr<RevocationList> revoked = RevocationList::Parse(*pem, authority);
    if (revoked.ok()) list.revocations_until = revoked->next_update();
  }
  for (const Enrolled& entry : enrolment.entries()) {
    ListedCertificate listed = {.name = entry.name, .identity = entry.identity.ToUri(), .state = "none"};
    if (entry.certificates.empty()) list.certificates.push_back(listed);
    for (const IssuedCertificate& certificate : entry.certificates) {
      listed.serial = certificate.serial;
      listed.until = certificate.not_after;
      listed.state = DescribeState(certificate, now);
      list.certificates.push_back(listed);
    }
  }
  return list;
}

absl::StatusOr<size_t> Revoke(const RevokeOptions& options, absl::Duration list_valid_for) {
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(options.out + "/enrolment.lock"));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, LoadEnrolment(options.out));
  std::optional<std::string> serial;
  if (!options.serial.empty()) serial = NormalizeSerial(options.serial);
  BLINK_ASSIGN_OR_RETURN(const size_t count, enrolment.Revoke(options.name, serial, options.reason, absl::Now()));
  BLINK_RETURN_IF_ERROR(SaveWithNextList(options.out, enrolment, list_valid_for));
  return count;
}

absl::StatusOr<RevocationListSummary> RenewRevocationList(const std::string& out, absl::Duration list_valid_for) {
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(out + "/enrolment.lock"));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, LoadEnrolment(out));
  const absl::Time end = absl::Now() + list_valid_for;
  BLINK_RETURN_IF_ERROR(SaveWithNextList(out, enrolment, list_valid_for));
  return RevocationListSummary{
      .number = enrolment.crl_number, .revoked = enrolment.revoked().size(), .good_until = end};
}

absl::StatusOr<RosterSummary> ChangeRoster(const RosterChange& change, absl::Duration list_valid_for) {
  const std::string& out = change.out;
  BLINK_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(out + "/enrolment.lock"));
  BLINK_ASSIGN_OR_RETURN(Enrolment enrolment, LoadEnrolment(out));
  const absl::Time now = absl::Now();
  if (change.node_count.has_value() || !change.retire.empty()) {
    BLINK_RETURN_IF_ERROR(enrolment.AdvanceRoster(change.node_count, change.retire, now));
  }
  const Roster& roster = enrolment.roster();
  RosterSummary summary = {
      .version = roster.version(), .node_count = roster.node_count(), .active_count = roster.active_count()};
  for (const Enrolled& entry : enrolment.entries()) {
    if (!enrolment.IsRetired(entry)) continue;
    // Nothing left to revoke is fine: it was done before, or the name never had a certificate.
    if (enrolment.Revoke(entry.name, std::nullopt, "cessation-of-operation", now).ok())
      summary.revoked.push_back(entry.name);
  }
  if (!summary.revoked.empty() || enrolment.crl_number == 0) {
    BLINK_RETURN_IF_ERROR(SaveWithNextList(out, enrolment, list_valid_for));
  } else {
    BLINK_RETURN_IF_ERROR(SaveEnrolment(out, enrolment));
  }
  if (IsFolder(out + "/aggregator")) {
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(out + "/aggregator/roster.json", roster.ToJson()));
  }
  for (const Enrolled& entry : enrolment.entries()) {
    if (entry.identity.kind != Identity::Kind::kNodes || enrolment.IsRetired(entry)) continue;
    const absl::Status updated =
        UpdateKit(absl::StrCat(out, "/kits/", entry.name, "/kit.json"), roster, entry.identity);
    if (absl::IsNotFound(updated)) {
      summary.kits_missing.push_back(entry.name);
      continue;
    }
    BLINK_RETURN_IF_ERROR(updated);
    ++summary.kits;
  }
  return summary;
}

}  // namespace blink
