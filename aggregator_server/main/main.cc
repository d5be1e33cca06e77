// blink-aggregator: collects the reports of a deployment's nodes and runs its rounds.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "aggregator_server/main/aggregator.h"
#include "aggregator_server/main/commands.h"
#include "aggregator_server/main/doctor.h"
#include "aggregator_server/main/flags.h"
#include "aggregator_server/transport/acceptor.h"
#include "aggregator_server/transport/health.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/program.h"
#include "common/base/service_manager.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/settings.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/terminal.h"
#include "common/doctor/checks.h"
#include "common/doctor/print.h"

namespace blink {
namespace {

int Diagnose(Flags& flags, const absl::Status& completed, const ServiceManager& manager, bool is_managed) {
  Diagnosis diagnosis;
  DoctorOptions doctor;
  doctor.epsilon_micro = *ParseEpsilon("--epsilon", flags.epsilon);
  doctor.private_files = flags.data_key.old_files;
  for (const std::string& path : {flags.data_key.file, flags.store_file}) {
    if (!path.empty()) doctor.private_files.push_back(path);
  }
  doctor.files = {flags.roster};
  if (!completed.ok()) {
    diagnosis.Error("configuration", "", completed);
    // what a start does not reach any more
    const absl::Status store = ReadStore(flags), roster = ReadRoster(flags.roster, flags.options.deployment);
    for (const absl::Status& status : {store, roster}) {
      if (!status.ok() && status.message() != completed.message()) diagnosis.Error("configuration", "", status);
    }
    doctor.is_store_known = store.ok();
    doctor.is_complete = false;
  }
  DiagnoseAggregator(flags.options, doctor, diagnosis);
  LookAtServiceManager(manager, is_managed, diagnosis);
  return PrintDiagnosis(diagnosis, "blink-aggregator", flags.json);
}

void TellOfHttp(const std::string& listen, int port) {
  const absl::StatusOr<Address> address = ParseAddress(listen, AddressUse::kListen);
  const bool is_private = address.ok() && (address->host.empty() || address->IsLoopback());
  spdlog::info("metrics and health over HTTP: listening on {}, port {}", listen, port);
  if (is_private) return;
  spdlog::warn("whoever reaches {} reads the metrics: they need no certificate there, and have no TLS", listen);
}

// The next signal. Meanwhile the service manager is told that the aggregator answers calls. One that does not is stuck,
// and is started again. A full disk is no reason: there is an answer then, and a new start would find it full again.
// Nor is a health socket that could not be made, which has never answered.
int WaitForSignal(const Flags& flags, const sigset_t& signals, ServiceManager& manager, bool& has_answered) {
  int signal = 0;
  if (manager.watchdog_interval() == absl::InfiniteDuration()) {
    ::sigwait(&signals, &signal);
    return signal;
  }
  const timespec interval = absl::ToTimespec(manager.watchdog_interval());
  for (;;) {
    const bool answers = AskHealth(flags.options.server.health_socket, manager.watchdog_interval() / 2).ok();
    has_answered = has_answered || answers;
    if (answers || !has_answered) manager.TellAlive();
    signal = ::sigtimedwait(&signals, nullptr, &interval);
    if (signal > 0) return signal;
  }
}

absl::Status Serve(Flags& flags, const sigset_t& signals, ServiceManager& manager) {
  if (flags.options.data_keys.current.has_value()) {
    const rlimit no_core = {0, 0};  // it would hold the keys
    ::setrlimit(RLIMIT_CORE, &no_core);
  }
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<Aggregator> aggregator, Aggregator::Start(flags.options, SystemClock()));
  if (!flags.port_file.empty()) {
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(flags.port_file, absl::StrCat(aggregator->port(), "\n"), 0644));
  }
  const absl::StatusOr<Address> address = ParseAddress(flags.options.server.listen, AddressUse::kListen);
  const bool is_every_interface = address.ok() && address->IsEveryInterface();
  spdlog::info("deployment {} with {} nodes ({} retired), roster version {}: listening on {}{}, port {}{}",
               flags.options.deployment.name, flags.options.deployment.node_count,
               CountNodes(flags.options.deployment.retired), flags.options.deployment.roster_version,
               flags.options.server.listen, is_every_interface ? " (every interface of this machine)" : "",
               aggregator->port(), flags.insecure ? ", WITHOUT TLS" : "");
  if (!flags.options.http_listen.empty()) TellOfHttp(flags.options.http_listen, aggregator->http_port());
  if (!flags.options.web_listen.empty()) {
    spdlog::info("the web page for operators: listening on {}, port {}{}", flags.options.web_listen,
                 aggregator->web_port(), flags.insecure ? ", WITHOUT TLS" : "");
  }
  const std::string serving =
      absl::StrCat("deployment ", flags.options.deployment.name, ", roster version ",
                   flags.options.deployment.roster_version, ": serving on port ", aggregator->port());
  manager.TellReady(serving);
  bool has_answered = false;
  while (true) {
    const int signal = WaitForSignal(flags, signals, manager, has_answered);
    switch (signal) {
      case SIGHUP:
        ReopenLogFile();
        spdlog::info("SIGHUP: reading the certificate and the revocation list");
        manager.TellReloading();
        aggregator->RereadFiles();
        manager.TellReady(serving);
        break;
      case SIGUSR1:
      case SIGUSR2:
        // at the level of errors, too
        spdlog::log(spdlog::get_level(), "the log's level is {} now", ChangeLogLevel(signal == SIGUSR1 ? 1 : -1));
        break;
      default:
        spdlog::info("signal {}: stopping", signal);
        manager.TellStopping(absl::StrCat("signal ", signal, ": finishing what has arrived"));
        return absl::OkStatus();
    }
  }
}

absl::Status TellThatConfigIsGood(const Flags& flags) {
  BLINK_RETURN_IF_ERROR(Aggregator::Check(flags.options));
  std::printf("blink-aggregator: the configuration is good: deployment %s with %u nodes, roster version %llu\n",
              flags.options.deployment.name.c_str(), flags.options.deployment.node_count,
              static_cast<unsigned long long>(flags.options.deployment.roster_version));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (const std::optional<int> code = RunCommand(argc, argv); code.has_value()) return *code;
  ::signal(SIGPIPE, SIG_IGN);
  const bool is_doctor = argc > 1 && std::string(argv[1]) == "doctor";
  const bool is_managed = std::getenv("NOTIFY_SOCKET") != nullptr;
  ServiceManager manager = ServiceManager::FromEnvironment();
  CLI::App app("Collects the private reports of a deployment's nodes, denoises them and trains on them.",
               "blink-aggregator");
  Flags flags;
  DefineFlags(app, flags);
  if (is_doctor) DefineDoctor(app, flags);
  Settings settings(kVariablePrefix, {"check-health", "check-config", "print-config", "epsilon", "json"});
  app.config_formatter(MakeConfigReader(app, settings));
  app.allow_config_extras(CLI::config_extras_mode::error);  // a misspelt key is not a default
  try {
    ParseStrictly(app, settings.TakeEnvironment(app, argc - is_doctor, argv + is_doctor, ReadEnvironment()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return EndOfParsing(app, CLI::ConfigError(settings.WithPlace(error.what())), "blink-aggregator");
  }
  if (flags.print_config) {
    std::printf("%s", settings.Print(app).c_str());
    if (!flags.check_config) return static_cast<int>(ExitCode::kOk);
  }
  if (flags.check_health) {
    const absl::Status health = CheckHealth(HealthSocketIn(flags.options.data_folder), absl::Seconds(3));
    if (!health.ok()) std::fprintf(stderr, "blink-aggregator: %s\n", std::string(health.message()).c_str());
    return static_cast<int>(ExitCodeFor(health));
  }
  // Before any thread exists, so that all of them inherit the mask and only sigwait sees the signals.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
  if (!is_doctor) ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);  // a full quota is an error of the write, not a death
  // A supervisor may start us with umask 0. Whoever may write to a socket may connect to it.
  ::umask(::umask(S_IWGRP | S_IWOTH) | S_IWGRP | S_IWOTH);
  RaiseDescriptorLimit();

  if (is_doctor) flags.log.level = "error";  // what is logged is among the findings
  absl::Status status = InitLogging("blink-aggregator",
                                    flags.check_config || is_doctor ? LogOptions{.level = flags.log.level} : flags.log);
  if (status.ok()) status = CompleteOptions(flags);
  if (!status.ok() && absl::IsInvalidArgument(status)) {
    const std::string told = settings.WithPlace(std::string(status.message()));
    std::fprintf(stderr, "blink-aggregator: %s\n", ShownText(told).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  if (is_doctor) return Diagnose(flags, status, manager, is_managed);
  if (status.ok()) status = flags.check_config ? TellThatConfigIsGood(flags) : Serve(flags, signals, manager);
  if (status.ok()) return static_cast<int>(ExitCode::kOk);
  std::fprintf(stderr, "blink-aggregator: %s\n", ShownText(status.message()).c_str());
  // What cannot be served with as it stands (edges among the attributes, an expired certificate) is bad input here.
  if (absl::IsFailedPrecondition(status)) return static_cast<int>(ExitCode::kBadInput);
  return static_cast<int>(ExitCodeFor(status));
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::EndProgram("blink-aggregator", blink::Main(argc, argv)); }
