// Makes keys, requests, authorities and certificates.
#include "common/pki/pki.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/pki/openssl_pem.h"

namespace blink {
namespace {

using pki_internal::CertificatePtr;
using pki_internal::KeyPtr;
using pki_internal::NamesPtr;
using pki_internal::OpenSslError;
using pki_internal::RequestPtr;

constexpr int kSubjectCharactersMax = 64;  // X.520 ub-common-name and ub-organization-name
constexpr int kSecurityBitsMin = 112;      // RSA of 2048 bits, any curve from P-224 on
constexpr absl::Duration kClockSkew = absl::Hours(1);

absl::Status AddName(X509_NAME* name, const char* field, absl::string_view value) {
  value = value.substr(0, kSubjectCharactersMax);
  if (X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return OpenSslError(absl::StrCat("cannot set the name's ", field));
  }
  return absl::OkStatus();
}

absl::Status SetSerial(X509* x509) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return OpenSslError("no random bytes");
  bytes[0] = (bytes[0] & 0x7f) | 0x40;  // positive, and of one length
  BIGNUM* number = BN_bin2bn(bytes, sizeof(bytes), nullptr);
  const bool done = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != nullptr;
  BN_free(number);
  return done ? absl::OkStatus() : OpenSslError("cannot set the serial number");
}

absl::Status SetValidity(X509* x509, absl::Time from, absl::Time until) {
  if (ASN1_TIME_set(X509_getm_notBefore(x509), absl::ToTimeT(from)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(x509), absl::ToTimeT(until)) == nullptr) {
    return OpenSslError("cannot set the dates");
  }
  return absl::OkStatus();
}

// Only constant values come here: OpenSSL's little language must never see a name from outside.
absl::Status AddExtension(X509* x509, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  const bool done = extension != nullptr && X509_add_ext(x509, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return done ? absl::OkStatus() : OpenSslError(absl::StrCat("cannot add the extension ", value));
}

absl::Status PushText(GENERAL_NAMES* names, int type, absl::string_view text) {
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (value == nullptr || name == nullptr || ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) {
    return OpenSslError("cannot make a subject alternative name");
  }
  GENERAL_NAME_set0_value(name, type, value);
  sk_GENERAL_NAME_push(names, name);
  return absl::OkStatus();
}

absl::Status PushAddress(GENERAL_NAMES* names, const std::string& text) {
  unsigned char bytes[16];
  int size = 0;
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1)
    size = 4;
  else if (inet_pton(AF_INET6, text.c_str(), bytes) == 1)
    size = 16;
  if (size == 0) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not an IP address"));
  ASN1_OCTET_STRING* value = ASN1_OCTET_STRING_new();
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (value == nullptr || name == nullptr || ASN1_OCTET_STRING_set(value, bytes, size) != 1) {
    return OpenSslError("cannot make a subject alternative name");
  }
  GENERAL_NAME_set0_value(name, GEN_IPADD, value);
  sk_GENERAL_NAME_push(names, name);
  return absl::OkStatus();
}

absl::Status AddSubjectNames(X509* x509, const CertificateOptions& options) {
  NamesPtr names(sk_GENERAL_NAME_new_null());
  BLINK_RETURN_IF_ERROR(PushText(names.get(), GEN_URI, options.uri_san));
  for (const std::string& dns : options.dns_names) {
    if (!IsDnsName(dns)) return absl::InvalidArgumentError(absl::StrCat("'", dns, "' is not a DNS name"));
    BLINK_RETURN_IF_ERROR(PushText(names.get(), GEN_DNS, dns));
  }
  for (const std::string& address : options.ip_addresses) {
    BLINK_RETURN_IF_ERROR(PushAddress(names.get(), address));
  }
  if (X509_add1_ext_i2d(x509, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return OpenSslError("cannot add the subject alternative names");
  }
  return absl::OkStatus();
}

// The subject is for people; it is derived from the URI as well, since the request's own subject proves nothing.
absl::Status SetSubject(X509* x509, absl::string_view uri) {
  absl::ConsumePrefix(&uri, "blink://");
  const size_t slash = std::min(uri.find('/'), uri.size());
  X509_NAME* name = X509_get_subject_name(x509);
  BLINK_RETURN_IF_ERROR(AddName(name, "O", uri.substr(0, slash)));
  return AddName(name, "CN", slash < uri.size() ? uri.substr(slash + 1) : uri);
}

absl::StatusOr<EVP_PKEY*> RequestedKey(X509_REQ* request) {
  EVP_PKEY* key = X509_REQ_get0_pubkey(request);
  const bool signed_by_it = key != nullptr && X509_REQ_verify(request, key) == 1;
  ERR_clear_error();
  if (!signed_by_it) {
    return absl::InvalidArgumentError(
        "the certificate request is not signed by its own key: it was damaged or tampered with");
  }
  if (EVP_PKEY_get_security_bits(key) < kSecurityBitsMin) {
    return absl::InvalidArgumentError("the key of the certificate request is too weak: use ECDSA P-256");
  }
  return key;
}

absl::Status Sign(X509* x509, EVP_PKEY* key) {
  if (X509_sign(x509, key, EVP_sha256()) == 0) return OpenSslError("cannot sign the certificate");
  return absl::OkStatus();
}

}  // namespace

bool IsDnsName(absl::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '-'; });
}

bool IsIpAddress(const std::string& text) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

absl::StatusOr<std::string> GenerateKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return pki_internal::KeyToPem(key.get());
}

absl::StatusOr<std::string> MakeRequest(const std::string& key, const std::string& common_name) {
  if (common_name.empty() || common_name.size() > kSubjectCharactersMax) {
    return absl::InvalidArgumentError(absl::StrCat("a common name has 1 to ", kSubjectCharactersMax, " characters"));
  }
  BLINK_ASSIGN_OR_RETURN(KeyPtr private_key, pki_internal::ParseKey(key));
  RequestPtr request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), private_key.get()) != 1) {
    return OpenSslError("cannot make the certificate request");
  }
  BLINK_RETURN_IF_ERROR(AddName(X509_REQ_get_subject_name(request.get()), "CN", common_name));
  if (X509_REQ_sign(request.get(), private_key.get(), EVP_sha256()) == 0) {
    return OpenSslError("cannot sign the certificate request");
  }
  return pki_internal::RequestToPem(request.get());
}

absl::StatusOr<CertificateAuthority> CreateAuthority(const std::string& common_name, absl::Duration valid_for) {
  if (valid_for <= absl::ZeroDuration()) return absl::InvalidArgumentError("an authority must be valid for some time");
  CertificateAuthority authority;
  BLINK_ASSIGN_OR_RETURN(authority.key, GenerateKey());
  BLINK_ASSIGN_OR_RETURN(KeyPtr key, pki_internal::ParseKey(authority.key));
  CertificatePtr x509(X509_new());
  if (x509 == nullptr || X509_set_version(x509.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(x509.get(), key.get()) != 1) {
    return OpenSslError("cannot make the authority's certificate");
  }
  const absl::Time now = absl::Now();
  BLINK_RETURN_IF_ERROR(SetSerial(x509.get()));
  BLINK_RETURN_IF_ERROR(SetValidity(x509.get(), now - kClockSkew, now + valid_for));
  BLINK_RETURN_IF_ERROR(AddName(X509_get_subject_name(x509.get()), "CN", common_name));
  if (X509_set_issuer_name(x509.get(), X509_get_subject_name(x509.get())) != 1)
    return OpenSslError("cannot set the issuer");
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), x509.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), x509.get(), NID_key_usage, "critical,keyCertSign,cRLSign"));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), x509.get(), NID_subject_key_identifier, "hash"));
  BLINK_RETURN_IF_ERROR(Sign(x509.get(), key.get()));
  BLINK_ASSIGN_OR_RETURN(authority.certificate, pki_internal::CertificateToPem(x509.get()));
  return authority;
}

absl::StatusOr<std::string> SignRequest(const CertificateAuthority& authority, const std::string& request,
                                        const CertificateOptions& options) {
  if (options.uri_san.empty()) return absl::InvalidArgumentError("a certificate needs a URI that names its owner");
  if (options.valid_for <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a certificate must be valid for some time");
  }
  BLINK_ASSIGN_OR_RETURN(RequestPtr parsed, pki_internal::ParseRequest(request));
  BLINK_ASSIGN_OR_RETURN(EVP_PKEY * public_key, RequestedKey(parsed.get()));
  BLINK_ASSIGN_OR_RETURN(CertificatePtr issuer, pki_internal::ParseCertificate(authority.certificate));
  BLINK_ASSIGN_OR_RETURN(KeyPtr issuer_key, pki_internal::ParseKey(authority.key));
  CertificatePtr x509(X509_new());
  if (x509 == nullptr || X509_set_version(x509.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(x509.get(), public_key) != 1 ||
      X509_set_issuer_name(x509.get(), X509_get_subject_name(issuer.get())) != 1) {
    return OpenSslError("cannot make the certificate");
  }
  const absl::Time from = options.valid_from.value_or(absl::Now() - kClockSkew);
  const absl::Time until = options.valid_from.value_or(absl::Now()) + options.valid_for;
  BLINK_RETURN_IF_ERROR(SetSerial(x509.get()));
  BLINK_RETURN_IF_ERROR(SetValidity(x509.get(), from, until));
  BLINK_RETURN_IF_ERROR(SetSubject(x509.get(), options.uri_san));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), issuer.get(), NID_key_usage, "critical,digitalSignature"));
  BLINK_RETURN_IF_ERROR(
      AddExtension(x509.get(), issuer.get(), NID_ext_key_usage, options.server ? "serverAuth" : "clientAuth"));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), issuer.get(), NID_subject_key_identifier, "hash"));
  BLINK_RETURN_IF_ERROR(AddExtension(x509.get(), issuer.get(), NID_authority_key_identifier, "keyid:always"));
  BLINK_RETURN_IF_ERROR(AddSubjectNames(x509.get(), options));
  BLINK_RETURN_IF_ERROR(Sign(x509.get(), issuer_key.get()));
  return pki_internal::CertificateToPem(x509.get());
}

}  // namespace blink
