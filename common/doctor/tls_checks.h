// What every doctor looks at of its certificate, and of the connection that it is for.
#ifndef BLINK_COMMON_DOCTOR_TLS_CHECKS_H_
#define BLINK_COMMON_DOCTOR_TLS_CHECKS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/doctor/diagnosis.h"
#include "common/pki/identity.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"

namespace blink {

struct OwnCertificate {
  CertificateInfo info;
  std::optional<Identity> identity;  // where it has exactly one
};

// What a start of a client makes of its files; also whether the authority issued the certificate, which a start leaves
// to the peer.
absl::Status CheckClientFiles(const TlsFiles& files);

// The certificate, its authority, their dates and the key's mode. `start` is what a start makes of these files; its
// words are the finding. nullopt: there is no certificate to read.
std::optional<OwnCertificate> LookAtTlsFiles(const TlsFiles& files, const absl::Status& start, absl::Time now,
                                             Diagnosis& diagnosis);

// The revocation list of the authority in `ca_path`: its dates, and whether it names `own`. `start` as above.
void LookAtRevocations(const std::string& path, const std::string& ca_path, const absl::Status& start,
                       const std::optional<OwnCertificate>& own, absl::Time now, Diagnosis& diagnosis);

// Whether an aggregator answers at `address` and takes this certificate, and until when its own is good. `files`: null
// without TLS. Returns whether it answers.
bool LookAtConnection(const TlsFiles* files, const std::string& address, const std::string& proxy, absl::Time now,
                      Diagnosis& diagnosis);

}  // namespace blink

#endif  // BLINK_COMMON_DOCTOR_TLS_CHECKS_H_
