#include "tools/audit/game_command.h"

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/program_json.h"
#include "tools/audit/command_parts.h"
#include "tools/audit/game.h"
#include "tools/command_line.h"

namespace blink {
namespace {

constexpr uint64_t kPlaysMin = 100'000;

struct GameFlags {
  AuditBudgetFlags budget;
  std::string mechanism = MechanismName(Mechanism::kBothEnds);
  uint32_t nodes = 64;
  uint64_t plays = kPlaysMin;
  int threads = 0;
  AuditOutputFlags out;
};

nlohmann::ordered_json RateJson(const BoundedRate& rate) {
  return {{"rate", rate.rate}, {"low", rate.low}, {"high", rate.high}};
}

nlohmann::ordered_json GameJson(const LinkGame& game) {
  const PrivacyParameters& parameters = game.parameters;
  nlohmann::ordered_json json = {
      {"audit", "game"},
      {"format", 1},
      {"program", ProgramJson()},
      {"partial", game.partial()},
      {"passed", game.plays_of_world == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(game.passed())},
      {"epsilon", parameters.epsilon()},
      {"degree_share", parameters.degree_share()},
      {"mechanism", MechanismName(parameters.mechanism())},
      {"nodes", parameters.node_count()},
      {"plays_of_each_world", game.plays_of_world},
      {"plays_asked", game.plays_asked},
      {"threads", game.threads},
      {"seconds", game.seconds},
      {"confidence", 1 - kFalseAlarmMax},
      {"epsilon_provable", game.provable}};
  json["attackers"] = nlohmann::ordered_json::array();
  for (const GameAttacker& attacker : game.attackers) {
    nlohmann::ordered_json roc = nlohmann::ordered_json::array();
    for (const RocPoint& point : attacker.roc) {
      roc.push_back({{"threshold", point.threshold},
                     {"tpr", RateJson(point.tpr)},
                     {"fpr", RateJson(point.fpr)},
                     {"epsilon_lower", point.lower},
                     {"violated", point.violated}});
    }
    json["attackers"].push_back({{"sees", attacker.sees},
                                 {"lower", attacker.lower},
                                 {"promised", attacker.promised},
                                 {"right_guesses", attacker.right_guesses},
                                 {"right_guesses_max", attacker.right_guesses_max},
                                 {"violated", attacker.violated},
                                 {"roc", std::move(roc)}});
  }
  return json;
}

std::string GameTable(const LinkGame& game) {
  const PrivacyParameters& parameters = game.parameters;
  std::string text;
  if (game.partial()) {
    text = absl::StrFormat("PARTIAL: interrupted after %d of %d plays of each world%s\n", game.plays_of_world,
                           game.plays_asked, game.plays_of_world == 0 ? ": nothing is known" : "");
  }
  absl::StrAppendFormat(
      &text,
      "epsilon %.6g, degree share %.6g, %s, n = %d, %d plays with a link and as many without it (%.1f s, %d threads)\n"
      "All intervals hold at once with probability %.6f. So many plays could prove epsilon %.2f at most.\n\n",
      parameters.epsilon(), parameters.degree_share(), MechanismName(parameters.mechanism()), parameters.node_count(),
      game.plays_of_world, game.seconds, game.threads, 1 - kFalseAlarmMax, game.provable);
  absl::StrAppendFormat(&text, "%-36s %12s %12s %14s %10s\n", "the attacker sees", "at least", "promised",
                        "right guesses", "at most");
  for (const GameAttacker& attacker : game.attackers) {
    absl::StrAppendFormat(&text, "%-36s %12.6f %12.6f %14.4f %10.4f  %s\n", attacker.sees, attacker.lower,
                          attacker.promised, attacker.right_guesses, attacker.right_guesses_max,
                          attacker.violated ? "VIOLATED" : "ok");
  }
  for (const GameAttacker& attacker : game.attackers) {
    absl::StrAppendFormat(&text, "\n%s: TPR <= e^%.6g FPR and 1 - FPR <= e^%.6g (1 - TPR)\n%10s %28s %28s %10s\n",
                          attacker.sees, attacker.promised, attacker.promised, "threshold", "TPR", "FPR", "proves");
    for (const RocPoint& point : attacker.roc) {
      absl::StrAppendFormat(&text, "%10.4f %8.5f [%.5f, %.5f] %8.5f [%.5f, %.5f] %10.4f%s\n", point.threshold,
                            point.tpr.rate, point.tpr.low, point.tpr.high, point.fpr.rate, point.fpr.low,
                            point.fpr.high, point.lower, point.violated ? "  VIOLATED" : "");
    }
  }
  if (game.plays_of_world == 0) return text;
  text +=
      game.passed() ? "\nPASSED: every point lies within its bound.\n" : "\nVIOLATED: a point lies above its bound.\n";
  return text;
}

int RunGame(const GameFlags& flags) {
  AuditBudgetFlags budget = flags.budget;
  budget.mechanism = *MechanismNamed(flags.mechanism);
  const absl::StatusOr<PrivacyParameters> parameters = budget.ParseFor(flags.nodes);
  if (!parameters.ok()) return FinishWrongFlags(parameters.status());
  LinkGameOptions options{.parameters = *parameters,
                          .plays = flags.plays,
                          .threads = ThreadsOrCores(flags.threads),
                          .progress = !flags.out.quiet};
  const absl::Status fits = CheckAuditMemory(LinkGameBytes(options), flags.out, "ask for fewer nodes or threads");
  if (!fits.ok()) return FinishFailure(fits);
  if (const absl::Status writable = flags.out.output.Check(); !writable.ok()) return FinishFailure(writable);
  return RunUntilSignal([&](const std::atomic<bool>* stop) {
    options.stop = stop;
    const absl::StatusOr<LinkGame> game = PlayLinkGame(options, ShippedMechanism(*parameters));
    if (!game.ok()) return FinishFailure(game.status());
    return PrintFindings(game->passed(), flags.out.json ? DumpJson(GameJson(*game)) : GameTable(*game),
                         flags.out.output);
  });
}

}  // namespace

void AddGameCommand(CLI::App& audit, std::function<int()>* run) {
  CLI::App* command = audit.add_subcommand(
      "game",
      "Flip one undirected link, draw all reports again, and guess which: bound every attacker's true and false "
      "positives, the optimal one's and the aggregator's own estimate's");
  auto flags = std::make_shared<GameFlags>();
  flags->budget.AddTo(command);
  command
      ->add_option("--mechanism", flags->mechanism,
                   "both-ends: each end of the link reports it; one-end: one of them, so that the link costs half")
      ->transform(OneOf({MechanismName(Mechanism::kBothEnds), MechanismName(Mechanism::kOneEnd)}))
      ->capture_default_str();
  command
      ->add_option("--nodes", flags->nodes, "Nodes of the graph, each of which reports in every play, 8 .. 1024 (64)")
      ->check(CLI::Range(8, 1024));
  command->add_option("--plays", flags->plays, "Plays with the link, and as many without it, 100,000 or more (100,000)")
      ->check(CLI::Range(kPlaysMin, uint64_t{1'000'000'000}));
  command->add_option("--threads", flags->threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  flags->out.AddTo(command);
  command->callback([flags, run] { *run = [flags] { return RunGame(*flags); }; });
}

}  // namespace blink
