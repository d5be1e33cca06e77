#include "common/doctor/tls_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/time_text.h"
#include "common/doctor/checks.h"
#include "common/pki/expiry.h"
#include "common/pki/revocation.h"
#include "common/rpc/diagnosis.h"

namespace blink {
namespace {

constexpr uint64_t kListBytesMax = 64 << 20;

std::optional<CertificateInfo> Inspect(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kPemBytesMax);
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<CertificateInfo> info = InspectCertificate(*text);
  return info.ok() ? std::optional<CertificateInfo>(*info) : std::nullopt;
}

// Warns from 30 days before the end, with the words of a program that runs.
void LookAtEnd(const std::string& check, const std::string& what, const std::string& path, absl::Time until,
               absl::Time now, const std::string& advice, Diagnosis& diagnosis) {
  const std::string line = ExpiryReminder().Remind(absl::StrCat(what, " ", path), until, now, advice);
  if (!line.empty()) {
    diagnosis.Warn(check, path, line);
  } else {
    diagnosis.Ok(check, path, absl::StrCat("is good until ", TimeText(until)));
  }
}

std::optional<OwnCertificate> ReadOwn(const std::string& path) {
  std::optional<CertificateInfo> info = Inspect(path);
  if (!info.has_value()) return std::nullopt;
  OwnCertificate own;
  own.info = *std::move(info);
  if (own.info.uri_sans.size() == 1) {
    const absl::StatusOr<Identity> identity = Identity::FromUri(own.info.uri_sans[0]);
    if (identity.ok()) own.identity = *identity;
  }
  return own;
}

}  // namespace

absl::Status CheckClientFiles(const TlsFiles& files) {
  const absl::Status sound = CheckTlsFiles(files);
  return sound.ok() ? CheckIssuedByAuthority(files) : sound;
}

std::optional<OwnCertificate> LookAtTlsFiles(const TlsFiles& files, const absl::Status& start, absl::Time now,
                                             Diagnosis& diagnosis) {
  std::optional<OwnCertificate> own = ReadOwn(files.certificate);
  const std::string names = own.has_value() ? absl::StrJoin(own->info.uri_sans, " and ") : "";
  diagnosis.Judge(
      "certificate", files.certificate, start,
      absl::StrCat("is of ", names.empty() ? "nobody" : names, ", fits its key, and was issued by ", files.ca));
  if (start.ok() && own.has_value()) {
    LookAtEnd("certificate", "the certificate", files.certificate, own->info.not_after, now,
              "make a new key and have it signed (blink provision sign)", diagnosis);
    if (const std::optional<CertificateInfo> ca = Inspect(files.ca); ca.has_value()) {
      LookAtEnd("authority", "the authority's certificate", files.ca, ca->not_after, now,
                "nothing that it signed is accepted after that; begin a new authority in time", diagnosis);
    }
  }
  LookAtMode("key", files.key, diagnosis);
  return own;
}

void LookAtRevocations(const std::string& path, const std::string& ca_path, const absl::Status& start,
                       const std::optional<OwnCertificate>& own, absl::Time now, Diagnosis& diagnosis) {
  if (!start.ok()) {
    diagnosis.Error("revocations", path, start);
    return;
  }
  const absl::StatusOr<std::string> pem = ReadFile(path, kListBytesMax);
  const absl::StatusOr<std::string> ca = ReadFile(ca_path, kPemBytesMax);
  if (!pem.ok() || !ca.ok()) return;  // replaced at this moment
  const absl::StatusOr<RevocationList> list = RevocationList::Parse(*pem, *ca);
  if (!list.ok()) return;
  LookAtEnd("revocations", "the revocation list", path, list->next_update(), now,
            "bring a new one (blink provision crl)", diagnosis);
  if (list->this_update() > now) {
    diagnosis.Warn("clock", path,
                   absl::StrCat("the revocation list was made on ", TimeText(list->this_update()),
                                ", and this machine's clock says ", TimeText(now)),
                   "timedatectl status; then set the clock");
  }
  const RevokedCertificate* const revoked = own.has_value() ? list->Find(own->info.serial) : nullptr;
  if (revoked != nullptr) {
    diagnosis.Error("revocations", path,
                    absl::StrCat("names this machine's own certificate, with serial number ", own->info.serial,
                                 ": revoked on ", TimeText(revoked->when), " (", revoked->reason, ")"),
                    ExitCode::kBadInput, "make a new key and have it signed (blink provision sign)");
  }
}

bool LookAtConnection(const TlsFiles* files, const std::string& address, const std::string& proxy, absl::Time now,
                      Diagnosis& diagnosis) {
  std::string chain;
  const std::string why =
      files == nullptr ? DiagnosePlaintext(address) : DiagnoseHandshakeSeeing(*files, address, proxy, &chain);
  if (!why.empty()) {
    diagnosis.Error("aggregator", address, why, ExitCode::kUnreachable);
    return false;
  }
  diagnosis.Ok("aggregator", address,
               files == nullptr ? "answers, without TLS" : "answers, and takes this certificate");
  if (chain.empty()) return true;
  const absl::StatusOr<CertificateInfo> server = InspectCertificate(chain);
  if (!server.ok()) return true;
  LookAtEnd("aggregator", "the certificate of the aggregator at", address, server->not_after, now,
            "its operator has a new one signed (blink provision sign)", diagnosis);
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  const std::vector<std::string>& names = server->host_names;
  if (parsed.ok() && std::find(names.begin(), names.end(), parsed->host) == names.end()) {
    // blink's own clients go by the URI alone
    diagnosis.Ok("aggregator", address,
                 absl::StrCat("its certificate does not carry the name ", parsed->host,
                              ", which only clients other than blink's look at"));
  }
  return true;
}

}  // namespace blink
