// Keys, certificate requests and the certificate authority of a deployment. Everything is ECDSA P-256 with SHA-256, by
// OpenSSL. Keys, requests and certificates are PEM texts.
#ifndef BLINK_COMMON_PKI_PKI_H_
#define BLINK_COMMON_PKI_PKI_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace blink {

inline constexpr uint64_t kPemBytesMax = 1 << 20;  // of a file of certificates, revocations or a key

// Whether a certificate may carry it as a DNS name.
bool IsDnsName(absl::string_view name);
// Whether it is an address of IPv4 or IPv6, without brackets.
bool IsIpAddress(const std::string& text);

absl::StatusOr<std::string> GenerateKey();
// Makes a request with the subject CN `common_name`, signed by `key`. It carries no SAN, since the authority takes
// those from its own list.
absl::StatusOr<std::string> MakeRequest(const std::string& key, const std::string& common_name);

struct CertificateAuthority {
  std::string certificate;
  std::string key;
};
absl::StatusOr<CertificateAuthority> CreateAuthority(const std::string& common_name, absl::Duration valid_for);

struct CertificateOptions {
  std::string uri_san;                 // blink://..., see identity.h
  std::vector<std::string> dns_names;  // for an aggregator
  std::vector<std::string> ip_addresses;
  bool server = false;  // extended key usage: server authentication; otherwise client authentication
  absl::Duration valid_for = absl::Hours(24 * 365);
  std::optional<absl::Time> valid_from;  // default: an hour ago, for clocks that run behind
};
// Checks the request's own signature and issues a certificate for its public key. Nothing else is taken from the
// request: subject and SANs come from `options`, and the extensions that it asks for are ignored. Returns
// INVALID_ARGUMENT when the request is malformed, or its key is weaker than 112 bits.
absl::StatusOr<std::string> SignRequest(const CertificateAuthority& authority, const std::string& request,
                                        const CertificateOptions& options);

struct CertificateInfo {
  std::vector<std::string> uri_sans;
  std::vector<std::string> host_names;  // DNS names and IP addresses
  absl::Time not_before;
  absl::Time not_after;
  std::string serial;  // hexadecimal
  std::string subject;
  std::string issuer;
  std::string key_digest;  // SHA-256 of the public key (SubjectPublicKeyInfo), hexadecimal
};
absl::StatusOr<CertificateInfo> InspectCertificate(const std::string& certificate);
// CertificateInfo::key_digest, of the key of a request. Returns INVALID_ARGUMENT when the request is malformed.
absl::StatusOr<std::string> KeyDigestOfRequest(const std::string& request);
// Returns FAILED_PRECONDITION unless `key` is the key of `certificate`.
absl::Status CheckKeyPair(const std::string& certificate, const std::string& key);
// Returns FAILED_PRECONDITION unless the key of `authority` signed `certificate`.
absl::Status CheckIssuedBy(const std::string& certificate, const std::string& authority);

}  // namespace blink

#endif  // BLINK_COMMON_PKI_PKI_H_
