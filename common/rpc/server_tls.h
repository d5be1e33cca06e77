// The certificate that an aggregator shows, from its start to its replacement.
//
//   Load     reads the files and refuses what no node of the deployment would accept, with the node's own reason
//   Look     once a second, or at SIGHUP. Files that have changed are checked in the same way. When they are sound, new
//            handshakes use them within two seconds; otherwise what was in use stays, and the log says why. Also says
//            when the certificate or the authority's expires (ExpiryReminder).
//
// gRPC 1.51 takes another certificate only by watching files, and takes whatever they hold. So it watches copies in
// memory (memfd), which are replaced when the files have passed the check.
#ifndef BLINK_COMMON_RPC_SERVER_TLS_H_
#define BLINK_COMMON_RPC_SERVER_TLS_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/pki/expiry.h"
#include "common/pki/tls_texts.h"
#include "common/rpc/credentials.h"

namespace blink {

class ServerTls {
 public:
  // The errors of CheckTlsFiles and of CheckServerCertificate, naming the file. `clock` outlives this.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Load(TlsFiles files, std::string deployment,
                                                         Clock& clock = SystemClock());
  // Whether Load would succeed.
  static absl::Status Check(const TlsFiles& files, const std::string& deployment, Clock& clock = SystemClock());
  ~ServerTls();  // after the server has ended
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  const std::shared_ptr<grpc::ServerCredentials>& credentials() const { return credentials_; }
  // When the certificate that is in use ends, and the authority's. From any thread.
  struct Expiry {
    absl::Time certificate, authority;
  };
  Expiry expiry() const { return {absl::FromUnixSeconds(until_unix_), absl::FromUnixSeconds(ca_until_unix_)}; }
  // What new handshakes use, for servers beside gRPC's. Another pointer means other texts. From any thread.
  std::shared_ptr<const TlsTexts> in_use() const {
    const std::lock_guard<std::mutex> lock(in_use_mutex_);
    return in_use_;
  }
  // `always`: also when nothing has changed. Not from two threads at a time.
  void Look(bool always);

 private:
  ServerTls(TlsFiles files, std::string deployment, Clock& clock)
      : files_(std::move(files)), deployment_(std::move(deployment)), clock_(clock) {}
  absl::StatusOr<TlsTexts> ReadSound() const;
  absl::Status Take(const TlsTexts& texts);
  void Remind();

  const TlsFiles files_;
  const std::string deployment_;
  Clock& clock_;
  std::string stamp_;  // of the files when they were last read
  std::string error_;  // of that reading
  int certificate_fd_ = -1, key_fd_ = -1, ca_fd_ = -1;
  absl::Time until_, ca_until_;                            // of what is in use
  std::atomic<int64_t> until_unix_{0}, ca_until_unix_{0};  // the same, for other threads
  std::string serial_;
  mutable std::mutex in_use_mutex_;
  std::shared_ptr<const TlsTexts> in_use_;
  ExpiryReminder reminder_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
};

}  // namespace blink

#endif  // BLINK_COMMON_RPC_SERVER_TLS_H_
