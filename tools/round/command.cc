#include "tools/round/command.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/address.h"
#include "common/base/exit_code.h"
#include "common/base/http_proxy.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/output_file.h"
#include "common/cli/progress.h"
#include "common/cli/result_files.h"
#include "common/cli/settings.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/cli/training_flags.h"
#include "common/rpc/status.h"
#include "common/wire/degree_share.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"
#include "tools/command_line.h"
#include "tools/round/metrics_table.h"
#include "tools/round/operator_client.h"
#include "tools/round/report.h"
#include "tools/round/result_download.h"

namespace blink {
namespace {

struct Connection {
  std::string config;
  std::string aggregator, proxy;
  bool json = false;
  bool quiet = false;
  bool check_config = false, print_config = false;

  void AddTo(CLI::App* command) {
    command->add_option("--config", config, "operator.conf, as blink provision makes it")
        ->envname(VariableName(kOperatorPrefix, "config"))
        ->required();
    command->add_option("--aggregator", aggregator, "HOST:PORT instead of the one in the configuration")
        ->check(
            CLI::Validator([](std::string& text) { return std::string(ParseAddress(text).status().message()); }, ""));
    command
        ->add_option("--proxy", proxy,
                     "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT of the proxy (HTTP CONNECT) that is the "
                     "only way to it, instead of the one in the configuration")
        ->check(
            CLI::Validator([](std::string& text) { return std::string(ParseHttpProxy(text).status().message()); }, ""));
    command->add_flag("--json", json, "Print JSON");
    command->add_flag("--quiet", quiet, "Show no progress");
    command->add_flag("--check-config", check_config, "Check the configuration and its files, and do nothing else");
    command->add_flag("--print-config", print_config,
                      "Print every setting of the configuration and where it comes from, and do nothing else");
  }
  absl::StatusOr<OperatorClient> Connect() const {
    BLINK_ASSIGN_OR_RETURN(OperatorConfig loaded, LoadOperatorConfig(config, {aggregator, proxy, ReadEnvironment()}));
    return OperatorClient::Connect(std::move(loaded));
  }
  // What --check-config and --print-config ask for.
  absl::Status TellOfConfig() const {
    std::string printed;
    const absl::StatusOr<OperatorConfig> loaded =
        LoadOperatorConfig(config, {aggregator, proxy, ReadEnvironment()}, &printed);
    if (print_config) std::printf("%s", printed.c_str());
    BLINK_RETURN_IF_ERROR(loaded.status());
    if (!check_config) return absl::OkStatus();
    BLINK_RETURN_IF_ERROR(OperatorClient::Connect(*loaded).status());
    std::printf("blink: the configuration is good: deployment %s at %s\n", loaded->deployment.c_str(),
                loaded->aggregator.c_str());
    return absl::OkStatus();
  }
};

// The exit code of a command that has asked the aggregator. When the aggregator says "there is no such round", no file
// of this machine is missing.
int FinishCall(const absl::Status& status) {
  const int code = Finish(status, ExitCode::kRefusedByPeer);
  const bool refused = IsAggregatorsAnswer(status) && ExitCode(code) == ExitCode::kBadInput;
  return refused ? static_cast<int>(ExitCode::kRefusedByPeer) : code;
}

// Lets *run connect and then do `work`. What is wrong before the first call is wrong on this machine. A
// FAILED_PRECONDITION after it is the aggregator's refusal.
void Bind(CLI::App* command, std::function<int()>* run, const std::shared_ptr<Connection>& connection,
          std::function<absl::StatusOr<ExitCode>(OperatorClient&)> work) {
  command->callback([=] {
    *run = [=] {
      if (connection->check_config || connection->print_config) return Finish(connection->TellOfConfig());
      absl::StatusOr<OperatorClient> client = connection->Connect();
      if (!client.ok()) return Finish(client.status());
      const absl::StatusOr<ExitCode> code = work(*client);
      return code.ok() ? static_cast<int>(*code) : FinishCall(code.status());
    };
  });
}

std::string FormatRound(const v1::Round& round, bool json) { return json ? RoundJson(round) : RoundTable(round); }

// Says why a round that has ended has no result. kOk when it has one, or has not ended.
ExitCode ExplainMissingResult(const v1::Round& round) {
  if (round.state() == v1::ROUND_STATE_FAILED) {
    std::fprintf(stderr, "blink: the round failed: %s\n", PeerText(round.failure_reason()).c_str());
    return ExitCode::kRoundFailed;
  }
  if (round.state() == v1::ROUND_STATE_CANCELLED) {
    std::fprintf(stderr, "blink: the round was cancelled\n");
    return ExitCode::kRoundFailed;
  }
  return ExitCode::kOk;
}

constexpr size_t kRequestIdCharactersMax = 64;

// As the aggregator, which does not see what is no UTF-8.
std::string RefuseRequestId(const std::string& id) {
  const bool printable = std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (printable && id.size() <= kRequestIdCharactersMax) return "";
  return absl::StrCat("'", absl::CHexEscape(id), "' is not 1 to ", kRequestIdCharactersMax,
                      " printable ASCII characters without spaces");
}

// The same request id may name a round that has ended without a result.
ExitCode ExplainEndedBefore(const v1::Round& created, const std::string& request_id) {
  const ExitCode code = ExplainMissingResult(created);
  if (code != ExitCode::kOk) {
    std::fprintf(stderr,
                 "blink: that is round %s, which --request-id %s made before: give another id for a new round\n",
                 created.round_id().c_str(), request_id.c_str());
  }
  return code;
}

CLI::Validator RoundId() {
  return CLI::Validator(
      [](std::string& id) {
        if (ValidateRoundId(id).ok()) return std::string();
        return absl::StrCat("'", absl::CHexEscape(id),
                            "' is no round id, which has 32 lower-case hexadecimal digits: blink round list shows "
                            "them");
      },
      "");
}

// With --output for what is printed.
struct PrintingConnection : Connection {
  OutputFile output;
  void AddTo(CLI::App* command) {
    Connection::AddTo(command);
    output.AddTo(command);
  }
};

// A flag that does not go with others.
absl::Status Refuse(const std::string& flag, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", why, ": leave it out"));
}

struct CreateFlags : PrintingConnection {
  std::string open_for = "10m";
  std::optional<std::string> epsilon, degree_share, mechanism, implausible;
  uint32_t quorum = 0, degree_max = 0, groups = 0;
  std::string follows;
  std::string on_out_of_memory = "fail", request_id;
  TrainingFlags training;
  uint64_t seed = 1;

  void AddTo(CLI::App* command) {
    PrintingConnection::AddTo(command);
    command->add_option("--epsilon", epsilon,
                        "Privacy budget of a report, for one entry of one list; at most six decimals. Needed without "
                        "--follows");
    command->add_option("--degree-share", degree_share,
                        "Share of it that pays for the degree, 0 to 1 (by epsilon and prior: docs/TUNING.md)");
    command
        ->add_option("--mechanism", mechanism,
                     "both-ends: each end of a pair reports it; one-end: one of them, so that a link costs half, and "
                     "nobody can contradict it (docs/TUNING.md); group-degrees: how many links a node has towards "
                     "groups of nodes, the two questions of LDPGen (docs/OPERATIONS.md) (both-ends)")
        ->transform(OneOf({MechanismName(Mechanism::kBothEnds), MechanismName(Mechanism::kOneEnd),
                           MechanismName(Mechanism::kGroupDegrees)}));
    command
        ->add_option("--groups", groups,
                     "Of the mechanism group-degrees: how many random groups it asks about (2). Its result is better "
                     "groups, for a round that follows")
        ->check(WholeNumber(1, kGroupsMax));
    command
        ->add_option("--follows", follows,
                     "A round of the mechanism group-degrees that is ready: asks about the groups that its answers "
                     "made, with the same epsilon, draws links from the answers and trains on them")
        ->check(RoundId());
    command->add_option("--open-for", open_for, "How long reports are collected: 60s, 10m, 2h")->capture_default_str();
    command->add_option("--quorum", quorum, "Fewer reports at the seal: the round fails (default 1)")
        ->check(WholeNumber(1, std::numeric_limits<uint32_t>::max()));
    command
        ->add_option("--implausible", implausible,
                     "Reports that can hardly be an honest node's: flag (list them), drop (estimate without them) or "
                     "keep (count them)")
        ->transform(OneOf({"flag", "drop", "keep"}))
        ->default_str("flag");
    command
        ->add_option("--degree-max", degree_max,
                     "No node has more links than this: sharpens the check of too many ones (default: no bound)")
        ->check(WholeNumber(1, std::numeric_limits<uint32_t>::max()));
    training.AddTo(command);
    command->add_option("--seed", seed, "Initialisation and dropout")->capture_default_str();
    command->add_option("--on-out-of-memory", on_out_of_memory, "fail, or cpu: go on on the CPU")
        ->transform(OneOf({"fail", "cpu"}))
        ->capture_default_str();
    command
        ->add_option("--request-id", request_id,
                     "The same id again returns the round that it made, unless other parameters stand beside it")
        ->check(CLI::Validator(RefuseRequestId, ""));
  }

  bool AsksAboutGroups() const { return !follows.empty() || mechanism == MechanismName(Mechanism::kGroupDegrees); }

  // What goes only with, or not with, questions about groups.
  absl::Status CheckTogether() const {
    if (follows.empty() && !epsilon) {
      return absl::InvalidArgumentError("--epsilon is missing: say what a report may cost, such as --epsilon 3");
    }
    if (!AsksAboutGroups()) {
      return groups > 0 ? Refuse("--groups", "only --mechanism group-degrees asks about groups") : absl::OkStatus();
    }
    if (degree_share) return Refuse("--degree-share", "an answer about groups has no part that pays for a degree");
    if (implausible) return Refuse("--implausible", "any answer about groups may be an honest one");
    if (degree_max > 0) return Refuse("--degree-max", "any answer about groups may be an honest one");
    if (follows.empty()) return absl::OkStatus();
    if (mechanism && mechanism != MechanismName(Mechanism::kGroupDegrees)) {
      return Refuse("--mechanism", "a round that follows another is of group-degrees");
    }
    if (epsilon) return Refuse("--epsilon", "it is that of the round that is followed");
    if (groups > 0) return Refuse("--groups", "they are those that the followed round made");
    if (training.prior == "attributed") {
      return Refuse("--prior", "links are drawn from the answers, and there is no posterior");
    }
    if (training.variant) return Refuse("--variant", "links are drawn from the answers, and there is no posterior");
    return absl::OkStatus();
  }

  // Fills what the mechanism takes; what is left out the aggregator knows.
  absl::Status SetParameters(const v1::TrainingSpec& spec, v1::PrivacyParameters& parameters) const {
    uint64_t epsilon_micro = 0;
    if (epsilon) {
      BLINK_ASSIGN_OR_RETURN(epsilon_micro, ParseEpsilon("--epsilon", *epsilon));
      parameters.set_epsilon_micro(epsilon_micro);
    }
    if (AsksAboutGroups()) {
      parameters.set_mechanism(static_cast<uint32_t>(Mechanism::kGroupDegrees));
      parameters.set_group_count(groups);
      return absl::OkStatus();
    }
    uint32_t share_ppm = DefaultDegreeSharePpm(epsilon_micro, FromProto(spec.prior()).value_or(Prior::kBeta));
    if (degree_share.has_value()) {
      BLINK_ASSIGN_OR_RETURN(share_ppm, ParseDegreeShare("--degree-share", *degree_share));
    }
    parameters.set_degree_share_ppm(share_ppm);
    parameters.set_mechanism(static_cast<uint32_t>(*MechanismNamed(mechanism.value_or("both-ends"))));
    return absl::OkStatus();
  }

  absl::StatusOr<v1::CreateRoundRequest> MakeRequest() const {
    v1::CreateRoundRequest request;
    BLINK_RETURN_IF_ERROR(CheckTogether());
    BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec spec, training.Spec());
    BLINK_RETURN_IF_ERROR(SetParameters(spec, *request.mutable_parameters()));
    BLINK_ASSIGN_OR_RETURN(const absl::Duration open, ParsePositiveDuration("--open-for", open_for));
    if (open < absl::Seconds(1) || open > absl::Hours(365 * 24)) {  // as the aggregator, in the units that were typed
      return absl::InvalidArgumentError(absl::StrCat("--open-for is ", open_for, ", it must be in 1s .. 365d"));
    }
    request.set_open_for_ms(absl::ToInt64Milliseconds(open));
    request.set_quorum(quorum);
    request.set_request_id(request_id);
    request.set_follows(follows);
    request.set_implausible(implausible == "drop"   ? v1::IMPLAUSIBLE_DROP
                            : implausible == "keep" ? v1::IMPLAUSIBLE_KEEP
                                                    : v1::IMPLAUSIBLE_FLAG);
    request.set_degree_max(degree_max);
    if (AsksAboutGroups() && follows.empty()) {
      if (spec.ByteSizeLong() > 0 && spec.model() != v1::MODEL_NONE) {
        return absl::InvalidArgumentError(
            "a round that asks about random groups trains nothing: its answers make groups, and a round that follows "
            "it (--follows) trains. Leave out the options of a training");
      }
      spec.set_model(v1::MODEL_NONE);
    }
    spec.set_seed(seed);
    spec.set_out_of_memory(on_out_of_memory == "cpu" ? v1::OUT_OF_MEMORY_CPU : v1::OUT_OF_MEMORY_FAIL);
    absl::StatusOr<v1::TrainingSpec> normal = NormalizeTrainingSpec(std::move(spec));
    if (!normal.ok()) return NamingTheFlag(normal.status());
    *request.mutable_training() = *std::move(normal);
    return request;
  }
};

// An older aggregator skips the prior, which it does not know.
absl::Status CheckPriorIsKnown(const v1::CreateRoundRequest& request, const v1::Round& created) {
  if (request.training().prior() != v1::PRIOR_ATTRIBUTED || created.training().prior() == v1::PRIOR_ATTRIBUTED)
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the aggregator is older than the attributed prior, and has opened round ", created.round_id(),
      " without it: cancel that round, or let it go on and run blink-worker --prior attributed on its reports"));
}

// Likewise.
absl::Status CheckScoreIsKnown(const v1::CreateRoundRequest& request, const v1::Round& created) {
  if (request.training().score() == created.training().score()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the aggregator is older than --score, and has opened round ", created.round_id(),
      ", whose search chooses by accuracy: cancel that round, or let it go on and run blink-worker --score ",
      MeasureName(FromProto(request.training().score())), " on its reports"));
}

void AddCreate(CLI::App* round, std::function<int()>* run) {
  CLI::App* command = round->add_subcommand("create", "Open a round; prints its id");
  auto flags = std::make_shared<CreateFlags>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    const absl::StatusOr<v1::CreateRoundRequest> request = flags->MakeRequest();
    if (!request.ok()) return ExitCode(FinishWrongFlags(request.status()));
    BLINK_ASSIGN_OR_RETURN(const v1::Round created, client.Create(*request));
    BLINK_RETURN_IF_ERROR(CheckPriorIsKnown(*request, created));
    BLINK_RETURN_IF_ERROR(CheckScoreIsKnown(*request, created));
    const ExitCode code = ExplainEndedBefore(created, flags->request_id);
    if (flags->json) {
      BLINK_RETURN_IF_ERROR(flags->output.Print(RoundJson(created)));
    } else if (code == ExitCode::kOk) {
      BLINK_RETURN_IF_ERROR(flags->output.Print(created.round_id() + "\n"));
    }
    return code;
  });
}

void AddList(CLI::App* round, std::function<int()>* run) {
  CLI::App* command = round->add_subcommand("list", "The rounds, newest first");
  auto flags = std::make_shared<PrintingConnection>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, client.List());
    BLINK_RETURN_IF_ERROR(flags->output.Print(flags->json ? RoundsJson(rounds) : RoundsTable(rounds)));
    return ExitCode::kOk;
  });
}

template <typename Base>
struct OneRound : Base {
  std::string round_id;
  void AddTo(CLI::App* command) {
    Base::AddTo(command);
    command->add_option("round", round_id, "Id of the round")->required()->check(RoundId());
  }
};

using Ask = absl::StatusOr<v1::Round> (OperatorClient::*)(const std::string&);

using RoundFlags = OneRound<PrintingConnection>;

// status, seal, cancel: one call, and the round that it returns.
void AddOne(CLI::App* round, const char* name, const char* what, Ask ask, std::function<int()>* run) {
  CLI::App* command = round->add_subcommand(name, what);
  auto flags = std::make_shared<RoundFlags>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags, ask](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    BLINK_ASSIGN_OR_RETURN(const v1::Round answer, (client.*ask)(flags->round_id));
    BLINK_RETURN_IF_ERROR(flags->output.Print(FormatRound(answer, flags->json)));
    return ExitCode::kOk;
  });
}

void AddRetry(CLI::App* round, std::function<int()>* run) {
  struct Flags : RoundFlags {
    TrainingFlags training;
    std::optional<uint64_t> seed;
    std::optional<std::string> on_out_of_memory;
  };
  CLI::App* command = round->add_subcommand(
      "retry",
      "Analyse the reports of a failed or cancelled round again; what a flag says goes before what it asked for");
  auto flags = std::make_shared<Flags>();
  flags->AddTo(command);
  flags->training.AddTo(command);
  command->add_option("--seed", flags->seed, "Initialisation and dropout (the round's)");
  command->add_option("--on-out-of-memory", flags->on_out_of_memory, "fail, or cpu: go on on the CPU (the round's)")
      ->transform(OneOf({"fail", "cpu"}));
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    absl::StatusOr<v1::TrainingSpec> spec = flags->training.Spec();
    if (!spec.ok()) return ExitCode(FinishWrongFlags(spec.status()));
    if (flags->seed) spec->set_seed(*flags->seed);
    if (flags->on_out_of_memory) {
      spec->set_out_of_memory(*flags->on_out_of_memory == "cpu" ? v1::OUT_OF_MEMORY_CPU : v1::OUT_OF_MEMORY_FAIL);
    }
    BLINK_ASSIGN_OR_RETURN(const v1::Round retried, client.Retry(flags->round_id, *spec));
    BLINK_RETURN_IF_ERROR(flags->output.Print(FormatRound(retried, flags->json)));
    return ExitCode::kOk;
  });
}

void AddDelete(CLI::App* round, std::function<int()>* run) {
  struct Flags : RoundFlags {
    bool yes = false;
  };
  CLI::App* command = round->add_subcommand(
      "delete",
      "Delete the reports and the result of a round that has ended, for good; that it was stays. Needs the role "
      "administer");
  auto flags = std::make_shared<Flags>();
  flags->AddTo(command);
  command->add_flag("--yes", flags->yes, "Really: nothing brings them back but a backup");
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    constexpr absl::Duration kPatience = absl::Minutes(5);
    if (!flags->yes) {
      return ExitCode(FinishWrongFlags(absl::InvalidArgumentError(absl::StrCat(
          "this deletes the reports and the result of round ", flags->round_id, " for good: say so with --yes"))));
    }
    BLINK_ASSIGN_OR_RETURN(v1::Round deleted, client.Delete(flags->round_id));
    const absl::Time give_up = absl::Now() + kPatience;
    while (deleted.deleting()) {
      if (absl::Now() >= give_up) {
        return absl::DeadlineExceededError(
            absl::StrCat("the aggregator still deletes round ", flags->round_id,
                         ", and goes on with it: blink round status shows when it is done, its log what it waits for"));
      }
      absl::SleepFor(absl::Milliseconds(200));
      BLINK_ASSIGN_OR_RETURN(deleted, client.GetStatus(flags->round_id));
    }
    BLINK_RETURN_IF_ERROR(flags->output.Print(FormatRound(deleted, flags->json)));
    return ExitCode::kOk;
  });
}

void AddMissing(CLI::App* round, std::function<int()>* run) {
  CLI::App* command = round->add_subcommand("missing", "The active nodes that have no report in a round");
  auto flags = std::make_shared<RoundFlags>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    BLINK_ASSIGN_OR_RETURN(const std::vector<NodeRange> missing, client.ListMissing(flags->round_id));
    BLINK_RETURN_IF_ERROR(flags->output.Print(flags->json ? MissingJson(missing) : MissingTable(missing)));
    return ExitCode::kOk;
  });
}

void AddRefused(CLI::App* round, std::function<int()>* run) {
  CLI::App* command = round->add_subcommand(
      "refused", "Which reports of a round were refused and why, also where one certificate is used twice");
  auto flags = std::make_shared<RoundFlags>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    BLINK_ASSIGN_OR_RETURN(const v1::ListRefusedReportsResponse refused, client.ListRefused(flags->round_id));
    BLINK_RETURN_IF_ERROR(flags->output.Print(flags->json ? RefusedJson(refused) : RefusedTable(refused)));
    return ExitCode::kOk;
  });
}

// Shows a bar for each state that the round passes through.
void ShowProgress(const v1::Round& round, StageBars& bars) {
  if (round.state() == v1::ROUND_STATE_OPEN) {  // its own text says no more than its bar
    bars.ShowCount("reports", ActiveNodes(round), TimeLeft::kInText)
        .Update(round.reports(), TimeToDeadline(round, absl::Now()));
    return;
  }
  if (IsTerminal(round.state())) return bars.End();
  const TimeLeft time_left =
      round.state() == v1::ROUND_STATE_TRAINING ? TimeLeftOfTraining(round.training()) : TimeLeft::kFromPace;
  bars.ShowShares(RoundStateName(round.state()), time_left)
      .Update(static_cast<uint64_t>(100 * round.progress()), PeerText(round.progress_text()));
}

void AddWatch(CLI::App* round, std::function<int()>* run) {
  CLI::App* command =
      round->add_subcommand("watch", "Show the progress of a round until it has ended (exit code 8: without a result)");
  auto flags = std::make_shared<RoundFlags>();
  flags->AddTo(command);
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    StageBars bars(!flags->quiet);
    const absl::StatusOr<v1::Round> end =
        client.Watch(flags->round_id, [&](const v1::Round& seen) { ShowProgress(seen, bars); });
    bars.End();
    if (!end.ok()) return end.status();
    BLINK_RETURN_IF_ERROR(flags->output.Print(FormatRound(*end, flags->json)));
    return ExplainMissingResult(*end);
  });
}

void AddResult(CLI::App* round, std::function<int()>* run) {
  struct Flags : OneRound<Connection> {
    std::string output;
  };
  CLI::App* command = round->add_subcommand("result", "The metrics of a round, and with --output all it made");
  auto flags = std::make_shared<Flags>();
  flags->AddTo(command);
  command->footer(absl::StrCat(ResultFilesText(), "\n", ExitCodeTable()));
  command->add_option("--output", flags->output,
                      "Folder to make: metrics, links, degrees, and of a model its predictions, curves and itself. It "
                      "is put together as "
                      "DIR.partial, which the next try clears if this one is killed");
  Bind(command, run, flags, [flags](OperatorClient& client) -> absl::StatusOr<ExitCode> {
    BLINK_ASSIGN_OR_RETURN(const v1::Round status, client.GetStatus(flags->round_id));
    if (const ExitCode code = ExplainMissingResult(status); code != ExitCode::kOk) return code;
    std::string metrics;
    BLINK_RETURN_IF_ERROR(client.Fetch(flags->round_id, "metrics.json", [&](const std::string& chunk) -> absl::Status {
      metrics += chunk;
      return absl::OkStatus();
    }));
    if (!flags->output.empty()) {
      BLINK_RETURN_IF_ERROR(DownloadResult(client, flags->round_id, metrics, flags->output));
    }
    std::printf("%s", (flags->json ? metrics : MetricsTable(metrics)).c_str());
    return ExitCode::kOk;
  });
}

}  // namespace

void AddRoundCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* round = app.add_subcommand("round", "Open, follow and end rounds, and fetch their results");
  round->require_subcommand(1);
  AddCreate(round, run);
  AddList(round, run);
  AddOne(round, "status", "Where a round stands", &OperatorClient::GetStatus, run);
  AddWatch(round, run);
  AddOne(round, "seal", "Stop collecting, and estimate from what is there", &OperatorClient::Seal, run);
  AddOne(round, "cancel",
         "End a round without a result; its reports are kept, and blink-worker can be run on them (docs/OPERATIONS.md)",
         &OperatorClient::Cancel, run);
  AddRetry(round, run);
  AddDelete(round, run);
  AddMissing(round, run);
  AddRefused(round, run);
  AddResult(round, run);
}

}  // namespace blink
