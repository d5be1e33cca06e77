#include "common/pki/revocation.h"

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/pki/openssl_pem.h"

namespace blink {
namespace {

using pki_internal::BioPtr;
using pki_internal::CertificatePtr;
using pki_internal::Deleter;
using pki_internal::KeyPtr;
using pki_internal::OpenSslError;

using ListPtr = std::unique_ptr<X509_CRL, Deleter<X509_CRL_free>>;
using EntryPtr = std::unique_ptr<X509_REVOKED, Deleter<X509_REVOKED_free>>;
using IntegerPtr = std::unique_ptr<ASN1_INTEGER, Deleter<ASN1_INTEGER_free>>;
using EnumeratedPtr = std::unique_ptr<ASN1_ENUMERATED, Deleter<ASN1_ENUMERATED_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, Deleter<ASN1_TIME_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

constexpr size_t kSerialDigitsMax = 40;  // RFC 5280: 20 bytes

struct Reason {
  const char* name;
  int code;  // RFC 5280, CRLReason
};
constexpr std::array<Reason, 6> kReasons = {{{"unspecified", 0},
                                             {"key-compromise", 1},
                                             {"affiliation-changed", 3},
                                             {"superseded", 4},
                                             {"cessation-of-operation", 5},
                                             {"privilege-withdrawn", 9}}};

absl::StatusOr<int> CodeOf(const std::string& reason) {
  for (const Reason& known : kReasons) {
    if (reason == known.name) return known.code;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", reason, "' is no reason for a revocation: it is ", absl::StrJoin(RevocationReasons(), ", ")));
}

std::string ReasonOf(const X509_REVOKED* entry) {
  EnumeratedPtr code(static_cast<ASN1_ENUMERATED*>(X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, nullptr, nullptr)));
  const long value = code != nullptr ? ASN1_ENUMERATED_get(code.get()) : 0;
  for (const Reason& known : kReasons) {
    if (value == known.code) return known.name;
  }
  return absl::StrCat("reason ", value);  // another authority's tool knows more of them
}

absl::StatusOr<IntegerPtr> IntegerFromHex(const std::string& hex) {
  const bool well_formed =
      !hex.empty() && hex.size() <= kSerialDigitsMax &&
      std::all_of(hex.begin(), hex.end(), [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
  if (!well_formed) {
    return absl::InvalidArgumentError(
        absl::StrCat("the serial number '", hex, "' must be 1 to ", kSerialDigitsMax, " digits of 0-9 and a-f"));
  }
  BIGNUM* parsed = nullptr;
  BN_hex2bn(&parsed, hex.c_str());
  const BignumPtr number(parsed);
  IntegerPtr integer(number != nullptr ? BN_to_ASN1_INTEGER(number.get(), nullptr) : nullptr);
  if (integer == nullptr) return OpenSslError("cannot make a serial number");
  return integer;
}

std::string HexOf(const ASN1_INTEGER* integer) {
  const BignumPtr number(ASN1_INTEGER_to_BN(integer, nullptr));
  char* hex = number != nullptr ? BN_bn2hex(number.get()) : nullptr;
  std::string text = hex != nullptr ? absl::AsciiStrToLower(hex) : std::string();
  OPENSSL_free(hex);
  return text;
}

absl::StatusOr<TimePtr> MakeTime(absl::Time time) {
  TimePtr made(ASN1_TIME_set(nullptr, absl::ToTimeT(time)));
  if (made == nullptr) return OpenSslError("cannot make a date");
  return made;
}

absl::Status AddEntry(X509_CRL* list, const RevokedCertificate& revoked) {
  BLINK_ASSIGN_OR_RETURN(const int code, CodeOf(revoked.reason));
  BLINK_ASSIGN_OR_RETURN(const IntegerPtr serial, IntegerFromHex(revoked.serial));
  BLINK_ASSIGN_OR_RETURN(const TimePtr when, MakeTime(revoked.when));
  EntryPtr entry(X509_REVOKED_new());
  if (entry == nullptr || X509_REVOKED_set_serialNumber(entry.get(), serial.get()) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), when.get()) != 1) {
    return OpenSslError("cannot make an entry of the revocation list");
  }
  if (code != 0) {  // RFC 5280: "unspecified" is left out
    const EnumeratedPtr value(ASN1_ENUMERATED_new());
    if (value == nullptr || ASN1_ENUMERATED_set(value.get(), code) != 1 ||
        X509_REVOKED_add1_ext_i2d(entry.get(), NID_crl_reason, value.get(), 0, 0) != 1) {
      return OpenSslError("cannot write the reason of a revocation");
    }
  }
  if (X509_CRL_add0_revoked(list, entry.get()) != 1) return OpenSslError("cannot add to the revocation list");
  entry.release();  // the list's now
  return absl::OkStatus();
}

absl::Status AddExtensions(X509_CRL* list, X509* issuer, uint64_t number) {
  const IntegerPtr value(ASN1_INTEGER_new());
  if (value == nullptr || ASN1_INTEGER_set_uint64(value.get(), number) != 1 ||
      X509_CRL_add1_ext_i2d(list, NID_crl_number, value.get(), 0, 0) != 1) {
    return OpenSslError("cannot number the revocation list");
  }
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, nullptr, nullptr, list, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always");
  const bool done = extension != nullptr && X509_CRL_add_ext(list, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return done ? absl::OkStatus() : OpenSslError("cannot name the revocation list's issuer");
}

absl::Status CheckOptions(const RevocationListOptions& options) {
  if (options.number == 0) return absl::InvalidArgumentError("a revocation list is numbered from 1");
  if (options.next_update <= options.this_update) {
    return absl::InvalidArgumentError("a revocation list must be valid for some time");
  }
  std::set<std::string> serials;
  for (const RevokedCertificate& revoked : options.revoked) {
    if (!serials.insert(revoked.serial).second) {
      return absl::InvalidArgumentError(absl::StrCat("the certificate ", revoked.serial, " is revoked twice"));
    }
  }
  return absl::OkStatus();
}

// Exactly one list: what would be ignored after it may be what somebody meant.
absl::StatusOr<ListPtr> ParseOne(const std::string& pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  ListPtr list(PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
  const ListPtr second(list != nullptr ? PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  ERR_clear_error();
  if (list == nullptr) return absl::InvalidArgumentError("not a revocation list (X509 CRL) in PEM");
  if (second != nullptr)
    return absl::InvalidArgumentError("holds more than one revocation list: a list is complete in itself");
  return list;
}

absl::Status CheckExtensions(const X509_CRL* list) {
  for (int i = 0; i < X509_CRL_get_ext_count(list); ++i) {
    if (X509_EXTENSION_get_critical(X509_CRL_get_ext(list, i)) != 0) {
      return absl::InvalidArgumentError(
          "the revocation list has a critical extension (a delta or an indirect list?): a plain, complete list is "
          "needed");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> NumberOf(const X509_CRL* list) {
  const IntegerPtr value(static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  uint64_t number = 0;
  const bool numbered = value != nullptr && ASN1_INTEGER_get_uint64(&number, value.get()) == 1 && number > 0;
  ERR_clear_error();
  if (!numbered) return absl::InvalidArgumentError("the revocation list has no crlNumber from 1 to 2^64 - 1");
  return number;
}

absl::StatusOr<absl::Time> DateOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
    return absl::InvalidArgumentError("the revocation list lacks thisUpdate or nextUpdate, or has a malformed date");
  }
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

const std::vector<std::string>& RevocationReasons() {
  static const auto* const names = [] {
    auto* const made = new std::vector<std::string>;
    for (const Reason& reason : kReasons) made->push_back(reason.name);
    return made;
  }();
  return *names;
}

absl::StatusOr<std::string> SignRevocationList(const CertificateAuthority& authority,
                                               const RevocationListOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckOptions(options));
  BLINK_ASSIGN_OR_RETURN(const CertificatePtr issuer, pki_internal::ParseCertificate(authority.certificate));
  BLINK_ASSIGN_OR_RETURN(const KeyPtr key, pki_internal::ParseKey(authority.key));
  BLINK_ASSIGN_OR_RETURN(const TimePtr this_update, MakeTime(options.this_update));
  BLINK_ASSIGN_OR_RETURN(const TimePtr next_update, MakeTime(options.next_update));
  ListPtr list(X509_CRL_new());
  if (list == nullptr || X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer.get())) != 1 ||
      X509_CRL_set1_lastUpdate(list.get(), this_update.get()) != 1 ||
      X509_CRL_set1_nextUpdate(list.get(), next_update.get()) != 1) {
    return OpenSslError("cannot make the revocation list");
  }
  for (const RevokedCertificate& revoked : options.revoked) BLINK_RETURN_IF_ERROR(AddEntry(list.get(), revoked));
  BLINK_RETURN_IF_ERROR(AddExtensions(list.get(), issuer.get(), options.number));
  X509_CRL_sort(list.get());
  if (X509_CRL_sign(list.get(), key.get(), EVP_sha256()) == 0) return OpenSslError("cannot sign the revocation list");
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_CRL(bio.get(), list.get()) != 1) return OpenSslError("cannot write the revocation list");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, size);
}

absl::StatusOr<RevocationList> RevocationList::Parse(const std::string& pem, const std::string& authority_certificate) {
  BLINK_ASSIGN_OR_RETURN(const CertificatePtr issuer, pki_internal::ParseCertificate(authority_certificate));
  BLINK_ASSIGN_OR_RETURN(const ListPtr list, ParseOne(pem));
  const bool issued = X509_NAME_cmp(X509_CRL_get_issuer(list.get()), X509_get_subject_name(issuer.get())) == 0 &&
                      X509_CRL_verify(list.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (!issued) {
    return absl::FailedPreconditionError("the revocation list was not signed by this certificate authority");
  }
  BLINK_RETURN_IF_ERROR(CheckExtensions(list.get()));
  RevocationList parsed;
  BLINK_ASSIGN_OR_RETURN(parsed.number_, NumberOf(list.get()));
  BLINK_ASSIGN_OR_RETURN(parsed.this_update_, DateOf(X509_CRL_get0_lastUpdate(list.get())));
  BLINK_ASSIGN_OR_RETURN(parsed.next_update_, DateOf(X509_CRL_get0_nextUpdate(list.get())));
  STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(entries, i);
    for (int e = 0; e < X509_REVOKED_get_ext_count(entry); ++e) {
      if (X509_EXTENSION_get_critical(X509_REVOKED_get_ext(entry, e)) != 0) {
        return absl::InvalidArgumentError(
            "an entry of the revocation list has a critical extension (an indirect list?)");
      }
    }
    RevokedCertificate revoked = {.serial = HexOf(X509_REVOKED_get0_serialNumber(entry)), .reason = ReasonOf(entry)};
    BLINK_ASSIGN_OR_RETURN(revoked.when, DateOf(X509_REVOKED_get0_revocationDate(entry)));
    parsed.revoked_.emplace(revoked.serial, revoked);
  }
  return parsed;
}

const RevokedCertificate* RevocationList::Find(const std::string& serial) const {
  const auto found = revoked_.find(serial);
  return found != revoked_.end() ? &found->second : nullptr;
}

bool RevocationList::Includes(const RevocationList& other) const {
  return std::all_of(other.revoked_.begin(), other.revoked_.end(),
                     [this](const auto& entry) { return revoked_.count(entry.first) > 0; });
}

}  // namespace blink
