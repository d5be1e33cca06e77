// The list of revoked certificates: an X.509 CRL (RFC 5280), which `openssl crl` reads as well.
//
// Every list is complete: it names all certificates that the authority has revoked. Its number is higher than that of
// the list before. There are no delta lists, and no lists of another issuer's certificates.
#ifndef BLINK_COMMON_PKI_REVOCATION_H_
#define BLINK_COMMON_PKI_REVOCATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/pki.h"

namespace blink {

struct RevokedCertificate {
  std::string serial;  // hexadecimal, lower case, as CertificateInfo has it
  absl::Time when;
  std::string reason;  // one of RevocationReasons()
};

// "unspecified", "key-compromise", "affiliation-changed", "superseded", "cessation-of-operation",
// "privilege-withdrawn".
const std::vector<std::string>& RevocationReasons();

struct RevocationListOptions {
  uint64_t number = 1;  // crlNumber, at least 1
  absl::Time this_update;
  absl::Time next_update;
  std::vector<RevokedCertificate> revoked;
};
// Signs the list and returns it as PEM. Returns INVALID_ARGUMENT for a malformed or repeated serial, an unknown reason,
// the number 0, or a next_update that is not after this_update.
absl::StatusOr<std::string> SignRevocationList(const CertificateAuthority& authority,
                                               const RevocationListOptions& options);

// A list whose signature was verified. It never changes, so several threads may read it without a lock.
class RevocationList {
 public:
  // Returns INVALID_ARGUMENT when the text is not exactly one list in PEM, or the list has no number, no dates, or a
  // critical extension (as delta and indirect lists have). Returns FAILED_PRECONDITION when the authority's key did not
  // sign it.
  static absl::StatusOr<RevocationList> Parse(const std::string& pem, const std::string& authority_certificate);

  uint64_t number() const { return number_; }
  absl::Time this_update() const { return this_update_; }
  absl::Time next_update() const { return next_update_; }
  size_t size() const { return revoked_.size(); }
  // The entry of a certificate, or nullptr when it is not revoked.
  const RevokedCertificate* Find(const std::string& serial) const;
  // Whether this list names every certificate that `other` names.
  bool Includes(const RevocationList& other) const;

 private:
  RevocationList() = default;
  uint64_t number_ = 0;
  absl::Time this_update_;
  absl::Time next_update_;
  std::map<std::string, RevokedCertificate> revoked_;  // by serial
};

}  // namespace blink

#endif  // BLINK_COMMON_PKI_REVOCATION_H_
