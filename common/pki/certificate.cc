// Reads and writes PEM, reads certificates, and checks whether a key belongs to a certificate.
#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/pki/openssl_pem.h"
#include "common/pki/pki.h"
#include "common/pki/serial.h"

namespace blink {
namespace pki_internal {
namespace {

BioPtr BioOver(absl::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

absl::StatusOr<std::string> Contents(const BioPtr& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  if (size <= 0) return OpenSslError("cannot write PEM");
  return std::string(data, size);
}

// Answers OpenSSL's question for a password with "none", rather than asking at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

absl::Status OpenSslError(absl::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return absl::InternalError(what);
  char text[256];
  ERR_error_string_n(code, text, sizeof(text));
  return absl::InternalError(absl::StrCat(what, ": ", text));
}

absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem) {
  BioPtr bio = BioOver(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) return absl::InvalidArgumentError("not an unencrypted private key in PEM");
  return key;
}

absl::StatusOr<RequestPtr> ParseRequest(absl::string_view pem) {
  BioPtr bio = BioOver(pem);
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (request == nullptr) return absl::InvalidArgumentError("not a certificate request in PEM");
  return request;
}

absl::StatusOr<CertificatePtr> ParseCertificate(absl::string_view pem) {
  BioPtr bio = BioOver(pem);
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) return absl::InvalidArgumentError("not a certificate in PEM");
  return certificate;
}

absl::StatusOr<std::string> KeyToPem(EVP_PKEY* key) {
  BioPtr bio(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("cannot write the key");
  }
  return Contents(bio);
}

absl::StatusOr<std::string> RequestToPem(X509_REQ* request) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_REQ(bio.get(), request) != 1) return OpenSslError("cannot write the certificate request");
  return Contents(bio);
}

absl::StatusOr<std::string> CertificateToPem(X509* certificate) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return OpenSslError("cannot write the certificate");
  return Contents(bio);
}

}  // namespace pki_internal

namespace {

using pki_internal::CertificatePtr;
using pki_internal::KeyPtr;
using pki_internal::NamesPtr;

absl::StatusOr<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InvalidArgumentError("the certificate has a malformed date");
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string NameOf(X509_NAME* name) {
  pki_internal::BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return size > 0 ? std::string(data, size) : std::string();
}

std::string TextOf(const ASN1_STRING* string) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)), ASN1_STRING_length(string));
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = "?";
  const int size = ASN1_STRING_length(bytes);
  if (size == 4 || size == 16) {
    inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text, sizeof(text));
  }
  return text;
}

std::string KeyDigestOf(X509_PUBKEY* key) {
  unsigned char* encoded = nullptr;
  const int size = i2d_X509_PUBKEY(key, &encoded);
  if (size <= 0) return "";
  std::string digest = DigestToHex(Sha256Of(absl::string_view(reinterpret_cast<const char*>(encoded), size)));
  OPENSSL_free(encoded);
  return digest;
}

}  // namespace

std::string ReadSerial(X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  char* hex = number != nullptr ? BN_bn2hex(number) : nullptr;
  std::string serial = hex != nullptr ? absl::AsciiStrToLower(hex) : std::string();
  OPENSSL_free(hex);
  BN_free(number);
  return serial;
}

absl::StatusOr<CertificateInfo> InspectCertificate(const std::string& certificate) {
  BLINK_ASSIGN_OR_RETURN(CertificatePtr x509, pki_internal::ParseCertificate(certificate));
  CertificateInfo info;
  BLINK_ASSIGN_OR_RETURN(info.not_before, TimeOf(X509_get0_notBefore(x509.get())));
  BLINK_ASSIGN_OR_RETURN(info.not_after, TimeOf(X509_get0_notAfter(x509.get())));
  info.serial = ReadSerial(x509.get());
  info.subject = NameOf(X509_get_subject_name(x509.get()));
  info.issuer = NameOf(X509_get_issuer_name(x509.get()));
  info.key_digest = KeyDigestOf(X509_get_X509_PUBKEY(x509.get()));
  NamesPtr names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x509.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI) info.uri_sans.push_back(TextOf(name->d.uniformResourceIdentifier));
    if (name->type == GEN_DNS) info.host_names.push_back(TextOf(name->d.dNSName));
    if (name->type == GEN_IPADD) info.host_names.push_back(AddressOf(name->d.iPAddress));
  }
  return info;
}

absl::StatusOr<std::string> KeyDigestOfRequest(const std::string& request) {
  BLINK_ASSIGN_OR_RETURN(const pki_internal::RequestPtr parsed, pki_internal::ParseRequest(request));
  return KeyDigestOf(X509_REQ_get_X509_PUBKEY(parsed.get()));
}

absl::Status CheckKeyPair(const std::string& certificate, const std::string& key) {
  BLINK_ASSIGN_OR_RETURN(CertificatePtr x509, pki_internal::ParseCertificate(certificate));
  BLINK_ASSIGN_OR_RETURN(KeyPtr private_key, pki_internal::ParseKey(key));
  const bool fits = X509_check_private_key(x509.get(), private_key.get()) == 1;
  ERR_clear_error();
  if (!fits) return absl::FailedPreconditionError("the private key does not belong to the certificate");
  return absl::OkStatus();
}

absl::Status CheckIssuedBy(const std::string& certificate, const std::string& authority) {
  BLINK_ASSIGN_OR_RETURN(CertificatePtr x509, pki_internal::ParseCertificate(certificate));
  BLINK_ASSIGN_OR_RETURN(CertificatePtr issuer, pki_internal::ParseCertificate(authority));
  const bool issued = X509_verify(x509.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (!issued) return absl::FailedPreconditionError("the certificate was not issued by this certificate authority");
  return absl::OkStatus();
}

}  // namespace blink
