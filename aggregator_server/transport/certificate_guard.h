// Whether a client certificate is still good, at every call and for as long as a stream is open. TLS asks only once, in
// the handshake, and connections last for weeks.
//
//   Check(pem)            the certificate has not expired and is not revoked
//   OpenStream(pem, cut)  the same; and until CloseStream, `cut` is called once as soon as this is no longer true
//
// One thread looks every second at the file of the revocation list and at every open stream. A new list and its cuts
// are one step: no call that began under the old list outlives it. Certificates come as PEM: the guard knows no gRPC.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_CERTIFICATE_GUARD_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_CERTIFICATE_GUARD_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/transport/revocations.h"
#include "common/base/clock.h"
#include "common/pki/pki.h"

namespace blink {

class CertificateGuard {
 public:
  using Cut = std::function<void(const absl::Status&)>;

  // Without `revocations` only dates are checked. `clock` outlives this.
  CertificateGuard(std::unique_ptr<Revocations> revocations, Clock& clock);
  ~CertificateGuard();

  // UNAUTHENTICATED: expired, revoked or unreadable; the sentence names serial number and remedy. UNAVAILABLE: see
  // Revocations.
  absl::Status Check(const std::string& pem);

  // As Check. `cut` is called at most once, on the guard's thread: it must be quick and must call neither OpenStream
  // nor CloseStream. `who` is for the log.
  absl::StatusOr<uint64_t> OpenStream(const std::string& pem, const std::string& who, Cut cut);
  // After it has returned, `cut` is not running and will not run. Does nothing for id 0.
  void CloseStream(uint64_t id);

  // Reads the revocation list anew, now (SIGHUP).
  void RereadRevocations();
  size_t open_streams();
  // Absent where only dates are checked.
  std::shared_ptr<const Revocations> revocations() const { return revocations_; }

 private:
  using Info = std::shared_ptr<const CertificateInfo>;
  struct Stream {
    Info certificate;
    std::string who;
    Cut cut;
  };
  absl::StatusOr<Info> Parse(const std::string& pem);  // through the cache
  absl::Status Judge(const CertificateInfo& certificate) const;
  void Loop();
  void CutStreams();

  const std::shared_ptr<Revocations> revocations_;
  Clock& clock_;

  std::mutex cache_mutex_;
  std::unordered_map<std::string, Info> cache_;  // by PEM

  std::mutex streams_mutex_;  // held while streams are cut
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, Stream> streams_;

  std::mutex loop_mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool reread_ = false;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_CERTIFICATE_GUARD_H_
