// Which reports of a round were refused, and why, for operators who look for a missing node.
//
// It is kept in memory since the start of the aggregator. A node's report that was refused only because the aggregator
// was busy, full or ending is not in it: the node tries again, and metrics and log tell of that. Nothing here depends
// on a list: a refusal names what is public of a report.
#ifndef BLINK_AGGREGATOR_SERVER_INGEST_REFUSED_REPORTS_H_
#define BLINK_AGGREGATOR_SERVER_INGEST_REFUSED_REPORTS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace blink {

struct RefusedReport {
  uint64_t node = 0;  // as the peer claimed
  std::string by;     // whom its certificate names: "node/3", "nodes/0-135"
  absl::Status why;   // of the last time
  absl::Time first, last;
  uint64_t count = 0;
};

class RefusedReports {
 public:
  // Entries of a round, of which one certificate has no more than its share. The rest is counted. There is always room
  // for second reports (ALREADY_EXISTS), which tell of a certificate that is used twice.
  static constexpr size_t kOfARoundMax = 5000, kOfACertificateMax = 1000, kKeptForSecondReports = 1000;
  static constexpr size_t kMessageCharactersMax = 300;

  explicit RefusedReports(absl::Time since) : since_(since) {}

  // An empty `round_id` is of no round: nothing is kept.
  void Note(const std::string& round_id, uint64_t node, const std::string& by, const absl::Status& why, absl::Time now);

  struct Listing {
    std::vector<RefusedReport> reports;  // ascending nodes
    uint64_t left_out = 0;               // refusals beyond kOfARoundMax
    absl::Time since;                    // what came before is not known
  };
  Listing List(const std::string& round_id);

 private:
  using Key = std::tuple<uint64_t, std::string, absl::StatusCode>;
  struct OfRound {
    bool HasRoom(const std::string& by_whom, bool is_second) const;

    std::map<Key, RefusedReport> reports;
    std::map<std::string, size_t> by;  // entries of each certificate
    size_t second = 0;                 // entries of second reports
    uint64_t left_out = 0;
    absl::Time last;
  };

  const absl::Time since_;
  std::mutex mutex_;
  std::map<std::string, OfRound> rounds_;  // those with refusals lately
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_INGEST_REFUSED_REPORTS_H_
