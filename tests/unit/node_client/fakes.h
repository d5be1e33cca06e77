// A small world for the node's tests: a folder, a clock, a generator and a scripted aggregator. None of it is private.
#ifndef BLINK_TESTS_UNIT_NODE_CLIENT_FAKES_H_
#define BLINK_TESTS_UNIT_NODE_CLIENT_FAKES_H_

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/privacy/random_source.h"
#include "common/wire/groups_codec.h"
#include "gtest/gtest.h"
#include "node_client/aggregator_link.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "tests/testing/node_kits.h"
#include "tests/testing/temp_folder.h"

namespace blink {

inline const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

using testing::TempFolder;

inline void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}
inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class FakeClock final : public Clock {
 public:
  absl::Time Now() override { return now; }
  absl::Duration Monotonic() override { return now - absl::UnixEpoch(); }
  void SleepFor(absl::Duration duration) override {
    sleeps.push_back(duration);
    now += duration;
    if (on_sleep) on_sleep();
  }
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  std::vector<absl::Duration> sleeps;
  std::function<void()> on_sleep;
};

class FakeRandom final : public RandomSource {  // NOT PRIVATE
 public:
  explicit FakeRandom(uint64_t seed = 1) : engine_(seed) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override {
    if (fills_left == 0) return absl::UnavailableError("the random source failed");
    if (fills_left > 0) --fills_left;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine_());
    return absl::OkStatus();
  }
  int fills_left = -1;  // without end

 private:
  std::mt19937_64 engine_;
};

inline const char kRoundA[] = "0123456789abcdef0123456789abcdef";
inline const char kRoundB[] = "fedcba9876543210fedcba9876543210";

inline RoundView MakeRound(const std::string& id, uint64_t epsilon_micro = 2'000'000, uint32_t share_ppm = 100'000,
                           uint32_t node_count = 34, uint64_t roster = 1) {
  return RoundView{id,
                   *PrivacyParameters::Create(epsilon_micro, share_ppm, node_count),
                   roster,
                   v1::ROUND_STATE_OPEN,
                   absl::FromUnixSeconds(1'800'000'000),
                   std::nullopt};
}

// Node i is of group i % count.
inline NodeGroups DealGroups(uint32_t count, uint32_t node_count = 34) {
  NodeGroups groups{.count = count};
  for (uint32_t i = 0; i < node_count; ++i) groups.group_of.push_back(i % count);
  return groups;
}
inline RoundView MakeGroupRound(const std::string& id, const NodeGroups& groups, uint64_t epsilon_micro = 2'000'000) {
  RoundView round = MakeRound(id);
  round.parameters = *PrivacyParameters::CreateForGroups(epsilon_micro, static_cast<uint32_t>(groups.group_of.size()),
                                                         QuestionAbout(groups));
  return round;
}

// An aggregator in memory that does as it is told; `calls` says what it saw.
class FakeLink final : public AggregatorLink {
 public:
  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override {
    calls.push_back(absl::StrCat("GetRounds ", node, " ", round_id));
    if (on_get_rounds) on_get_rounds();
    if (!get_rounds_status.ok()) return {get_rounds_status, window};
    std::vector<OfferedRound> answer;
    if (round_id.empty()) {
      for (const auto& [id, why] : malformed) answer.push_back({id, why});
    }
    for (RoundView view : rounds) {
      if (round_id.empty() ? view.state != v1::ROUND_STATE_OPEN : view.round_id != round_id) continue;
      if (held[view.round_id].contains(node)) view.held_digest = held[view.round_id][node].digest;
      answer.push_back({view.round_id, view});
    }
    if (!round_id.empty() && answer.empty()) return {absl::NotFoundError("no such round"), window};
    return {std::move(answer), window};
  }
  LinkResult<std::string> GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) override {
    calls.push_back(absl::StrCat("GetGroups ", node, " ", round_id, " ", bytes));
    return {groups, window};
  }
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override {
    calls.push_back(absl::StrCat("SubmitReport ", round_id, " ", report.node));
    return {Take(round_id, report), window};
  }
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next,
                                 const OnReply& on_reply) override {
    calls.push_back(absl::StrCat("SubmitReports ", round_id));
    while (true) {
      auto report = next();
      if (!report.ok()) return {report.status(), window};
      if (!report->has_value()) return {Done{}, window};
      calls.push_back(absl::StrCat("  report ", (*report)->node));
      const auto reply = Take(round_id, **report);
      if (reply.status().code() == absl::StatusCode::kUnavailable) return {reply.status(), window};
      const absl::Status taken = on_reply((*report)->node, reply);
      if (!taken.ok()) return {taken, window};
    }
  }
  void NoteForeignReport(const std::string& round_id, NodeIndex node) override {
    calls.push_back(absl::StrCat("NoteForeignReport ", round_id, " ", node));
  }
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override {
    calls.push_back(absl::StrCat("ListDigests ", round_id, " ", first, " ", last));
    if (!list_digests_status.ok()) return {list_digests_status, window};
    for (const auto& [node, report] : held[round_id]) {
      if (first <= node && node <= last) on_digest(node, report.digest);
    }
    return {Done{}, window};
  }

  RoundView& Find(const std::string& id) {
    for (RoundView& view : rounds) {
      if (view.round_id == id) return view;
    }
    ADD_FAILURE() << "no round " << id;
    return rounds.front();
  }
  size_t Submissions() const {
    size_t count = 0;
    for (const std::string& call : calls) count += call.starts_with("SubmitReport ") || call.starts_with("  report ");
    return count;
  }

  std::vector<RoundView> rounds;
  std::vector<std::pair<std::string, absl::Status>> malformed;
  std::map<std::string, std::map<NodeIndex, CodedReport>> held;
  std::optional<RetryWindow> window;
  std::vector<std::string> calls;
  absl::Status get_rounds_status;
  absl::Status list_digests_status;
  absl::StatusOr<std::string> groups = absl::NotFoundError("no groups");
  std::function<void()> on_get_rounds;
  std::function<absl::Status(const OutgoingReport&)> before_take = [](const OutgoingReport&) {
    return absl::OkStatus();
  };
  std::function<absl::Status(const OutgoingReport&)> after_take = [](const OutgoingReport&) {
    return absl::OkStatus();
  };
  bool seal_when_all = true;
  uint32_t expected_reports = 1;

 private:
  absl::StatusOr<Receipt> Take(const std::string& round_id, const OutgoingReport& report) {
    const absl::Status before = before_take(report);
    if (!before.ok()) return before;
    if (Find(round_id).state != v1::ROUND_STATE_OPEN) return absl::FailedPreconditionError("the round is not open");
    const auto [it, added] = held[round_id].emplace(report.node, report.report);
    if (!added && it->second.digest != report.report.digest) return absl::AlreadyExistsError("another report is held");
    if (seal_when_all && held[round_id].size() == expected_reports) Find(round_id).state = v1::ROUND_STATE_SEALED;
    const absl::Status after = after_take(report);
    if (!after.ok()) return after;
    return Receipt{round_id, report.node, report.report.digest, 28'333'333};
  }
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_NODE_CLIENT_FAKES_H_
