// What a node's list changes about its times, as far as an aggregator could see them: nothing beyond the quanta.
//
//   node_timing_bench [repetitions]
//
// For lists of no link, 15, n/2 and n - 1 links, in turns: "load" (lists.csv and the journal), "work" (draw, apply,
// code, commit) as they are, without the quanta that hide them; "first" (from the process's start to its first call)
// and "gap" (from the answer with the round to the report) as the aggregator sees them. Mean and standard error in
// milliseconds, and for what is seen the difference from the empty list in standard errors: within about 3 it is noise.
#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/privacy/privatizer.h"
#include "node_client/agent.h"

namespace blink {
namespace {

class Sample {
 public:
  void Add(absl::Duration value) {
    const double ms = absl::ToDoubleMilliseconds(value);
    ++count_;
    const double step = ms - mean_;
    mean_ += step / count_;
    squares_ += step * (ms - mean_);
  }
  double mean() const { return mean_; }
  double error() const { return count_ < 2 ? 0 : std::sqrt(squares_ / (count_ - 1) / count_); }

 private:
  int count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// Offers one round and keeps the times of what it sees.
class TimingLink final : public AggregatorLink {
 public:
  explicit TimingLink(RoundView round) : round_(std::move(round)) {}
  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex, const std::string&) override {
    if (first_call == absl::InfinitePast()) first_call = absl::Now();
    answered = absl::Now();
    return {std::vector<OfferedRound>{{round_.round_id, round_}}, std::nullopt};
  }
  LinkResult<Receipt> SubmitReport(const std::string& id, const OutgoingReport& report) override {
    arrived = absl::Now();
    return {Receipt{id, report.node, report.report.digest, 0}, std::nullopt};
  }
  LinkResult<Done> SubmitReports(const std::string&, const NextReport&, const OnReply&) override {
    return {Done{}, {}};
  }
  LinkResult<Done> ListDigests(const std::string&, NodeIndex, NodeIndex, const OnDigest&) override {
    return {Done{}, {}};
  }
  absl::Time first_call = absl::InfinitePast(), answered, arrived;

 private:
  const RoundView round_;
};

struct Figures {
  Sample load, work, first, gap;
};

// `links`: of node 0, spread evenly.
void Measure(uint32_t n, uint32_t links, Figures* figures) {
  std::string folder = (std::filesystem::temp_directory_path() / "blink-timing-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return;
  Kit kit;
  kit.config.deployment = "bench";
  kit.config.node_count = n;
  kit.config.roster_version = 1;
  kit.config.folder = folder;
  kit.policy.epsilon_micro_per_round_max = kit.policy.epsilon_micro_lifetime_max = 8'000'000;
  kit.policy.epoch_seconds_min = 86'400;
  {
    std::ofstream csv(folder + "/lists.csv");
    csv << "node,neighbour\n";
    for (uint64_t k = 1; k <= links; ++k) csv << "0," << (k * (n - 1) / links) << "\n";
  }
  const JournalIdentity identity{"bench", 0, 0, n, 1};
  const auto parameters = *PrivacyParameters::Create(4'000'000, 100'000, n);
  const RoundView round{std::string(32, '0'),         parameters,  1, v1::ROUND_STATE_OPEN,
                        absl::Now() + absl::Hours(1), std::nullopt};
  (void)CreateJournal(folder + "/seen", identity);
  (void)CreateJournal(folder + "/work", identity);

  AgentOptions options;
  options.leave_at_receipt = true;
  options.started = absl::Now();
  kit.lists = *LoadLists(kit.config);
  {
    auto journal = *Journal::Open(folder + "/seen", identity);
    TimingLink link(round);
    (void)Agent(kit, *journal, link, SystemClock(), SecureRandom(), options).Run();
    figures->first.Add(link.first_call - options.started);
    figures->gap.Add(link.arrived - link.answered);
  }
  {
    auto journal = *Journal::Open(folder + "/work", identity);
    const absl::Time begin = absl::Now();
    auto report = ApplyNoise(parameters, 0, *DrawNoise(parameters, 0, SecureRandom()), kit.lists.Of(0));
    journal->StageEpoch(1, absl::Now(), kit.lists);
    journal->StageDraw(1, parameters, 0, EncodeReport(parameters, *report));
    (void)journal->Commit();
    figures->work.Add(absl::Now() - begin);
  }
  const absl::Time begin = absl::Now();
  (void)*LoadLists(kit.config);
  (void)*Journal::Open(folder + "/seen", identity);
  figures->load.Add(absl::Now() - begin);
  std::filesystem::remove_all(folder);
}

std::string Text(const Sample& sample) {
  char text[64];
  std::snprintf(text, sizeof(text), "%9.3f +- %-7.3f", sample.mean(), sample.error());
  return text;
}
double Apart(const Sample& a, const Sample& b) {
  return (a.mean() - b.mean()) / std::max(1e-9, std::hypot(a.error(), b.error()));
}

void Main(int repetitions) {
  std::printf("%9s %9s  %-20s %-20s %-20s %6s %-20s %6s\n", "n", "links", "load ms", "work ms", "first ms", "apart",
              "gap ms", "apart");
  for (const uint32_t n : {2'708u, 22'470u, 1'000'000u}) {
    std::map<uint32_t, Figures> figures;
    for (int i = 0; i < repetitions; ++i) {
      for (const uint32_t links : {0u, 15u, n / 2, n - 1}) Measure(n, links, &figures[links]);
    }
    const Figures& empty = figures[0];
    for (const auto& [links, f] : figures) {
      std::printf("%9u %9u  %s %s %s %6.1f %s %6.1f\n", n, links, Text(f.load).c_str(), Text(f.work).c_str(),
                  Text(f.first).c_str(), Apart(f.first, empty.first), Text(f.gap).c_str(), Apart(f.gap, empty.gap));
    }
  }
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  blink::Main(argc > 1 ? std::max(2, std::atoi(argv[1])) : 20);
  return 0;
}
