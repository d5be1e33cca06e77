// What an aggregator must never break, as far as a simulation has seen: which reports were sent and acknowledged, and
// which states each round was seen in. A Model is a value: a backup keeps a copy of it.
#ifndef BLINK_TESTS_SIMULATION_MODEL_H_
#define BLINK_TESTS_SIMULATION_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/privacy/bit_row.h"
#include "common/wire/report_codec.h"

namespace blink::simulation {

using Reports = std::map<NodeIndex, CodedReport>;

// reports.blr with these reports, coded from its description (aggregator_server/reports/report_file.h) and not by the
// code that is tested.
std::string ReportFileOf(const Reports& reports);

struct KnownRound {
  int number = 0;  // 1, 2, ..: its name in a trace
  uint32_t node_count = 0;
  int64_t deadline_ms = 0;
  std::vector<v1::RoundState> states;  // entered, as last seen
  std::map<NodeIndex, std::map<Digest, CodedReport>> sent;
  std::map<NodeIndex, Digest> acknowledged;
  std::optional<Reports> sealed;  // its reports, since it was first seen sealed
  bool may_be_sealed = false;     // its deadline has come, or an operator asked for its end
  bool may_fail = false;          // a worker failed, or did not end
  uint32_t retries = 0;           // asked for

  bool is_open() const { return states.back() == v1::ROUND_STATE_OPEN; }
  bool is_over() const;
};

class Model {
 public:
  // All checks return what is wrong, in a sentence, or "".

  // The round is there, and has just been seen for the first time.
  std::string AddRound(const v1::Round& round);
  KnownRound* Find(const std::string& round_id);
  std::map<std::string, KnownRound>& rounds() { return rounds_; }
  const std::string& IdOf(int number) const { return ids_.at(number - 1); }
  int round_count() const { return static_cast<int>(ids_.size()); }

  // What `backup` holds is the truth again. What was sent since is not forgotten.
  void GoBackTo(const Model& backup);
  void NoteSent(const std::string& round_id, NodeIndex node, const CodedReport& report);
  std::string NoteAcknowledged(const std::string& round_id, NodeIndex node, const Digest& digest);

  // Whether the round has gone from state to state as it may, and was sealed with a cause.
  std::string CheckStates(const v1::Round& round);
  // Whether the reports that are held are those that they must be; CheckStates comes first.
  std::string CheckReports(const v1::Round& round, ReportStore& store);
  // Whether the result is that of the sealed reports; of a round that has ended.
  std::string CheckResult(const v1::Round& round, const std::string& rounds_folder);

 private:
  std::map<std::string, KnownRound> rounds_;
  std::vector<std::string> ids_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_MODEL_H_
