// What a node's lists change about its times, as far as an aggregator could see them: nothing beyond the quanta.
//
//   node_timing_bench [repetitions]
//   node_timing_bench gateway HOSTED N LINKS THREADS
//
// For lists of no link, 15, n/2 and n - 1 links, of a gateway's nodes at most n/100, in turns: "load" (lists.csv and
// the journal), "work" (draw, apply, code, commit; of a single node) as they are, without the quanta that hide them;
// "first" (from the process's start to its first call) and "gap" (from the answer with the round to the first report)
// as the aggregator sees them. Mean and standard error in milliseconds, and for what is seen the difference from the
// empty list in standard errors: within about 3 it is noise. The budget is so small that all reports look alike. At a
// larger one a report of a longer list has more ones and takes longer to be coded, and who sees it knows that already.
//
// "gateway" prepares the reports of one round for many nodes, and says where the time goes.
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
#include "common/base/run_on_threads.h"
#include "common/privacy/privatizer.h"
#include "node_client/agent.h"
#include "node_client/draw_reports.h"

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
  LinkResult<Done> SubmitReports(const std::string& id, const NextReport& next, const OnReply& on_reply) override {
    if (arrived == absl::InfinitePast()) arrived = absl::Now();
    for (auto report = next(); report.ok() && report->has_value(); report = next()) {
      (void)on_reply((*report)->node, Receipt{id, (*report)->node, (*report)->report.digest, 0});
    }
    return {Done{}, {}};
  }
  LinkResult<Done> ListDigests(const std::string&, NodeIndex, NodeIndex, const OnDigest&) override {
    return {Done{}, {}};
  }
  absl::Time first_call = absl::InfinitePast(), answered, arrived = absl::InfinitePast();

 private:
  const RoundView round_;
};

struct Figures {
  Sample load, work, first, gap;
};

std::string MakeFolder() {
  std::string folder = (std::filesystem::temp_directory_path() / "blink-timing-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? "" : folder;
}

// `links`: of each hosted node, spread evenly.
Kit MakeKit(const std::string& folder, uint32_t hosted, uint32_t n, uint32_t links) {
  Kit kit;
  kit.config.deployment = "bench";
  kit.config.last_node = hosted - 1;
  kit.config.node_count = n;
  kit.config.roster_version = 1;
  kit.config.folder = folder;
  kit.policy.epsilon_micro_per_round_max = kit.policy.epsilon_micro_lifetime_max = 8'000'000;
  kit.policy.epoch_seconds_min = 86'400;
  kit.lists.offsets = {0};
  for (uint32_t node = 0; node < hosted; ++node) {
    for (uint64_t k = 1; k <= links; ++k) {
      const auto other = static_cast<NodeIndex>(k * (n - 1) / links - 1);  // 0 .. n - 2
      kit.lists.neighbours.push_back(other < node ? other : other + 1);
    }
    kit.lists.offsets.push_back(kit.lists.neighbours.size());
  }
  return kit;
}

RoundView MakeRound(const PrivacyParameters& parameters) {
  return {std::string(32, '0'), parameters, 1, v1::ROUND_STATE_OPEN, absl::Now() + absl::Hours(1), std::nullopt};
}

void Measure(uint32_t hosted, uint32_t n, uint32_t links, Figures* figures) {
  const std::string folder = MakeFolder();
  if (folder.empty()) return;
  Kit kit = MakeKit(folder, hosted, n, links);
  {
    std::ofstream csv(folder + "/lists.csv");
    csv << "node,neighbour\n";
    for (NodeIndex node = 0; node < hosted; ++node) {
      for (const NodeIndex neighbour : kit.lists.Of(node)) csv << node << "," << neighbour << "\n";
    }
  }
  const JournalIdentity identity{"bench", 0, hosted - 1, n, 1};
  const auto parameters = *PrivacyParameters::Create(1, 0, n);
  (void)CreateJournal(folder + "/seen", identity);
  (void)CreateJournal(folder + "/work", identity);

  AgentOptions options;
  options.leave_at_receipt = true;
  options.threads = DrawingThreads(kit.config, 0, ~uint64_t{0});
  options.started = absl::Now();
  kit.lists = *LoadLists(kit.config);
  {
    auto journal = *Journal::Open(folder + "/seen", identity);
    TimingLink link(MakeRound(parameters));
    (void)Agent(kit, *journal, link, SystemClock(), SecureRandom(), options).Run();
    figures->first.Add(link.first_call - options.started);
    figures->gap.Add(link.arrived - link.answered);
  }
  if (hosted == 1) {
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

// One preparation of a gateway, as Agent makes it, at epsilon 6.
void PrepareGateway(uint32_t hosted, uint32_t n, uint32_t links, int threads) {
  const std::string folder = MakeFolder();
  if (folder.empty()) return;
  const Kit kit = MakeKit(folder, hosted, n, links);
  const JournalIdentity identity{"bench", 0, hosted - 1, n, 1};
  (void)CreateJournal(folder, identity);
  auto journal = *Journal::Open(folder, identity);
  const RoundView round = MakeRound(*PrivacyParameters::Create(6'000'000, 100'000, n));
  const DrawDecision decision{1, true, false};
  const DrawTask task{kit, round, decision, absl::Now(), nullptr, threads};
  HiddenWork hidden_work(SystemClock()), whole(SystemClock()), measuring(SystemClock());
  absl::Duration measured;
  measuring.Time([&] { measured = *MeasureHiddenWork(task, SystemClock(), *journal); });
  whole.Time([&] {
    const auto failed = DrawReports(
        task, [](NodeIndex) -> RandomSource& { return SecureRandom(); }, hidden_work, *journal);
    if (failed.has_value()) std::fprintf(stderr, "%s\n", std::string(failed->why.message()).c_str());
  });
  const absl::Duration quantum = PreparationQuantum(kit.config, measured, true);
  const absl::Duration slept = absl::Ceil(hidden_work.total(), quantum) - hidden_work.total();
  std::printf(
      "%u nodes of %u, %u links each, %d thread(s), in seconds: measuring %.3f, drawing %.3f (of which lists "
      "%.3f), quantum %.3f, sleep %.3f; %.3f in all\n",
      hosted, n, links, threads, absl::ToDoubleSeconds(measuring.total()), absl::ToDoubleSeconds(whole.total()),
      absl::ToDoubleSeconds(hidden_work.total()), absl::ToDoubleSeconds(quantum), absl::ToDoubleSeconds(slept),
      absl::ToDoubleSeconds(measuring.total() + whole.total() + slept));
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
  std::printf("%6s %9s %9s  %-20s %-20s %-20s %6s %-20s %6s\n", "nodes", "n", "links", "load ms", "work ms", "first ms",
              "apart", "gap ms", "apart");
  struct Case {
    uint32_t hosted, n;
    std::vector<uint32_t> links;
  };
  std::vector<Case> cases;
  for (const uint32_t n : {2'708u, 22'470u, 1'000'000u}) cases.push_back({1, n, {0, 15, n / 2, n - 1}});
  cases.push_back({1000, 22'470, {0, 15, 22'470 / 100}});
  for (const auto& [hosted, n, all_links] : cases) {
    std::map<uint32_t, Figures> figures;
    for (int i = 0; i < repetitions; ++i) {
      for (const uint32_t links : all_links) Measure(hosted, n, links, &figures[links]);
    }
    const Figures& empty = figures[0];
    for (const auto& [links, f] : figures) {
      std::printf("%6u %9u %9u  %s %s %s %6.1f %s %6.1f\n", hosted, n, links, Text(f.load).c_str(),
                  Text(f.work).c_str(), Text(f.first).c_str(), Apart(f.first, empty.first), Text(f.gap).c_str(),
                  Apart(f.gap, empty.gap));
    }
  }
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  if (argc == 6 && std::string(argv[1]) == "gateway") {
    const auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
    const uint32_t hosted = std::max(2u, number(2)), n = std::max(hosted, number(3));
    blink::PrepareGateway(hosted, n, std::min(n - 1, number(4)), blink::ThreadsOrCores(static_cast<int>(number(5))));
    return 0;
  }
  blink::Main(argc > 1 ? std::max(2, std::atoi(argv[1])) : 20);
  return 0;
}
