#include "aggregator_server/transport/revocations.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/pki/pki.h"

namespace blink {
namespace {

constexpr uint64_t kListBytesMax = 64 << 20;  // more than a million certificates

// Changes whenever the file is replaced or written to.
std::string ReadStamp(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return absl::StrCat("error ", errno);
  return absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Revocations>> Revocations::Load(RevocationOptions options, Clock& clock) {
  std::unique_ptr<Revocations> revocations(new Revocations(std::move(options), clock));
  revocations->stamp_ = ReadStamp(revocations->options_.path);
  BLINK_RETURN_IF_ERROR(revocations->Replace());
  if (!revocations->options_.only_check) BLINK_RETURN_IF_ERROR(revocations->Remember());
  const std::shared_ptr<const RevocationList> list = revocations->list();
  if (revocations->options_.refuse_when_outdated && clock.Now() > list->next_update()) {
    return absl::FailedPreconditionError(absl::StrCat(
        revocations->options_.path, ": the revocation list was valid until ", TimeText(list->next_update()),
        ": bring a new one (blink provision crl), or leave out "
        "--refuse-outdated-revocations"));
  }
  revocations->WarnWhenOutdated();
  return revocations;
}

std::shared_ptr<const RevocationList> Revocations::list() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return list_;
}

absl::StatusOr<RevocationList> Revocations::ReadList(std::string* pem) const {
  BLINK_ASSIGN_OR_RETURN(*pem, ReadFile(options_.path, kListBytesMax));
  BLINK_ASSIGN_OR_RETURN(const std::string authority, ReadFile(options_.ca_path, kPemBytesMax));
  absl::StatusOr<RevocationList> list = RevocationList::Parse(*pem, authority);
  if (!list.ok()) return InFile(options_.path, list.status());
  return list;
}

absl::Status Revocations::CompareWithMemory(const RevocationList& list) const {
  const absl::StatusOr<std::string> pem = ReadFile(options_.memory_path, kListBytesMax);
  if (absl::IsNotFound(pem.status())) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(pem.status());
  BLINK_ASSIGN_OR_RETURN(const std::string authority, ReadFile(options_.ca_path, kPemBytesMax));
  const absl::StatusOr<RevocationList> before = RevocationList::Parse(*pem, authority);
  if (!before.ok()) {  // a new authority begins at 1 again
    spdlog::warn("{} is no list of this authority, so that nothing says which list was last in force: {}",
                 options_.memory_path, std::string(before.status().message()));
    return absl::OkStatus();
  }
  if (list.number() > before->number()) return absl::OkStatus();
  if (list.number() == before->number()) {
    if (list.Includes(*before)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(options_.path, ": the revocation list has number ", list.number(),
                     ", and another list of this number, which names more certificates, was in force before: was the "
                     "authority's folder restored? Revoke them again (blink provision revoke)"));
  }
  return absl::FailedPreconditionError(absl::StrCat(options_.path, ": the revocation list has number ", list.number(),
                                                    ", and number ", before->number(),
                                                    " was in force before: bring the newest (OUT/revoked.crl.pem)"));
}

absl::Status Revocations::Remember() {
  const absl::Status kept = WriteFileAtomically(options_.memory_path, pem_, 0644);
  remembered_ = kept.ok();
  return kept;
}

void Revocations::RememberLater() {
  if (remembered_) return;
  const absl::Status kept = Remember();
  const std::string error(kept.message());
  if (error != std::exchange(memory_error_, error) && !kept.ok()) {
    spdlog::error("the revocation list is in force, but is not kept for a restart: {}", error);
  }
}

absl::Status Revocations::Replace() {
  std::string pem;
  BLINK_ASSIGN_OR_RETURN(RevocationList list, ReadList(&pem));
  const std::shared_ptr<const RevocationList> before = this->list();
  if (before == nullptr) {
    BLINK_RETURN_IF_ERROR(CompareWithMemory(list));
  } else if (pem != pem_ && list.number() <= before->number()) {
    return absl::FailedPreconditionError(absl::StrCat(options_.path, ": the revocation list has number ", list.number(),
                                                      ", and another of number ", before->number(), " is in force"));
  }
  pem_ = std::move(pem);
  remembered_ = false;
  spdlog::info("revocation list number {} of {}: {} certificates, next update {}", list.number(), options_.path,
               list.size(), TimeText(list.next_update()));
  const std::lock_guard<std::mutex> lock(mutex_);
  list_ = std::make_shared<const RevocationList>(std::move(list));
  return absl::OkStatus();
}

bool Revocations::Reread(bool always) {
  std::string stamp = ReadStamp(options_.path);
  if (stamp == stamp_ && !always && !try_again_) {
    RememberLater();
    return false;
  }
  const bool again = stamp == stamp_ && !always;
  stamp_ = std::move(stamp);
  const absl::Status replaced = Replace();
  RememberLater();
  // What is wrong with the list stays wrong until there is another.
  try_again_ = !replaced.ok() && !absl::IsInvalidArgument(replaced) && !absl::IsFailedPrecondition(replaced) &&
               !absl::IsNotFound(replaced) && !absl::IsOutOfRange(replaced);
  const std::string error(replaced.message());
  const bool new_error = error != std::exchange(error_, error);
  if (replaced.ok()) return true;
  if (!again || new_error) {
    spdlog::error("the revocation list is not taken, number {} stays in force: {}", list()->number(), error);
  }
  return false;
}

void Revocations::WarnWhenOutdated() {
  const std::string remedy = absl::StrCat(
      "bring a new one (blink provision crl); ",
      options_.refuse_when_outdated ? "every call is refused from then on" : "it stays in force until then");
  const std::string line = reminder_.Remind(absl::StrCat("the revocation list ", options_.path), list()->next_update(),
                                            clock_.Now(), remedy);
  if (!line.empty()) spdlog::warn("{}", line);
}

absl::Status Revocations::CheckSerial(const std::string& serial) const {
  const std::shared_ptr<const RevocationList> list = this->list();
  const RevokedCertificate* const revoked = list->Find(serial);
  if (revoked == nullptr) return absl::OkStatus();
  return absl::UnauthenticatedError(absl::StrCat(
      "the certificate with serial number ", serial, " was revoked on ", TimeText(revoked->when), " (", revoked->reason,
      "): unless its owner was retired, make a new key and have it signed (blink provision sign)"));
}

absl::Status Revocations::Check(const CertificateInfo& certificate) const {
  BLINK_RETURN_IF_ERROR(CheckSerial(certificate.serial));
  const std::shared_ptr<const RevocationList> list = this->list();
  if (options_.refuse_when_outdated && clock_.Now() > list->next_update()) {
    return absl::UnavailableError(absl::StrCat("the aggregator's revocation list was valid until ",
                                               TimeText(list->next_update()),
                                               ": it serves nobody until it has a new one"));
  }
  return absl::OkStatus();
}

}  // namespace blink
