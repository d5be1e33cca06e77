// OpenSSL's objects as owning pointers and as PEM, and its error queue as a status. Internal to common/pki.
#ifndef BLINK_COMMON_PKI_OPENSSL_PEM_H_
#define BLINK_COMMON_PKI_OPENSSL_PEM_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink::pki_internal {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;
using CertificatePtr = std::unique_ptr<X509, Deleter<X509_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

// Returns INTERNAL with OpenSSL's message, and empties the thread's error queue. Never contains key material.
absl::Status OpenSslError(absl::string_view what);

// Return INVALID_ARGUMENT when the text holds no such object. A key must not be encrypted, since nobody is there to
// type a password.
absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem);
absl::StatusOr<RequestPtr> ParseRequest(absl::string_view pem);
absl::StatusOr<CertificatePtr> ParseCertificate(absl::string_view pem);

absl::StatusOr<std::string> KeyToPem(EVP_PKEY* key);
absl::StatusOr<std::string> RequestToPem(X509_REQ* request);
absl::StatusOr<std::string> CertificateToPem(X509* certificate);

}  // namespace blink::pki_internal

#endif  // BLINK_COMMON_PKI_OPENSSL_PEM_H_
