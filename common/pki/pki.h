// Keys, certificate requests and the deployment's certificate authority (OpenSSL; ECDSA P-256, SHA-256).
#ifndef BLINK_COMMON_PKI_PKI_H_
#define BLINK_COMMON_PKI_PKI_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace blink {

// All PEM.
absl::StatusOr<std::string> GenerateKey();
// A request signed by `key` with subject CN `common_name`. It carries no SAN: the authority writes those from its own
// list.
absl::StatusOr<std::string> MakeRequest(const std::string& key, const std::string& common_name);

struct CertificateAuthority {
  std::string certificate;
  std::string key;
};
absl::StatusOr<CertificateAuthority> CreateAuthority(const std::string& common_name, absl::Duration valid_for);

struct CertificateOptions {
  std::string uri_san;                 // blink://...
  std::vector<std::string> dns_names;  // for an aggregator
  std::vector<std::string> ip_addresses;
  bool server = false;  // extended key usage: server or client authentication
  absl::Duration valid_for = absl::Hours(24 * 365);
  std::optional<absl::Time> valid_from;  // default: an hour ago, for clocks that run behind
};
// Signs a request: checks its self-signature, takes nothing but its public key (subject and SANs come from `options`,
// extensions that it asks for are ignored). INVALID_ARGUMENT when it is malformed, or its key weaker than 112 bits.
absl::StatusOr<std::string> SignRequest(const CertificateAuthority& authority, const std::string& request,
                                        const CertificateOptions& options);

struct CertificateInfo {
  std::vector<std::string> uri_sans;
  absl::Time not_before;
  absl::Time not_after;
  std::string serial;  // hexadecimal
  std::string subject;
  std::string issuer;
  std::string key_digest;  // SHA-256 of the public key (SubjectPublicKeyInfo), hexadecimal
};
absl::StatusOr<CertificateInfo> InspectCertificate(const std::string& certificate);
// The same digest of the key of a request. INVALID_ARGUMENT when it is malformed.
absl::StatusOr<std::string> KeyDigestOfRequest(const std::string& request);
// FAILED_PRECONDITION when the key is not the certificate's.
absl::Status CheckKeyPair(const std::string& certificate, const std::string& key);
// FAILED_PRECONDITION unless `authority`'s key signed `certificate`.
absl::Status CheckIssuedBy(const std::string& certificate, const std::string& authority);

}  // namespace blink

#endif  // BLINK_COMMON_PKI_PKI_H_
