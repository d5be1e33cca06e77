#include "tools/audit/game.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/beta_prior.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/reports/report_set.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/progress.h"
#include "common/privacy/own_pairs.h"
#include "tools/audit/statistics.h"

namespace blink {
namespace {

constexpr int kGameAttackers = 4;
constexpr const char* kSees[kGameAttackers] = {"both reports (likelihood ratio)", "report i alone, entry j",
                                               "report j alone, entry i", "all reports (estimate P_ij)"};
constexpr const char* kSeesOther = "the other end's report alone";
constexpr int kFirst = 1, kSecond = 2, kEstimate = 3;
constexpr uint64_t kPilotPlays = 2000;  // of each world, in all
constexpr uint64_t kPlaysOfATurn = 64;
constexpr double kScoreError = 1e-9;  // of equal scores that were computed in different ways

std::array<double, kGameAttackers> InOrder(const GameScores& scores) {
  return {scores.both, scores.first, scores.second, scores.estimate};
}

// Whether the report of the node is about the entry.
bool IsReported(const PrivacyParameters& parameters, NodeIndex self, NodeIndex entry) {
  return parameters.mechanism() == Mechanism::kBothEnds || OwnsPair(self, entry);
}

bool BitOf(const PrivacyParameters& parameters, const AuditedReport& report, NodeIndex self, NodeIndex entry) {
  return report.bits.Test(parameters.mechanism() == Mechanism::kBothEnds ? entry : OwnPairPlace(self, entry));
}

// The log-likelihood ratio of one report for the list with the entry against the one without it, `list`. |x| - |x - 1|
// for the noise x of the shorter list is 1 or -1 for integers. Requires IsReported.
double LikelihoodRatio(const PrivacyParameters& parameters, const AuditedReport& report, NodeIndex self,
                       NodeIndex entry, const std::vector<NodeIndex>& list) {
  double ratio = 0;
  if (parameters.sends_bits())
    ratio += BitOf(parameters, report, self, entry) ? parameters.bit_log_odds() : -parameters.bit_log_odds();
  if (parameters.sends_degree()) {
    const auto degree =
        std::count_if(list.begin(), list.end(), [&](NodeIndex other) { return IsReported(parameters, self, other); });
    const double noise = report.degree - static_cast<double>(degree);
    ratio += parameters.epsilon_degree() * (std::abs(noise) - std::abs(noise - 1));
  }
  return ratio;
}

// What a report without a place for the entry could tell, if something were wrong.
double OnesAndDegree(const AuditedReport& report) { return report.bits.Count() + report.degree; }

// Cuts the line at ascending thresholds. A score equal to a threshold reaches it.
class ScoreCells {
 public:
  explicit ScoreCells(std::vector<double> thresholds) : thresholds_(std::move(thresholds)) {
    std::sort(thresholds_.begin(), thresholds_.end());
    const auto same = [](double a, double b) { return b - a <= 2 * kScoreError; };
    thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end(), same), thresholds_.end());
  }
  // The number of thresholds that the score reaches.
  size_t Of(double score) const {
    return std::upper_bound(thresholds_.begin(), thresholds_.end(), score + kScoreError) - thresholds_.begin();
  }
  const std::vector<double>& thresholds() const { return thresholds_; }

 private:
  std::vector<double> thresholds_;
};

// Every value of the likelihood ratio of `reports` reports. The least is left out: every play reaches it.
std::vector<double> RatioValues(const PrivacyParameters& parameters, int reports) {
  std::vector<double> values;
  for (int bits = -reports; bits <= reports; bits += 2) {
    for (int degrees = -reports; degrees <= reports; degrees += 2) {
      values.push_back((parameters.sends_bits() ? bits * parameters.bit_log_odds() : 0) +
                       (parameters.sends_degree() ? degrees * parameters.epsilon_degree() : 0));
    }
  }
  const double least = *std::min_element(values.begin(), values.end());
  std::erase_if(values, [&](double value) { return value <= least + 2 * kScoreError; });
  return values;
}

// Quantiles of the pilot's scores, dense at both ends, and the threshold of the variant Hard.
std::vector<double> PilotThresholds(std::vector<double> scores) {
  std::vector<double> thresholds = {kTie};
  if (scores.empty()) return thresholds;
  std::sort(scores.begin(), scores.end());
  const auto add = [&](double share) {
    const auto place = static_cast<size_t>(share * static_cast<double>(scores.size()));
    thresholds.push_back(scores[std::min(place, scores.size() - 1)]);
  };
  for (const double tail : {0.001, 0.002, 0.005, 0.01, 0.02, 0.05}) {
    add(tail);
    add(1 - tail);
  }
  for (int tenth = 1; tenth < 10; ++tenth) add(0.1 * tenth);
  return thresholds;
}

// Plays of one world by the number of thresholds that the score reached, for each attacker.
struct WorldCounts {
  uint64_t plays = 0;
  std::array<std::vector<uint64_t>, kGameAttackers> cells;
};

struct GameShared {
  std::atomic<uint64_t> turns{0}, done{0};
  std::atomic<bool> stop{false};
  ProgressBar* progress = nullptr;  // updated by the first thread alone
  std::mutex mutex;                 // guards what follows
  absl::Status status;
};

class Table {
 public:
  Table(const LinkGameOptions& options, const AuditedMechanismFactory& factory)
      : options_(options), factory_(factory), graph_(MakeGameGraph(options.parameters.node_count())) {
    for (int world = 0; world < 2; ++world) {
      for (NodeIndex node = 0; node < graph_.lists.size(); ++node)
        lists_[world].push_back(graph_.ListOf(node, world == 1));
    }
  }

  const GameGraph& graph() const { return graph_; }

  // Plays `plays` of each world. take(thread, world, scores) is called on the thread of the play.
  using Take = std::function<void(int, int, const std::array<double, kGameAttackers>&)>;
  absl::Status Play(const char* what, uint64_t plays, const Take& take) const {
    GameShared shared;
    ProgressBar progress(what, 2 * plays, options_.progress);
    shared.progress = &progress;
    RunOnThreads(options_.threads, [&](int thread) {
      const absl::Status status = PlayOnThread(thread, plays, take, shared);
      if (status.ok()) return;
      shared.stop = true;
      std::lock_guard<std::mutex> lock(shared.mutex);
      shared.status.Update(status);
    });
    progress.Update(shared.done);
    return shared.status;
  }

 private:
  absl::Status PlayOnThread(int thread, uint64_t plays, const Take& take, GameShared& shared) const {
    const std::unique_ptr<AuditedMechanism> mechanism = factory_(thread);
    std::vector<AuditedReport> reports(graph_.lists.size());
    while (true) {
      const uint64_t begin = kPlaysOfATurn * shared.turns++;
      for (uint64_t play = begin; play < std::min(begin + kPlaysOfATurn, plays); ++play) {
        for (int world = 0; world < 2; ++world) {
          if (shared.stop || (options_.stop != nullptr && *options_.stop)) return absl::OkStatus();
          for (NodeIndex node = 0; node < reports.size(); ++node) {
            BLINK_ASSIGN_OR_RETURN(reports[node], mechanism->Report(node, lists_[world][node]));
          }
          BLINK_ASSIGN_OR_RETURN(const GameScores scores, ScoreReports(options_.parameters, graph_, reports));
          take(thread, world, InOrder(scores));
          ++shared.done;
        }
      }
      if (begin + kPlaysOfATurn >= plays) return absl::OkStatus();
      if (thread == 0) shared.progress->Update(shared.done);
    }
  }

  const LinkGameOptions& options_;
  const AuditedMechanismFactory& factory_;
  const GameGraph graph_;
  std::array<std::vector<std::vector<NodeIndex>>, 2> lists_;  // [world][n]
};

BoundedRate RateOf(uint64_t count, uint64_t plays, double alpha) {
  if (plays == 0) return {};
  return {static_cast<double>(count) / static_cast<double>(plays), LowerLimit(count, plays, alpha),
          UpperLimit(count, plays, alpha)};
}

// The largest epsilon that both rates, and the rates of the other answer, prove. The logarithm of 0 is -infinity.
double ProvenBy(const BoundedRate& tpr, const BoundedRate& fpr) {
  const double proven[] = {std::log(tpr.low / fpr.high), std::log((1 - fpr.high) / (1 - tpr.low)),
                           std::log(fpr.low / tpr.high), std::log((1 - tpr.high) / (1 - fpr.low))};
  return std::max(0.0, *std::max_element(std::begin(proven), std::end(proven)));
}

// How many reports an attacker sees that are about the link.
int ReportsOf(int attacker, const PrivacyParameters& parameters, const GameGraph& graph) {
  const int of_first = IsReported(parameters, graph.i, graph.j), of_second = IsReported(parameters, graph.j, graph.i);
  return attacker == kFirst ? of_first : attacker == kSecond ? of_second : of_first + of_second;
}

GameAttacker Judge(int name, const PrivacyParameters& parameters, int reports, const std::vector<double>& thresholds,
                   const std::array<WorldCounts, 2>& counts, double alpha) {
  GameAttacker attacker{.sees = reports > 0 ? kSees[name] : kSeesOther};
  attacker.promised = parameters.epsilon() * reports;
  attacker.right_guesses_max = 1 / (1 + std::exp(-attacker.promised));
  std::array<uint64_t, 2> reached{};  // plays of each world whose score reaches the threshold
  for (size_t t = thresholds.size(); t-- > 0;) {
    for (int world = 0; world < 2; ++world) reached[world] += counts[world].cells[name][t + 1];
    RocPoint point{.threshold = thresholds[t],
                   .tpr = RateOf(reached[1], counts[1].plays, alpha),
                   .fpr = RateOf(reached[0], counts[0].plays, alpha)};
    point.lower = ProvenBy(point.tpr, point.fpr);
    point.violated = point.lower > attacker.promised;
    attacker.lower = std::max(attacker.lower, point.lower);
    attacker.right_guesses = std::max(attacker.right_guesses, (1 + point.tpr.rate - point.fpr.rate) / 2);
    attacker.violated |= point.violated;
    attacker.roc.push_back(point);
  }
  std::reverse(attacker.roc.begin(), attacker.roc.end());
  return attacker;
}

absl::Status ValidateGame(const LinkGameOptions& options) {
  const uint32_t n = options.parameters.node_count();
  if (n < 8 || n > 1024) return absl::InvalidArgumentError(absl::StrCat("nodes must be 8 .. 1024, not ", n));
  if (options.plays < 1000 || options.plays > 1'000'000'000) {
    return absl::InvalidArgumentError(absl::StrCat("plays must be 1000 .. 1000000000, not ", options.plays));
  }
  if (options.threads < 1 || options.threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("threads must be 1 .. 1024, not ", options.threads));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<NodeIndex> GameGraph::ListOf(NodeIndex node, bool with_link) const {
  std::vector<NodeIndex> list = lists[node];
  if (with_link && (node == i || node == j)) {
    const NodeIndex other = node == i ? j : i;
    list.insert(std::upper_bound(list.begin(), list.end(), other), other);
  }
  return list;
}

GameGraph MakeGameGraph(uint32_t n) {
  GameGraph graph;
  graph.lists.resize(n);
  const auto link = [&](NodeIndex a, NodeIndex b) {
    graph.lists[a].push_back(b);
    graph.lists[b].push_back(a);
  };
  for (NodeIndex v = 1; v < n; ++v) {
    link(v, v / 2);
    if (v / 3 != v / 2) link(v, v / 3);
  }
  for (auto& list : graph.lists) std::sort(list.begin(), list.end());
  graph.i = n - 2;
  graph.j = n - 1;
  return graph;
}

absl::StatusOr<GameScores> ScoreReports(const PrivacyParameters& parameters, const GameGraph& graph,
                                        const std::vector<AuditedReport>& reports) {
  GameScores scores;
  int ones = 0;
  const auto look = [&](NodeIndex self, NodeIndex other) {
    const AuditedReport& report = reports[self];
    if (!IsReported(parameters, self, other)) return OnesAndDegree(report);
    const double ratio = LikelihoodRatio(parameters, report, self, other, graph.lists[self]);
    scores.both += ratio;
    if (parameters.sends_bits()) ones += BitOf(parameters, report, self, other) ? 1 : 0;
    return ratio;
  };
  scores.first = look(graph.i, graph.j);
  scores.second = look(graph.j, graph.i);
  ReportSet set(parameters);
  for (NodeIndex node = 0; node < reports.size(); ++node) {
    PrivateReport report{.bits = reports[node].bits};
    if (parameters.sends_degree()) report.noisy_degree = std::llround(reports[node].degree);
    BLINK_RETURN_IF_ERROR(set.Add(node, std::move(report)));
  }
  const bool one_end = parameters.mechanism() == Mechanism::kOneEnd;
  if (one_end) BLINK_RETURN_IF_ERROR(set.Mirror());  // each bit twice, of half the weight
  const DegreeClasses classes = ClassifyDegrees(EstimateDegrees(set).degrees);
  BLINK_ASSIGN_OR_RETURN(const BetaModel model, FitBetaModel(classes, {.threads = 1}));
  const BetaPrior prior(classes, model);
  Evidence evidence;
  if (parameters.sends_bits()) evidence = {.reports = 2, .ones = one_end ? 2 * ones : ones};
  scores.estimate = Posterior(prior, set.bit_log_odds())
                        .LogOdds(classes.class_of_node[graph.i], classes.class_of_node[graph.j], evidence);
  return scores;
}

bool LinkGame::passed() const {
  return std::none_of(attackers.begin(), attackers.end(), [](const GameAttacker& a) { return a.violated; });
}

double LinkGameBytes(const LinkGameOptions& options) {
  const double n = options.parameters.node_count();
  constexpr double kPrograms = 3e7;
  return kPrograms + options.threads * (1e6 + n * (n / 4 + 300));  // the reports twice, and the estimate
}

absl::StatusOr<LinkGame> PlayLinkGame(const LinkGameOptions& options, const AuditedMechanismFactory& factory) {
  BLINK_RETURN_IF_ERROR(ValidateGame(options));
  const auto started = std::chrono::steady_clock::now();
  const PrivacyParameters& parameters = options.parameters;
  const Table table(options, factory);

  std::mutex mutex;
  std::array<std::vector<double>, kGameAttackers> pilot;
  const uint64_t pilot_plays = std::min(options.plays / 10, kPilotPlays);
  BLINK_RETURN_IF_ERROR(
      table.Play("pilot plays", pilot_plays, [&](int, int, const std::array<double, kGameAttackers>& scores) {
        std::lock_guard<std::mutex> lock(mutex);
        for (int a = 0; a < kGameAttackers; ++a) pilot[a].push_back(scores[a]);
      }));
  std::vector<ScoreCells> cells;
  for (int a = 0; a < kGameAttackers; ++a) {
    const int reports = ReportsOf(a, parameters, table.graph());
    const bool is_ratio = a != kEstimate && reports > 0;
    cells.emplace_back(is_ratio ? RatioValues(parameters, reports) : PilotThresholds(std::move(pilot[a])));
  }

  size_t points = 0;
  std::array<WorldCounts, 2> none;
  for (int a = 0; a < kGameAttackers; ++a) {
    points += cells[a].thresholds().size();
    for (WorldCounts& world : none) world.cells[a].resize(cells[a].thresholds().size() + 1);
  }
  std::vector<std::array<WorldCounts, 2>> by_thread(options.threads, none);
  BLINK_RETURN_IF_ERROR(
      table.Play("plays", options.plays, [&](int thread, int world, const std::array<double, kGameAttackers>& scores) {
        WorldCounts& counts = by_thread[thread][world];
        ++counts.plays;
        for (int a = 0; a < kGameAttackers; ++a) ++counts.cells[a][cells[a].Of(scores[a])];
      }));
  std::array<WorldCounts, 2> counts = none;
  for (const auto& of_thread : by_thread) {
    for (int world = 0; world < 2; ++world) {
      counts[world].plays += of_thread[world].plays;
      for (int a = 0; a < kGameAttackers; ++a) {
        for (size_t c = 0; c < counts[world].cells[a].size(); ++c)
          counts[world].cells[a][c] += of_thread[world].cells[a][c];
      }
    }
  }

  LinkGame game{.parameters = parameters,
                .plays_of_world = std::min(counts[0].plays, counts[1].plays),
                .plays_asked = options.plays,
                .threads = options.threads};
  if (game.plays_of_world > 0) {
    const double alpha = kFalseAlarmMax / (4.0 * static_cast<double>(points));  // two rates, two limits
    const uint64_t plays = game.plays_of_world;
    game.provable = std::log(LowerLimit(plays, plays, alpha) / UpperLimit(0, plays, alpha));
    for (int a = 0; a < kGameAttackers; ++a) {
      game.attackers.push_back(
          Judge(a, parameters, ReportsOf(a, parameters, table.graph()), cells[a].thresholds(), counts, alpha));
    }
  }
  game.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return game;
}

}  // namespace blink
