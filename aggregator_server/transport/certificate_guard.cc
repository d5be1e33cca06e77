#include "aggregator_server/transport/certificate_guard.h"

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"

namespace blink {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr size_t kCertificatesCachedMax = 8192;  // a certificate in PEM has about 1 kB

}  // namespace

CertificateGuard::CertificateGuard(std::unique_ptr<Revocations> revocations, Clock& clock)
    : revocations_(std::move(revocations)), clock_(clock), thread_([this] { Loop(); }) {}

CertificateGuard::~CertificateGuard() {
  {
    const std::lock_guard<std::mutex> lock(loop_mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

absl::StatusOr<CertificateGuard::Info> CertificateGuard::Parse(const std::string& pem) {
  {
    const std::lock_guard<std::mutex> lock(cache_mutex_);
    if (const auto found = cache_.find(pem); found != cache_.end()) return found->second;
  }
  absl::StatusOr<CertificateInfo> info = InspectCertificate(pem);
  if (!info.ok()) {
    return absl::UnauthenticatedError(absl::StrCat("the client certificate cannot be read: ", info.status().message()));
  }
  const Info parsed = std::make_shared<const CertificateInfo>(*std::move(info));
  const std::lock_guard<std::mutex> lock(cache_mutex_);
  if (cache_.size() >= kCertificatesCachedMax) cache_.clear();
  cache_.emplace(pem, parsed);
  return parsed;
}

absl::Status CertificateGuard::Judge(const CertificateInfo& certificate) const {
  if (clock_.Now() > certificate.not_after) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the certificate with serial number ", certificate.serial, " expired on ", TimeText(certificate.not_after),
        ": have a new one signed (blink provision sign) and put it in the place of the old"));
  }
  return revocations_ != nullptr ? revocations_->Check(certificate) : absl::OkStatus();
}

absl::Status CertificateGuard::Check(const std::string& pem) {
  BLINK_ASSIGN_OR_RETURN(const Info certificate, Parse(pem));
  return Judge(*certificate);
}

absl::StatusOr<uint64_t> CertificateGuard::OpenStream(const std::string& pem, const std::string& who, Cut cut) {
  BLINK_ASSIGN_OR_RETURN(const Info certificate, Parse(pem));
  const std::lock_guard<std::mutex> lock(streams_mutex_);
  BLINK_RETURN_IF_ERROR(Judge(*certificate));  // with the lock: a list that comes now finds the stream
  streams_.emplace(next_id_, Stream{certificate, who, std::move(cut)});
  return next_id_++;
}

void CertificateGuard::CloseStream(uint64_t id) {
  const std::lock_guard<std::mutex> lock(streams_mutex_);
  streams_.erase(id);
}

size_t CertificateGuard::open_streams() {
  const std::lock_guard<std::mutex> lock(streams_mutex_);
  return streams_.size();
}

void CertificateGuard::CutStreams() {
  const std::lock_guard<std::mutex> lock(streams_mutex_);
  struct Line {
    Info certificate;
    std::string who;
    absl::Status why;
    int more = 0;
  };
  std::map<std::string, Line> lines;  // by serial number: a thief may hold thousands of streams
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    const absl::Status good = Judge(*entry->second.certificate);
    if (good.ok()) {
      ++entry;
      continue;
    }
    const Stream& stream = entry->second;
    const auto [line, is_first] = lines.try_emplace(stream.certificate->serial);
    if (is_first) {
      line->second = {stream.certificate, stream.who, good};
    } else {
      ++line->second.more;
    }
    stream.cut(good);
    entry = streams_.erase(entry);
  }
  for (const auto& [serial, line] : lines) {
    spdlog::warn("cut a stream of {} ({}){}: {}", line.who, line.certificate->subject,
                 line.more > 0 ? absl::StrCat(", and ", line.more, " more") : "", std::string(line.why.message()));
  }
}

void CertificateGuard::RereadRevocations() {
  {
    const std::lock_guard<std::mutex> lock(loop_mutex_);
    reread_ = true;
  }
  wake_.notify_all();
}

void CertificateGuard::Loop() {
  std::unique_lock<std::mutex> lock(loop_mutex_);
  while (!stopping_) {
    const bool always = std::exchange(reread_, false);
    lock.unlock();
    if (revocations_ != nullptr) {
      revocations_->Reread(always);
      revocations_->WarnWhenOutdated();
    }
    CutStreams();
    lock.lock();
    wake_.wait_for(lock, kLookEvery, [&] { return stopping_ || reread_; });
  }
}

}  // namespace blink
