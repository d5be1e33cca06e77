// A TLS server for tests and benchmarks. Its certificate may name anything: the aggregator's own (server_tls.h) must be
// one that nodes accept.
#ifndef BLINK_TESTS_TESTING_SERVER_CREDENTIALS_H_
#define BLINK_TESTS_TESTING_SERVER_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/rpc/credentials.h"

namespace blink::testing {

// Requires a client certificate and verifies it. Returns the errors of CheckTlsFiles.
inline absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const TlsFiles& files) {
  BLINK_RETURN_IF_ERROR(CheckTlsFiles(files));
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(files.key, files.certificate, files.ca,
                                                                           files.refresh_seconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_SERVER_CREDENTIALS_H_
