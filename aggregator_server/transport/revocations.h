// The file with the authority's list of revoked certificates, as this aggregator follows it.
//
//   Load     at the start. Refuses a list that is missing, malformed or of another authority. Refuses one that is older
//            than the last list in force here, or has the same number and names fewer certificates.
//   Reread   later. Such a list is refused too: the list before stays in force, and an error line in the log says why.
//            Errors that may pass by themselves (no descriptor left, no memory) are tried again at the next look.
//
// A list past its nextUpdate stays in force; with `refuse_when_outdated` Check refuses everybody instead. A warning is
// logged every day, from 30 days before. The last list in force is kept in `memory_path`, so that a restart cannot go
// back to an older one. A new list is in force whether or not it can be kept: a full disk must not revive anybody.
// Keeping it is tried again at every look.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_REVOCATIONS_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_REVOCATIONS_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/pki/expiry.h"
#include "common/pki/pki.h"
#include "common/pki/revocation.h"

namespace blink {

struct RevocationOptions {
  std::string path;         // the list, PEM
  std::string ca_path;      // the authority's certificate, PEM
  std::string memory_path;  // DATA/revoked.crl.pem
  bool refuse_when_outdated = false;
  bool only_check = false;  // Load does not keep the list in memory_path
};

class Revocations {
 public:
  // NOT_FOUND, INVALID_ARGUMENT or FAILED_PRECONDITION naming the file. `clock` outlives this.
  static absl::StatusOr<std::unique_ptr<Revocations>> Load(RevocationOptions options, Clock& clock);

  // UNAUTHENTICATED with serial number, date, reason and remedy; UNAVAILABLE: the list is outdated and that counts.
  absl::Status Check(const CertificateInfo& certificate) const;
  // The same, of the list's entries alone.
  absl::Status CheckSerial(const std::string& serial) const;

  // Looks at the file, and reads it when it has changed, or `always`. Returns whether another list is in force now. Not
  // from two threads at a time.
  bool Reread(bool always);

  // Warns once a day when the list in force is outdated, or will be within 30 days.
  void WarnWhenOutdated();

  std::shared_ptr<const RevocationList> list() const;

 private:
  Revocations(RevocationOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  absl::StatusOr<RevocationList> ReadList(std::string* pem) const;
  // FAILED_PRECONDITION: older than the list in force.
  absl::Status Replace();
  absl::Status Remember();
  void RememberLater();
  absl::Status CompareWithMemory(const RevocationList& list) const;

  const RevocationOptions options_;
  Clock& clock_;
  std::string stamp_;       // what the file system said of the file when it was last read
  std::string pem_;         // in force
  bool remembered_ = true;  // pem_ is in memory_path
  bool try_again_ = false;  // the file could not be read, and not for what is in it
  std::string error_;       // of the last reading
  std::string memory_error_;
  ExpiryReminder reminder_;

  mutable std::mutex mutex_;
  std::shared_ptr<const RevocationList> list_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_REVOCATIONS_H_
