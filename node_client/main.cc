// blink-node: sends private reports on the list of one node, or on the lists of a gateway's range.
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/http_proxy.h"
#include "common/base/ignored_proxy.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/program.h"
#include "common/base/service_manager.h"
#include "common/base/status_macros.h"
#include "common/cli/config_file.h"
#include "common/cli/help.h"
#include "common/cli/log_flags.h"
#include "common/cli/output_file.h"
#include "common/cli/settings.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/doctor/checks.h"
#include "common/doctor/print.h"
#include "common/pki/pki.h"
#include "common/privacy/random_source.h"
#include "node_client/account.h"
#include "node_client/agent.h"
#include "node_client/doctor.h"
#include "node_client/draw_reports.h"
#include "node_client/grpc_link.h"
#include "node_client/journal.h"
#include "node_client/kit.h"

namespace blink {
namespace {

constexpr char kPrefix[] = "BLINK_NODE";

struct Flags {
  std::string kit, policy, journal, anchor, round_id, proxy, leave = "when-sealed";
  LogOptions log;
  std::optional<NodeIndex> node;
  bool daemon = false, json = false, replace = false, check_config = false, print_config = false;
  double give_up_after_seconds = 0;
  int threads = 0;
  OutputFile output;
};

// Ends sleeps and calls at SIGINT and SIGTERM. It is made first, so that every later thread blocks these signals.
class StopSignal final : public Clock {
 public:
  StopSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of the write, not a death
  }
  ~StopSignal() override { EndWatch(); }
  void Watch(GrpcLink* link, ServiceManager* manager) {
    thread_ = std::thread([this, link, manager] {
      int number;
      sigwait(&signals_, &number);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (quit_) return;
      stopped_ = true;
      signal_ = number;
      wake_.notify_all();
      manager->TellStopping(absl::StrCat("signal ", number));
      link->Cancel();
    });
  }
  // Call this before the link ends. A later signal has no effect, since the program is ending anyway.
  void EndWatch() {
    if (!thread_.joinable()) return;
    bool waits;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      quit_ = true;
      waits = !stopped_;
    }
    // Wakes the thread. One that has had its signal no longer waits.
    if (waits) pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  bool stopped() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stopped_;
  }
  // The exit code of a program that a signal ended.
  ExitCode exit_code() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return signal_ == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted;
  }
  absl::Time Now() override { return absl::Now(); }
  absl::Duration Monotonic() override { return SystemClock().Monotonic(); }
  void SleepFor(absl::Duration duration) override {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait_for(lock, absl::ToChronoMilliseconds(duration), [this] { return stopped_; });
  }

 private:
  sigset_t signals_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false, quit_ = false;
  int signal_ = 0;
  std::thread thread_;
};

int ExitWith(ExitCode code, const std::string& message) {
  if (!message.empty()) std::cerr << "blink-node: " << message << "\n";
  return static_cast<int>(code);
}
int ExitWith(const absl::Status& status) { return ExitWith(ExitCodeFor(status), std::string(status.message())); }

JournalIdentity IdentityOf(const KitConfig& kit) {
  return JournalIdentity{kit.deployment, kit.first_node, kit.last_node, kit.node_count, kit.roster_version};
}

// Whether something has this name, be it a link that leads nowhere. An error when that cannot be told.
absl::StatusOr<bool> IsThere(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) return true;
  return errno == ENOENT || errno == ENOTDIR ? absl::StatusOr<bool>(false) : FileError(errno, "look for", path);
}

absl::Status MakeKeyAndRequest(const KitConfig& kit) {
  BLINK_ASSIGN_OR_RETURN(const bool has_key, IsThere(kit.key_path()));
  if (has_key) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(MakeDirectories(kit.folder + "/tls"));
  BLINK_ASSIGN_OR_RETURN(const std::string key, GenerateKey());
  BLINK_ASSIGN_OR_RETURN(const std::string request, MakeRequest(key, kit.NodesName()));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(kit.request_path(), request, 0644));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(kit.key_path(), key, 0600));
  std::cout << "made " << kit.key_path() << " (never leaves this machine) and " << kit.request_path()
            << " (have it signed with blink provision)\n";
  return absl::OkStatus();
}

void PrintWhatAnchorIs(const Flags& flags) {
  if (flags.anchor.empty()) return;
  std::cout << "made the anchor " << flags.anchor << ": from now on the journal opens only with --anchor\n";
  struct stat journal, anchor;
  if (::stat(flags.journal.c_str(), &journal) == 0 && ::stat(flags.anchor.c_str(), &anchor) == 0 &&
      journal.st_dev == anchor.st_dev) {
    spdlog::warn(
        "the anchor is on the journal's volume: whoever restores an older copy of the one restores the other with it");
  }
}

int Init(const Flags& flags) {
  const auto kit = LoadKitConfig(flags.kit);
  if (!kit.ok()) return ExitWith(kit.status());
  const absl::StatusOr<bool> exists = IsThere(flags.journal + "/journal.blj");
  if (!exists.ok()) return ExitWith(exists.status());
  if (!*exists && !kit->insecure) {
    if (const absl::Status made = MakeKeyAndRequest(*kit); !made.ok()) return ExitWith(made);
  }
  const absl::Status created = CreateJournal(flags.journal, IdentityOf(*kit), flags.anchor);
  if (!created.ok()) return ExitWith(JournalExitCode(created), std::string(created.message()));
  std::cout << "made the journal " << flags.journal << "/journal.blj for " << kit->NodesName() << " of deployment "
            << kit->deployment << "\n";
  PrintWhatAnchorIs(flags);
  return 0;
}

int GiveAnchor(const Flags& flags) {
  const auto kit = LoadKitConfig(flags.kit);
  if (!kit.ok()) return ExitWith(kit.status());
  const absl::Status given = AnchorJournal(flags.journal, IdentityOf(*kit), flags.anchor, flags.replace);
  if (!given.ok()) return ExitWith(JournalExitCode(given), std::string(given.message()));
  PrintWhatAnchorIs(flags);
  return 0;
}

// The settings that the kit decides, each with its file.
std::string PrintKit(const KitConfig& kit) {
  const std::string place = kit.folder + "/kit.json";
  std::string text;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"deployment", kit.deployment},
                                                        {"nodes", kit.NodesName()},
                                                        {"node_count", absl::StrCat(kit.node_count)},
                                                        {"roster_version", absl::StrCat(kit.roster_version)},
                                                        {"aggregator", kit.aggregator},
                                                        {"proxy", kit.proxy},
                                                        {"insecure", kit.insecure ? "true" : "false"}}) {
    absl::StrAppend(&text, "# kit: ", SettingLine(key, value, place));
  }
  return text;
}

absl::Status CheckTls(const KitConfig& kit) {
  const absl::Status sound = GrpcLink::Create(kit).status();
  // an expired certificate is bad input, and nothing that the owner's policy refuses
  return absl::IsFailedPrecondition(sound) ? absl::InvalidArgumentError(sound.message()) : sound;
}

// What a start would refuse, as far as that can be told without reading a list or opening the journal.
int CheckConfig(const Flags& flags) {
  const auto kit = LoadKitConfig(flags.kit);
  if (!kit.ok()) return ExitWith(kit.status());
  const std::string policy_path = flags.policy.empty() ? DefaultPolicyPath(flags.kit) : flags.policy;
  const auto policy = LoadPolicy(policy_path);
  if (!policy.ok()) return ExitWith(policy.status());
  if (const absl::Status allowed = CheckDeployment(*policy, kit->deployment); !allowed.ok()) {
    return ExitWith(ExitCode::kRefusedByPolicy, std::string(allowed.message()));
  }
  if (const absl::Status sound = CheckTls(*kit); !sound.ok()) return ExitWith(sound);
  for (const std::string& path : {kit->folder + "/lists.csv", flags.anchor}) {
    if (path.empty()) continue;
    if (const absl::Status there = CheckReadable(path); !there.ok()) return ExitWith(there);
  }
  if (const absl::Status there = CheckReadable(flags.journal + "/journal.blj"); !there.ok()) {
    return ExitWith(ExitCode::kJournal, absl::StrCat(there.message(), ": blink-node init makes the journal, once"));
  }
  std::cout << "blink-node: the configuration is good: " << kit->NodesName() << " of deployment " << kit->deployment
            << " reports to " << kit->aggregator << "; the lists and the journal were not read\n";
  return 0;
}

// Prints what --print-config asks for, and checks what --check-config asks for.
int TellOfConfig(const Flags& flags, const std::string& settings) {
  if (!flags.print_config) return CheckConfig(flags);
  const auto kit = LoadKitConfig(flags.kit);
  std::cout << settings << (kit.ok() ? PrintKit(*kit) : "");
  if (flags.check_config) return CheckConfig(flags);
  return kit.ok() ? 0 : ExitWith(kit.status());
}

int Run(const Flags& flags, ServiceManager& manager) {
  const absl::Time started = absl::Now();
  StopSignal stop;
  auto kit = LoadKit(flags.kit, flags.policy);
  if (kit.ok() && !flags.proxy.empty()) kit->config.proxy = flags.proxy;
  if (absl::IsFailedPrecondition(kit.status()))
    return ExitWith(ExitCode::kRefusedByPolicy, std::string(kit.status().message()));
  if (!kit.ok()) return ExitWith(kit.status());
  auto journal = Journal::Open(flags.journal, IdentityOf(kit->config), flags.anchor);
  if (!journal.ok()) return ExitWith(JournalExitCode(journal.status()), std::string(journal.status().message()));
  auto link = GrpcLink::Create(kit->config);
  if (!link.ok()) {
    const bool expired = link.status().code() == absl::StatusCode::kFailedPrecondition;
    return ExitWith(expired ? ExitCode::kBadInput : ExitCodeFor(link.status()), std::string(link.status().message()));
  }
  stop.Watch(link->get(), &manager);
  AgentOptions options;
  options.daemon = flags.daemon;
  options.leave_at_receipt = flags.leave == "at-receipt";
  options.round_id = flags.round_id;
  if (flags.give_up_after_seconds > 0) options.give_up_after = absl::Seconds(flags.give_up_after_seconds);
  options.threads = DrawingThreads(kit->config, flags.threads, FindMachineMemory().available);
  options.started = started;
  options.stopped = [&stop] { return stop.stopped(); };
  spdlog::info("{} of deployment {} reports to {}", kit->config.NodesName(), kit->config.deployment,
               kit->config.aggregator);
  if (const std::string proxy = DescribeIgnoredProxy(); !proxy.empty()) spdlog::info("{}", proxy);
  manager.TellReady(absl::StrCat(kit->config.NodesName(), " of deployment ", kit->config.deployment, " reports to ",
                                 kit->config.aggregator));
  const AgentOutcome outcome = Agent(*kit, **journal, **link, stop, SecureRandom(), options).Run();
  stop.EndWatch();
  return ExitWith(outcome.code == ExitCode::kInterrupted ? stop.exit_code() : outcome.code, outcome.message);
}

int Diagnose(const Flags& flags, const ServiceManager& manager, bool is_managed) {
  Diagnosis diagnosis;
  DiagnoseNode({.kit = flags.kit,
                .journal = flags.journal,
                .policy = flags.policy,
                .anchor = flags.anchor,
                .proxy = flags.proxy},
               diagnosis);
  LookAtServiceManager(manager, is_managed, diagnosis);
  return PrintDiagnosis(diagnosis, "blink-node", flags.json);
}

// Tries again after an error: a running process may be cutting off the end of the file and writing it anew.
absl::StatusOr<std::unique_ptr<Journal>> ReadJournal(const Flags& flags, const JournalIdentity& identity) {
  auto journal = Journal::OpenReadOnly(flags.journal, identity, flags.anchor);
  for (int again = 0; again < 3 && absl::IsDataLoss(journal.status()); ++again) {
    absl::SleepFor(absl::Milliseconds(100));
    journal = Journal::OpenReadOnly(flags.journal, identity, flags.anchor);
  }
  return journal;
}

int ShowAccount(const Flags& flags) {
  const auto kit = LoadKitConfig(flags.kit);
  if (!kit.ok()) return ExitWith(kit.status());
  const auto policy = LoadPolicy(flags.policy.empty() ? DefaultPolicyPath(flags.kit) : flags.policy);
  if (!policy.ok()) return ExitWith(policy.status());
  if (flags.node.has_value() && (*flags.node < kit->first_node || *flags.node > kit->last_node)) {
    return ExitWith(ExitCode::kUsage,
                    absl::StrCat("--node: the kit hosts ", kit->NodesName(), ", not node ", *flags.node));
  }
  const auto journal = ReadJournal(flags, IdentityOf(*kit));
  if (!journal.ok()) return ExitWith(JournalExitCode(journal.status()), std::string(journal.status().message()));
  const Account account = MakeAccount(*kit, *policy, **journal, flags.node, !flags.anchor.empty());
  const absl::Status printed = flags.output.Print(flags.json ? AccountToJson(account) + "\n" : AccountToText(account));
  return printed.ok() ? 0 : ExitWith(printed);
}

const std::vector<CommandExamples> kExamples = {
    {"", {"blink-node init --kit kit --journal journal", "blink-node run --kit kit --journal journal --daemon"}},
    {"init",
     {"blink-node init --kit kit --journal journal",
      "blink-node init --kit kit --journal journal --anchor /mnt/other/journal.anchor"}},
    {"run",
     {"blink-node run --kit kit --journal journal --daemon",
      "blink-node run --kit kit --journal journal --check-config",
      "blink-node run --kit kit --journal journal --leave at-receipt --give-up-after 600"}},
    {"doctor",
     {"blink-node doctor --kit kit --journal journal",
      "blink-node doctor --kit kit --journal journal --anchor /mnt/other/journal.anchor --json"}},
    {"account",
     {"blink-node account --kit kit --journal journal",
      "blink-node account --kit kit --journal journal --node 3 --json"}},
    {"anchor",
     {"blink-node anchor --kit kit --journal journal --anchor /mnt/other/journal.anchor",
      "blink-node anchor --kit kit --journal journal --anchor /mnt/other/journal.anchor --replace"}},
};

int Main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const bool is_managed = std::getenv("NOTIFY_SOCKET") != nullptr;
  ServiceManager manager = ServiceManager::FromEnvironment();
  mallopt(M_ARENA_MAX, 2);  // a node process is small; many of them share a machine
  CLI::App app{"Sends privatised reports on adjacency lists to an aggregator that is not trusted", "blink-node"};
  Flags flags;
  app.set_version_flag("--version", VersionText("blink-node"));
  const std::string footer =
      absl::StrCat("Every flag may also be set by a variable of the environment: --log-level by ",
                   VariableName(kPrefix, "log-level"), ".\nA flag goes before a variable.\n\n", ExitCodeTable());
  app.footer(footer);
  app.require_subcommand(1);
  auto add = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("--kit", flags.kit, "folder of the start-up kit")->required();
    command->add_option("--journal", flags.journal, "folder of the journal")->required();
    AddLogFlags(command, flags.log);
    command->footer(footer);
    return command;
  };
  CLI::App* init = add("init", "make key and certificate request (where the kit has no key) and the journal, once");
  CLI::App* run = add("run", "take part in the open round(s)");
  run->add_flag("--daemon", flags.daemon, "go on over rounds until SIGTERM");
  run->add_option("--leave", flags.leave, "when to end")
      ->transform(OneOf({"when-sealed", "at-receipt"}))
      ->capture_default_str();
  CLI::App* account = add("account", "what was drawn and spent; may be asked while the node runs");
  CLI::App* doctor = add("doctor",
                         "look for what would stop a run, or hurt later, and change nothing: no list is opened; the "
                         "exit code is 0 without an error, and otherwise that of the first error");
  for (CLI::App* command : {run, doctor}) {
    command
        ->add_option("--proxy", flags.proxy,
                     "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT of the proxy (HTTP CONNECT) that is the only "
                     "way to the aggregator, instead of the kit's")
        ->check(
            CLI::Validator([](std::string& text) { return std::string(ParseHttpProxy(text).status().message()); }, ""));
  }
  for (CLI::App* command : {run, account, doctor}) {
    command->add_option("--policy", flags.policy,
                        "file with the policy of the lists' owner; default: policy.json of the kit");
  }
  run->add_flag("--check-config", flags.check_config,
                "check the flags, the kit and the policy, say what is wrong, and do nothing else: no list is read");
  run->add_flag("--print-config", flags.print_config,
                "print every setting and where it comes from: a flag, the environment, the kit, the default");
  run->add_option("--round", flags.round_id, "only this round (32 hexadecimal digits)");
  run->add_option("--give-up-after", flags.give_up_after_seconds,
                  "end after so many seconds without an answer or an open round; 0: never")
      ->check(SecondsOrNever())
      ->capture_default_str();
  run->add_option("--threads", flags.threads,
                  "threads that draw a gateway's reports; 0: as many as cores and memory allow")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  for (CLI::App* command : {init, run, account, doctor}) {
    command->add_option("--anchor", flags.anchor,
                        "file on another volume that shows whether an older copy of the journal was restored");
  }
  CLI::App* anchor = add("anchor", "give an existing journal an anchor");
  anchor->add_option("--anchor", flags.anchor, "file to make, on another volume")->required();
  anchor->add_flag("--replace", flags.replace,
                   "the old anchor is lost, and this journal is known to be the latest one");
  account->add_option("--node", flags.node, "of this node alone; default: of all that the kit hosts");
  for (CLI::App* command : {account, doctor}) command->add_flag("--json", flags.json, "one JSON object");
  flags.output.AddTo(account);
  AddExamples(app, kExamples);
  Settings settings(kPrefix, {"check-config", "print-config", "json", "replace", "output", "node"});
  try {
    ParseStrictly(app, settings.TakeEnvironment(app, argc, argv, ReadEnvironment()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return EndOfParsing(app, CLI::ConfigError(settings.WithPlace(error.what())), "blink-node");
  }
  if (doctor->parsed()) flags.log.level = "error";  // what is logged is among the findings
  if (const absl::Status logging = InitLogging(
          "blink-node", flags.check_config || doctor->parsed() ? LogOptions{.level = flags.log.level} : flags.log);
      !logging.ok()) {
    return ExitWith(logging);
  }
  if (!flags.round_id.empty()) {
    if (const absl::Status valid = ValidateRoundId(flags.round_id); !valid.ok()) {
      return ExitWith(ExitCode::kUsage, absl::StrCat("--round: ", valid.message()));
    }
  }
  if (init->parsed()) return Init(flags);
  if (anchor->parsed()) return GiveAnchor(flags);
  if (account->parsed()) return ShowAccount(flags);
  if (doctor->parsed()) return Diagnose(flags, manager, is_managed);
  if (flags.check_config || flags.print_config) return TellOfConfig(flags, settings.Print(*run));
  return Run(flags, manager);
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::EndProgram("blink-node", blink::Main(argc, argv)); }
