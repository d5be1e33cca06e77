// The files of an authority's folder OUT, for those who change them: provision.cc and membership.cc.
#ifndef BLINK_TOOLS_PROVISION_FILES_H_
#define BLINK_TOOLS_PROVISION_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/pki.h"
#include "tools/enrolment.h"

namespace blink::provision_internal {

// INVALID_ARGUMENT naming the file. NOT_FOUND: there is no authority in OUT.
absl::StatusOr<Enrolment> LoadEnrolment(const std::string& out);
absl::Status SaveEnrolment(const std::string& out, const Enrolment& enrolment);
absl::StatusOr<CertificateAuthority> LoadAuthority(const std::string& out);

// Signs the list of all that `enrolment` says is revoked, under the next number, which is written into `enrolment`.
absl::StatusOr<std::string> SignNextList(const CertificateAuthority& authority, Enrolment& enrolment,
                                         absl::Duration valid_for);

}  // namespace blink::provision_internal

#endif  // BLINK_TOOLS_PROVISION_FILES_H_
