#include "tools/audit/mechanism.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/progress.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/random_source.h"
#include "tools/audit/counts.h"
#include "tools/audit/findings.h"

namespace blink {
namespace {

class Shipped final : public AuditedMechanism {
 public:
  explicit Shipped(const PrivacyParameters& parameters) : parameters_(parameters) {}
  absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours) override {
    BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters_, self, SecureRandom()));
    BLINK_ASSIGN_OR_RETURN(PrivateReport report, ApplyNoise(parameters_, self, std::move(noise), neighbours));
    return AuditedReport{std::move(report.bits), static_cast<double>(report.noisy_degree.value_or(0))};
  }

 private:
  const PrivacyParameters parameters_;
};

AuditedList MakeList(uint32_t node_count, std::vector<NodeIndex> neighbours, int64_t degree_origin) {
  AuditedList list;
  list.row = BitRow(node_count);
  for (const NodeIndex j : neighbours) list.row.Set(j);
  list.neighbours = std::move(neighbours);
  list.degree_origin = degree_origin;
  return list;
}

// Entries at both ends and at the seams of words, so that an error at a boundary meets a link.
void MakeLists(uint32_t n, AuditEvidence& evidence) {
  evidence.self = 17;
  evidence.target = n / 2 + 1;
  const std::vector<NodeIndex> sparse = {0, 63, 64, n / 3, n - 1};
  std::vector<NodeIndex> neighbour = sparse, dense;
  neighbour.push_back(evidence.target);
  for (NodeIndex j = 0; j < n; j += 2) dense.push_back(j);
  const auto degree = [](const std::vector<NodeIndex>& list) { return static_cast<int64_t>(list.size()); };
  evidence.lists[kSparse] = MakeList(n, sparse, degree(sparse));
  evidence.lists[kNeighbour] = MakeList(n, neighbour, degree(sparse));
  evidence.lists[kDense] = MakeList(n, dense, degree(dense));
}

// The reports of a list that a thread draws before it goes on to the next list.
constexpr uint64_t kTurnReports = uint64_t{1} << 15;

// What the threads of one audit share.
struct Shared {
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};
  ProgressBar* progress = nullptr;  // updated by the first thread alone
  std::mutex mutex;                 // guards what follows
  absl::Status status;
  AuditEvidence* evidence = nullptr;
  std::vector<std::vector<uint64_t>> sampled_rows;  // [thread]: the flips of its sample
};

uint64_t ShareOf(uint64_t total, int thread, int threads) {
  return total / threads + (static_cast<uint64_t>(thread) < total % threads ? 1 : 0);
}

// This thread's reports of every list. The evidence but for the counts is not written while threads run.
absl::Status RunThread(const MechanismAuditOptions& options, uint64_t sample, int thread, AuditedMechanism& mechanism,
                       Shared& shared) {
  const AuditEvidence& evidence = *shared.evidence;
  const PrivacyParameters& parameters = options.parameters;
  std::vector<uint64_t>& rows = shared.sampled_rows[thread];
  const auto stops = [&] { return shared.stop || (options.stop != nullptr && *options.stop); };
  const uint64_t reports = ShareOf(options.reports, thread, options.threads);
  // Lists take turns, so that an audit that is stopped has about as many reports of each.
  const uint64_t turns = (reports + kTurnReports - 1) / kTurnReports;
  for (uint64_t turn = 0; turn < turns * kAuditedLists; ++turn) {
    const int name = static_cast<int>(turn % kAuditedLists);
    const uint64_t begin = turn / kAuditedLists * kTurnReports, end = std::min(begin + kTurnReports, reports);
    const AuditedList& list = evidence.lists[name];
    ReportCounter counter(list, evidence.self, evidence.target, parameters.sends_bits(), parameters.sends_degree(),
                          evidence.cells, evidence.large_noise, evidence.gap_runs,
                          parameters.sends_bits() ? parameters.flip_probability() : 0);
    const uint64_t sampled = name == kSparse ? ShareOf(sample, thread, options.threads) : 0;
    for (uint64_t r = begin; r < end; ++r) {
      if (stops()) return absl::OkStatus();
      if (r % 1024 == 0) {
        shared.done += std::min<uint64_t>(1024, end - r);
        if (thread == 0) shared.progress->Update(shared.done);
      }
      BLINK_ASSIGN_OR_RETURN(const AuditedReport report, mechanism.Report(evidence.self, list.neighbours));
      counter.Add(report.bits, report.degree);
      if (r < sampled) {
        const absl::Span<const uint64_t> paired = counter.flips().subspan(0, evidence.paired_bits / 64);
        rows.insert(rows.end(), paired.begin(), paired.end());
      }
    }
    const ListCounts counts = counter.Finish();
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.evidence->counts[name].Merge(counts);
  }
  return absl::OkStatus();
}

absl::Status RunThreads(const MechanismAuditOptions& options, uint64_t sample, const AuditedMechanismFactory& factory,
                        Shared& shared) {
  shared.sampled_rows.resize(options.threads);
  std::vector<char> ran(options.threads, 0);
  const auto run = [&](int t) {
    ran[t] = 1;
    const std::unique_ptr<AuditedMechanism> mechanism = factory(t);
    const absl::Status status = RunThread(options, sample, t, *mechanism, shared);
    if (status.ok()) return;
    shared.stop = true;
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.status.Update(status);
  };
  ProgressBar progress("reports", kAuditedLists * options.reports, options.progress);
  shared.progress = &progress;
  RunOnThreads(options.threads, run);
  for (int t = 0; t < options.threads; ++t) {
    if (ran[t] == 0) run(t);  // a thread that the system did not start: its share is drawn all the same
  }
  progress.Update(shared.done);
  return shared.status;
}

uint64_t CountReportsOfEachList(const AuditEvidence& evidence) {
  uint64_t fewest = evidence.counts[0].reports;
  for (const ListCounts& counts : evidence.counts) fewest = std::min(fewest, counts.reports);
  return fewest;
}

absl::Status Validate(const MechanismAuditOptions& options) {
  const uint32_t n = options.parameters.node_count();
  if (n < 1024 || n > 1'000'000) {
    return absl::InvalidArgumentError(absl::StrCat("nodes must be 1024 .. 1000000 for an audit, not ", n));
  }
  if (options.reports < 1000 || options.reports > 1'000'000'000) {
    return absl::InvalidArgumentError(absl::StrCat("reports must be 1000 .. 1000000000, not ", options.reports));
  }
  if (options.threads < 1 || options.threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("threads must be 1 .. 1024, not ", options.threads));
  }
  return absl::OkStatus();
}

}  // namespace

AuditedMechanismFactory ShippedMechanism(const PrivacyParameters& parameters) {
  return [parameters](int) { return std::make_unique<Shipped>(parameters); };
}

double MechanismAuditBytes(const MechanismAuditOptions& options) {
  const double n = options.parameters.node_count();
  constexpr double kPrograms = 3e7, kOfBit = 240;  // 240 bytes a bit of a thread (audit/counts.h)
  if (!options.parameters.sends_bits()) return kPrograms;
  const double paired = std::min<double>(n, kPairedBitsMax);
  const double sampled = static_cast<double>(ChoosePairSample(options.parameters.flip_probability())) * paired / 8;
  return kPrograms + kOfBit * n * options.threads + 320 * n + 2 * sampled + 8 * paired * paired;
}

bool MechanismAudit::passed() const {
  return std::none_of(bounds.begin(), bounds.end(), [](const EpsilonBound& bound) { return bound.violated; }) &&
         std::none_of(checks.begin(), checks.end(), [](const AuditCheck& check) { return check.violated; });
}

absl::StatusOr<MechanismAudit> AuditMechanism(const MechanismAuditOptions& options,
                                              const AuditedMechanismFactory& factory) {
  BLINK_RETURN_IF_ERROR(Validate(options));
  const auto started = std::chrono::steady_clock::now();
  const PrivacyParameters& parameters = options.parameters;
  AuditEvidence evidence{.parameters = parameters};
  MakeLists(parameters.node_count(), evidence);
  if (parameters.sends_degree()) {
    evidence.cells = DegreeCells::For(parameters.epsilon_degree(), options.reports);
    evidence.large_noise = ComputeMedianNoise(parameters.epsilon_degree());
  }
  const uint64_t sample =
      parameters.sends_bits() ? std::min(options.reports, ChoosePairSample(parameters.flip_probability())) : 0;
  if (parameters.sends_bits()) {
    evidence.gap_runs = GapRuns::For(parameters.node_count(), parameters.flip_probability());
    evidence.paired_bits = 64 * std::min(evidence.lists[kSparse].row.words().size(), kPairedBitsMax / 64);
  }
  Shared shared;
  shared.evidence = &evidence;
  BLINK_RETURN_IF_ERROR(RunThreads(options, sample, factory, shared));
  if (parameters.sends_bits()) {
    const size_t words = evidence.paired_bits / 64;
    evidence.pair_counts.resize(evidence.paired_bits * evidence.paired_bits);
    evidence.cross_counts.resize(evidence.pair_counts.size());
    for (const std::vector<uint64_t>& rows : shared.sampled_rows) {
      evidence.pair_reports += rows.size() / words;
      CountAllPairs(rows, words, evidence.pair_counts);
      evidence.cross_reports += CountCrossPairs(rows, words, evidence.cross_counts);
    }
  }
  MechanismAudit audit{.parameters = parameters,
                       .reports_per_list = CountReportsOfEachList(evidence),
                       .reports_asked = options.reports,
                       .pair_sample = evidence.pair_reports,
                       .threads = options.threads};
  if (audit.reports_per_list > 0) JudgeEvidence(evidence, audit);
  audit.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return audit;
}

}  // namespace blink
