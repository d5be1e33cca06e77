// The border: everything that a node claims is checked here, once, before it reaches the store. Knows no gRPC.
//
//   service                          Ingest                                      ReportStore
//     | Admit(identity, header) ------->| identity, roster, round, parameters, sizes; reserves memory
//     |<- Admission --------------------|
//     |   (receives the coded bits, never more than admitted)
//     | Submit(admission, bits, done) ->| digest, strict decoding -- PutReport ------>| batch, fsync
//     |<------------------------------------------------------- done(receipt) --------|
//
// Submit also compares the number of ones and the degree with what an honest node's can be (plausibility/). The store
// counts the reports that are beyond. Nothing that a node sees depends on the outcome, not even the time: every report
// costs the same two comparisons.
//
// Every refusal is precise and leaves the round as it was. A message names what is public (rounds, node ids, sizes),
// never what a report contains.
#ifndef BLINK_AGGREGATOR_SERVER_INGEST_INGEST_H_
#define BLINK_AGGREGATOR_SERVER_INGEST_INGEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/ingest/refused_reports.h"
#include "aggregator_server/ingest/retry_advisor.h"
#include "aggregator_server/plausibility/report_tests.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/node.pb.h"
#include "common/base/clock.h"
#include "common/base/code_counts.h"
#include "common/pki/identity.h"
#include "common/privacy/parameters.h"
#include "common/wire/roster.h"

namespace blink {

// What this aggregator serves.
struct Deployment {
  std::string name;
  uint32_t node_count = 0;
  uint64_t roster_version = 0;
  std::vector<NodeRange> retired;  // of this roster
  std::vector<Roster> earlier;     // whose rounds may still be open: a round keeps the roster that it began with
};

struct IngestLimits {
  uint32_t reports_in_flight_max = 8192;
  uint64_t bytes_in_flight_max = 256 << 20;  // coded bits admitted and not yet durable
  // One certificate may have so many of these, and no more than four reports for each of its nodes. A node that begins
  // reports and never ends them therefore takes nothing from others.
  uint32_t peer_reports_max = 2048;
  uint64_t peer_bytes_max = 64 << 20;
  absl::Duration report_time_max = absl::Seconds(60);  // from the header to the last chunk
};

// What became of the reports since the start, for metrics.
struct IngestActivity {
  uint64_t fresh = 0;            // stored
  uint64_t repeated = 0;         // held already: the same receipt once more
  uint64_t bytes = 0;            // coded bits of the fresh ones
  CodeCounts::Counts refused{};  // by Admit and Submit
};

class Ingest {
 public:
  // What was reserved for one report; given back when it is destroyed.
  class Reservation {
   public:
    Reservation(Ingest* ingest, const Identity& peer, uint64_t bytes)
        : ingest_(ingest), peer_(peer.first_node, peer.last_node), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept
        : ingest_(std::exchange(other.ingest_, nullptr)),
          peer_(other.peer_),
          bytes_(other.bytes_),
          has_share_(std::exchange(other.has_share_, false)) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();
    // The peer's share alone, before its answer: whoever has heard that may send the next report at once.
    void GiveBackShare();

   private:
    Ingest* ingest_;
    std::pair<uint64_t, uint64_t> peer_;  // first and last node of its certificate
    uint64_t bytes_;
    bool has_share_ = true;
  };

  // A header that passed every check that needs no bits.
  struct Admission {
    std::string round_id;
    NodeIndex node = 0;
    std::string peer;  // whom the certificate names
    PrivacyParameters parameters;
    ReportScreen screen;
    CodedReport report;  // without the bits
    uint32_t coded_bytes = 0;
    std::shared_ptr<Reservation> reservation;
    std::shared_ptr<std::atomic<uint32_t>> fresh;  // counted up once it is stored, if it is a new one; may be absent
  };

  using Stored = std::function<void(const std::string& round_id, uint32_t reports)>;

  // `store` and `clock` outlive this, and this outlives every callback of the store. `stored` is told of every fresh
  // report, on the store's thread: it must be quick.
  Ingest(Deployment deployment, IngestLimits limits, ReportStore& store, Clock& clock, Stored stored);

  // Is this peer one of the deployment's nodes? NOT_FOUND: another deployment is meant. PERMISSION_DENIED: the
  // certificate is of another deployment, of no node, or does not cover [first, last]. INVALID_ARGUMENT: a node that is
  // not below n. Retired nodes pass: a gateway asks for the rounds by the first node of its range.
  absl::Status CheckPeer(const Identity& identity, const std::string& deployment, uint64_t first, uint64_t last) const;

  // As CheckPeer; then NOT_FOUND: no such round. INVALID_ARGUMENT: parameters, roster version or sizes are not the
  // round's, or the node was added by a later roster than the round's. PERMISSION_DENIED: the node is retired in the
  // round's roster. FAILED_PRECONDITION: the round is not open, and no report of the node is held. RESOURCE_EXHAUSTED:
  // too much in flight.
  absl::StatusOr<Admission> Admit(const Identity& identity, const v1::ReportHeader& header);

  // INVALID_ARGUMENT: wrong length, digest or coding. Otherwise what ReportStore::PutReport says. `done` runs once,
  // here or on the store's thread.
  void Submit(Admission admission, std::string coded_bits, std::function<void(absl::StatusOr<v1::Receipt>)> done);

  // A node says that its journal did not draw the report that is held for it. The errors are those of CheckPeer and
  // GetRound; FAILED_PRECONDITION: none is held.
  absl::Status NoteForeignReport(const Identity& identity, const v1::NoteForeignReportRequest& request);
  RefusedReports& refused_reports() { return refused_reports_; }

  // From now on every new report is refused with UNAVAILABLE, or no longer.
  void SetDraining(bool draining) { draining_ = draining; }

  RetryWindow WindowFor(const absl::Status& status) const;  // OK: the wait for the seal
  RetryAdvisor& advisor() { return advisor_; }
  const Deployment& deployment() const { return deployment_; }
  const IngestLimits& limits() const { return limits_; }
  uint32_t reports_in_flight() const { return reports_in_flight_.load(); }
  IngestActivity GetActivity() const;

 private:
  absl::StatusOr<Admission> CheckAndReserve(const Identity& identity, const v1::ReportHeader& header);
  // Counts it, and keeps it for operators.
  absl::Status Refuse(const std::string& round_id, uint64_t node, const std::string& peer, const absl::Status& why);
  absl::Status CheckMembership(uint64_t node, const v1::Round& round) const;
  absl::Status CheckHeader(const v1::ReportHeader& header, const v1::Round& round) const;
  struct Rules {
    PrivacyParameters parameters;
    ReportScreen of_even, of_odd;  // nodes
  };
  // Derived once a round: exact arithmetic and tails cost more than all other checks.
  absl::StatusOr<Rules> FindRules(const v1::Round& round);
  absl::StatusOr<std::shared_ptr<Reservation>> Reserve(const Identity& peer, uint64_t bytes);

  const Deployment deployment_;
  const IngestLimits limits_;
  ReportStore& store_;
  Clock& clock_;
  const Stored stored_;
  RetryAdvisor advisor_;
  std::mutex rules_mutex_;
  std::map<std::string, Rules> rules_;  // of the rounds that reports came for lately
  std::atomic<bool> draining_{false};
  std::atomic<uint32_t> reports_in_flight_{0};
  std::atomic<uint64_t> bytes_in_flight_{0};
  std::atomic<uint64_t> fresh_{0}, repeated_{0}, bytes_{0};
  CodeCounts refused_;
  RefusedReports refused_reports_;
  struct InFlight {
    uint32_t reports = 0;
    uint64_t bytes = 0;
  };
  std::mutex peers_mutex_;
  std::map<std::pair<uint64_t, uint64_t>, InFlight> peers_;  // those with something in flight
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_INGEST_INGEST_H_
