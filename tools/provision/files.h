// The files of an authority's folder OUT, for the two sources that change them: provision.cc and membership.cc.
//
//   enrolment.json               the list of names
//   ca/ca.key, ca/ca.crt         the authority
//   revoked.crl.pem              its list of revocations
//   aggregator/, operator/, operators/<name>/, kits/<name>/
//                                a place for each program, from which it starts
#ifndef BLINK_TOOLS_PROVISION_FILES_H_
#define BLINK_TOOLS_PROVISION_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/pki.h"
#include "tools/provision/enrolment.h"

namespace blink::provision_internal {

// Returns INVALID_ARGUMENT, naming the file, or NOT_FOUND when there is no authority in OUT.
absl::StatusOr<Enrolment> LoadEnrolment(const std::string& out);
absl::Status SaveEnrolment(const std::string& out, const Enrolment& enrolment);
absl::StatusOr<CertificateAuthority> LoadAuthority(const std::string& out);

// Signs the list of all certificates that `enrolment` says are revoked. It has the next number, which is kept in
// `enrolment`.
absl::StatusOr<std::string> SignNextList(const CertificateAuthority& authority, Enrolment& enrolment,
                                         absl::Duration valid_for);

// The place from which the program of a name starts.
struct Place {
  std::string folder;
  std::string side;  // the stem of the files of key and certificate: "client" or "server"
};
Place FindPlace(const std::string& out, const Enrolled& entry);

// Makes the place of `entry`, without key and certificate. `ca` is the authority's certificate, and `listen` the
// address that the aggregator binds.
absl::Status WritePlace(const std::string& out, const Enrolment& enrolment, const Enrolled& entry,
                        const std::string& ca, const std::string& listen);

// The policy.json of a kit. It is a suggestion, since the file belongs to the owner of the lists.
std::string PolicyJson(const Enrolment& enrolment);

}  // namespace blink::provision_internal

#endif  // BLINK_TOOLS_PROVISION_FILES_H_
