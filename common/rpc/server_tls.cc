#include "common/rpc/server_tls.h"

#include <fcntl.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/private_file.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/pki/pki.h"
#include "common/pki/server_certificate.h"
#include "common/rpc/rehearsal.h"

namespace blink {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kRefreshSeconds = 1;  // how often gRPC looks at the copies

// Changes whenever one of the files is replaced or written to.
std::string ReadStamp(const TlsFiles& files) {
  std::string stamp;
  for (const std::string& path : {files.certificate, files.key, files.ca}) {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&stamp, "error ", errno, " ");
      continue;
    }
    absl::StrAppend(&stamp, info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                    info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, " ");
  }
  return stamp;
}

// Makes `fd` (-1: none yet) a file in memory that holds `text`. Whoever reads it sees the old text or the new one.
absl::Status Hold(const std::string& text, int& fd) {
  const int fresh = ::memfd_create("blink-tls", MFD_CLOEXEC);
  if (fresh < 0)
    return absl::ResourceExhaustedError(absl::StrCat("cannot hold a file in memory: ", std::strerror(errno)));
  if (::write(fresh, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::close(fresh);
    return absl::ResourceExhaustedError("cannot hold a file in memory");
  }
  if (fd < 0) {
    fd = fresh;
    return absl::OkStatus();
  }
  ::dup3(fresh, fd, O_CLOEXEC);
  ::close(fresh);
  return absl::OkStatus();
}

std::string PathOf(int fd) { return absl::StrCat("/proc/self/fd/", fd); }

}  // namespace

absl::StatusOr<TlsTexts> ServerTls::ReadSound() const {
  BLINK_RETURN_IF_ERROR(CheckTlsFiles(files_));
  TlsTexts texts;
  BLINK_ASSIGN_OR_RETURN(texts.certificate, ReadFile(files_.certificate, kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(texts.key, ReadFile(files_.key, kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(texts.ca, ReadFile(files_.ca, kPemBytesMax));
  // once more, since the files may have been replaced after the first look
  BLINK_RETURN_IF_ERROR(InFile(files_.key, CheckKeyPair(texts.certificate, texts.key)));
  absl::Status accepted = CheckServerCertificate(texts.certificate, texts.ca, deployment_, clock_.Now());
  if (accepted.ok()) accepted = RehearseHandshake(texts.certificate, texts.key, texts.ca);
  if (accepted.ok()) return texts;
  return absl::FailedPreconditionError(absl::StrCat(files_.certificate, ": no node will accept this certificate: it ",
                                                    accepted.message(),
                                                    "; have one signed for the aggregator (blink provision sign)"));
}

absl::Status ServerTls::Take(const TlsTexts& texts) {
  WarnOfOpenKey(files_.key);
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo own, InspectCertificate(texts.certificate));
  BLINK_ASSIGN_OR_RETURN(const CertificateInfo ca, InspectCertificate(texts.ca));
  // gRPC looks once a second, and takes nothing while key and certificate do not fit.
  BLINK_RETURN_IF_ERROR(Hold(texts.ca, ca_fd_));
  BLINK_RETURN_IF_ERROR(Hold(texts.key, key_fd_));
  BLINK_RETURN_IF_ERROR(Hold(texts.certificate, certificate_fd_));
  until_ = own.not_after;
  ca_until_ = ca.not_after;
  until_unix_ = absl::ToUnixSeconds(until_);
  ca_until_unix_ = absl::ToUnixSeconds(ca_until_);
  serial_ = own.serial;
  const std::lock_guard<std::mutex> lock(in_use_mutex_);
  in_use_ = std::make_shared<const TlsTexts>(texts);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Load(TlsFiles files, std::string deployment, Clock& clock) {
  std::unique_ptr<ServerTls> loaded(new ServerTls(std::move(files), std::move(deployment), clock));
  loaded->stamp_ = ReadStamp(loaded->files_);
  BLINK_ASSIGN_OR_RETURN(const TlsTexts texts, loaded->ReadSound());
  BLINK_RETURN_IF_ERROR(loaded->Take(texts));
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      PathOf(loaded->key_fd_), PathOf(loaded->certificate_fd_), PathOf(loaded->ca_fd_), kRefreshSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  loaded->credentials_ = tls::TlsServerCredentials(options);
  loaded->Remind();
  return loaded;
}

absl::Status ServerTls::Check(const TlsFiles& files, const std::string& deployment, Clock& clock) {
  return ServerTls(files, deployment, clock).ReadSound().status();
}

ServerTls::~ServerTls() {
  credentials_ = nullptr;
  for (const int fd : {certificate_fd_, key_fd_, ca_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void ServerTls::Look(bool always) {
  std::string stamp = ReadStamp(files_);
  if (always || stamp != stamp_) {
    stamp_ = std::move(stamp);
    const absl::StatusOr<TlsTexts> texts = ReadSound();
    absl::Status taken = texts.status();
    const std::string before = serial_;
    if (taken.ok()) taken = Take(*texts);
    const std::string error(taken.message());
    if (taken.ok() && (always || serial_ != before || !error_.empty())) {
      spdlog::info("the certificate {} with serial number {} is in use for new connections, until {}",
                   files_.certificate, serial_, TimeText(until_));
    } else if (!taken.ok() && (always || error != error_)) {
      spdlog::error("the certificate is not replaced, the one with serial number {} stays in use until {}: {}", serial_,
                    TimeText(until_), error);
    }
    error_ = error;
  }
  Remind();
}

void ServerTls::Remind() {
  const absl::Time now = clock_.Now();
  const auto remind = [&](const std::string& what, absl::Time until, const char* remedy) {
    const std::string line = reminder_.Remind(what, until, now, remedy);
    if (!line.empty()) spdlog::log(now > until ? spdlog::level::err : spdlog::level::warn, "{}", line);
  };
  remind(absl::StrCat("the aggregator's certificate ", files_.certificate), until_,
         "no node connects after that; have a new one signed (blink provision sign), it is taken without a restart");
  remind(absl::StrCat("the authority's certificate ", files_.ca), ca_until_,
         "nothing that it signed is accepted after that; begin a new authority in time");
}

}  // namespace blink
