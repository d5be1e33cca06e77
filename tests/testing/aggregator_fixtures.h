// What the tests of the aggregator share: a clock that is moved by hand, rounds and reports.
// The reports are patterns, not noise: nothing here is private.
#ifndef BLINK_TESTS_TESTING_AGGREGATOR_FIXTURES_H_
#define BLINK_TESTS_TESTING_AGGREGATOR_FIXTURES_H_

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/node.pb.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"
#include "common/wire/groups_codec.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"
#include "tests/testing/temp_folder.h"

namespace blink::testing {

class ManualClock final : public Clock {
 public:
  absl::Time Now() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  absl::Duration Monotonic() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return monotonic_;
  }
  void SleepFor(absl::Duration duration) override { Advance(duration); }
  void Advance(absl::Duration duration) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_ += duration;
    monotonic_ += duration;
  }
  // As if somebody set the machine's clock.
  void Jump(absl::Duration duration) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_ += duration;
  }

 private:
  std::mutex mutex_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  absl::Duration monotonic_ = absl::Seconds(1000);
};

// All reports of a round, by node.
inline std::map<uint64_t, CodedReport> ReportsOf(ReportStore& store, const std::string& round_id) {
  std::map<uint64_t, CodedReport> reports;
  const absl::Status read = store.VisitReports(round_id, [&](uint64_t node, const CodedReport& report) {
    reports[node] = report;
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  return reports;
}

// Whether `condition` comes true; waits for it a minute at most, which is far more than it takes.
inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline constexpr char kRoundId[] = "0123456789abcdef0123456789abcdef";
inline constexpr char kOtherRoundId[] = "fedcba9876543210fedcba9876543210";

inline PrivacyParameters MakeParameters(uint32_t node_count, uint32_t degree_share_ppm = 100'000,
                                        Mechanism mechanism = Mechanism::kBothEnds) {
  return *PrivacyParameters::Create(6'000'000, degree_share_ppm, node_count, mechanism);
}

// Of Mechanism::kGroupDegrees; node i is of group i % count.
inline NodeGroups MakeGroups(uint32_t node_count, uint32_t count) {
  NodeGroups groups{.count = count};
  for (uint32_t i = 0; i < node_count; ++i) groups.group_of.push_back(i % count);
  return groups;
}
inline PrivacyParameters MakeGroupParameters(uint32_t node_count, uint32_t count) {
  return *PrivacyParameters::CreateForGroups(6'000'000, node_count, QuestionAbout(MakeGroups(node_count, count)));
}

inline v1::Round MakeRound(uint32_t node_count, const std::string& round_id = kRoundId,
                           uint32_t degree_share_ppm = 100'000) {
  v1::Round round;
  round.set_round_id(round_id);
  round.set_deployment("demo");
  *round.mutable_parameters() = ParametersToProto(MakeParameters(node_count, degree_share_ppm));
  round.set_roster_version(1);
  round.set_state(v1::ROUND_STATE_OPEN);
  round.set_created_ms(1'800'000'000'000);
  round.set_deadline_ms(1'800'000'060'000);
  round.set_quorum(1);
  return round;
}

// A valid report of `node`; another `variant` gives another report.
inline CodedReport MakeReport(const PrivacyParameters& parameters, NodeIndex node, uint32_t variant = 0) {
  PrivateReport report;
  if (parameters.sends_bits()) {
    const bool both_ends = parameters.mechanism() == Mechanism::kBothEnds;
    report.bits = BitRow(parameters.row_bits(node));
    for (uint32_t j = (node + variant) % 5; j < report.bits.size(); j += 5 + variant) {
      if (j != node || !both_ends) report.bits.Set(j);
    }
  }
  if (parameters.sends_degree()) report.noisy_degree = static_cast<int64_t>(node % 7) - 1 + variant;
  for (uint32_t group = 0; group < parameters.question().count; ++group) {
    report.group_degrees.push_back(static_cast<int64_t>(node % 7) - 1 + variant + group);
  }
  return EncodeReport(parameters, report);
}

inline CheckedReport MakeChecked(const PrivacyParameters& parameters, NodeIndex node, uint32_t variant = 0,
                                 const std::string& round_id = kRoundId) {
  return {round_id, node, 30'000'000, MakeReport(parameters, node, variant)};
}

inline v1::ReportHeader MakeHeader(const PrivacyParameters& parameters, NodeIndex node, const CodedReport& report,
                                   const std::string& round_id = kRoundId) {
  v1::ReportHeader header;
  header.set_deployment("demo");
  header.set_round_id(round_id);
  header.set_node_id(node);
  *header.mutable_parameters() = ParametersToProto(parameters);
  header.set_roster_version(1);
  if (report.noisy_degree.has_value()) header.set_noisy_degree(*report.noisy_degree);
  header.set_coded_bytes(static_cast<uint32_t>(report.coded_bits.size()));
  header.set_digest(DigestToBytes(report.digest));
  return header;
}

// The two kinds of message that a report is sent in.
inline v1::SubmitReportRequest HeaderMessage(const v1::ReportHeader& header) {
  v1::SubmitReportRequest request;
  *request.mutable_header() = header;
  return request;
}
inline v1::SubmitReportRequest ChunkMessage(const std::string& bytes) {
  v1::SubmitReportRequest request;
  request.set_chunk(bytes);
  return request;
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_AGGREGATOR_FIXTURES_H_
