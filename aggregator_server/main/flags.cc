#include "aggregator_server/main/flags.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/store/postgres_target.h"
#include "aggregator_server/transport/acceptor.h"
#include "aggregator_server/transport/health.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/program.h"
#include "common/base/status_macros.h"
#include "common/cli/config_file.h"
#include "common/cli/decimal.h"
#include "common/cli/help.h"
#include "common/cli/log_flags.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/wire/roster.h"

namespace blink {

namespace fs = std::filesystem;

void DefineFlags(CLI::App& app, Flags& flags) {
  AggregatorOptions& options = flags.options;
  app.set_config("--config", "", "configuration file; its relative paths are relative to its folder")
      ->check(CLI::Validator([](std::string& path) { return std::string(CheckReadable(path).message()); }, ""));
  app.add_option("--data", options.data_folder, "folder of the store and the results")->required();
  app.add_option("--store", flags.store,
                 "rocksdb, or the URI of a PostgreSQL database that several aggregators share: "
                 "postgresql://USER@HOST:PORT/DATABASE; DATA/rounds is then a volume that they share, too")
      ->default_str("rocksdb");
  app.add_option("--store-file", flags.store_file,
                 "a file with the URI for --store, so that its password is in no command line");
  flags.data_key.AddTo(app);
  app.add_option("--retain-reports", flags.retain_reports,
                 "delete the reports of a round so long after its end: 12h, 30d; results stay; absent: never");
  app.add_option(
      "--attributes", options.attributes_folder,
      "folder of the public attributes, if there are any; must hold no edges. Without labels rounds give links "
      "and degrees alone (blink round create --model none)");
  app.add_option("--deployment", options.deployment.name, "name of the deployment")->required();
  app.add_option("--roster", flags.roster,
                 "roster.json, made by blink provision; another one takes effect at the next start")
      ->required();
  app.add_option("--listen", options.server.listen,
                 "HOST:PORT; without HOST: every interface; port 0: chosen by the system")
      ->capture_default_str();
  app.add_option("--audit-log", options.audit_log,
                 "file of what operators did, to which records are only added (default: audit.log in the data folder)");
  app.add_option("--http-listen", options.http_listen,
                 "HOST:PORT for metrics and health over HTTP, without TLS: /metrics, /healthz, /readyz; without HOST: "
                 "127.0.0.1; absent: none");
  app.add_option("--proxy-protocol-from", options.server.balancers,
                 "addresses of balancers that pass TLS on, separated by commas: their connections begin with a header "
                 "of the PROXY protocol (version 1 or 2), and limits, log and audit log see the caller that it names")
      ->delimiter(',')
      ->check(
          CLI::Validator([](std::string& text) { return std::string(HostOfBalancer(text).status().message()); }, ""));
  app.add_option("--web-listen", options.web_listen,
                 "HOST:PORT of a web page for operators, over TLS with an operator's certificate; without HOST: "
                 "127.0.0.1; absent: none");
  app.add_flag("--grpc-reflection", options.server.reflection,
               "tell whoever has a certificate the services and messages of this program (gRPC reflection)");
  app.add_option("--tls-certificate", flags.tls.certificate,
                 "certificate chain, PEM; another one is taken without a restart");
  app.add_option("--tls-key", flags.tls.key, "private key, PEM");
  app.add_option("--tls-ca", flags.tls.ca, "certificate of the deployment's authority, PEM");
  app.add_option("--revocations", options.revocations_file,
                 "the authority's list of revoked certificates (CRL, PEM); looked at every second");
  app.add_flag("--refuse-outdated-revocations", options.refuse_when_outdated,
               "serve nobody while that list is past its next update, instead of going on with it");
  app.add_flag(
      "--check-health", flags.check_health,
      "ask the aggregator that runs on this data folder whether it serves, and do nothing else; exit code 0: it "
      "does, 6: no good answer");
  app.add_flag("--check-config", flags.check_config,
               "check the flags and every file that a start reads, say what is wrong, and do nothing else");
  app.add_flag("--print-config", flags.print_config,
               "print every setting and where it comes from: a flag, the environment, a line of the file, the default");
  app.add_flag("--insecure", flags.insecure, "no TLS, claims are believed; on loopback only");
  app.add_flag("--accept-data-loss", options.accept_data_loss,
               "start although the store lost what it had acknowledged; for one start, after reading the refusal");
  app.add_option("--worker", options.worker_path, "the worker program (default: blink-worker beside this program)");
  app.add_option("--worker-threads", options.worker_threads, "threads of the worker; 0: all cores")
      ->check(CLI::Range(0, 4096));
  app.add_option("--worker-nice", options.worker_limits.niceness,
                 "by how much the worker steps back where processors are short (nice); 0: as the aggregator itself")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  app.add_option("--worker-memory-bytes", options.worker_limits.memory_bytes,
                 "address space of the worker; 0: no limit");
  app.add_flag("--ignore-memory", options.ignore_memory,
               "open rounds whose worker needs more memory than this machine, or its limit, has");
  app.add_option("--worker-cpu-seconds", options.worker_limits.cpu_seconds,
                 "processor time of the worker; 0: no limit");
  app.add_option("--worker-seconds-max", flags.worker_seconds_max, "wall time of the worker; 0: no limit")
      ->check(SecondsOrNever());
  app.add_option("--worker-silence-max", flags.worker_silence_max,
                 "a worker that for so many seconds writes nothing and uses no processor time is ended and started "
                 "again; 0: no limit")
      ->check(SecondsOrNever())
      ->capture_default_str();
  app.add_option("--port-file", flags.port_file, "file that receives the bound port");
  AddLogFlags(&app, flags.log);
  app.set_version_flag("--version", VersionText("blink-aggregator"));
  app.footer(absl::StrCat("Other commands: doctor, backup, verify-backup, restore, drain (each has --help).\n\n",
                          "Every flag may also be set by a variable of the environment: --log-level by ",
                          VariableName(kVariablePrefix, "log-level"),
                          ".\nA flag goes before a variable, and a variable before ", "the configuration file.\n\n",
                          ExitCodeTable()));
  AddExamples(
      app, {{{"",
              {"blink-aggregator --config aggregator.conf", "blink-aggregator --config aggregator.conf --check-config",
               "blink-aggregator --data data --attributes attributes --deployment demo --roster roster.json "
               "--insecure"}}}});
}

void DefineDoctor(CLI::App& app, Flags& flags) {
  app.description("Looks for what would stop a start, or hurt later, and changes nothing.");
  app.name("blink-aggregator doctor");
  for (const char* flag : {"--check-health", "--check-config", "--print-config"}) {
    app.remove_option(app.get_option(flag));
  }
  app.add_option("--epsilon", flags.epsilon, "compare disk and memory with a round of this budget")
      ->check(CLI::Validator(
          [](std::string& text) { return std::string(ParseEpsilon("--epsilon", text).status().message()); }, ""))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "one JSON object");
  app.footer(
      absl::StrCat("The exit code is 0 without an error, and otherwise that of the first error.\n\n", ExitCodeTable()));
  AddExamples(app, {{{"",
                      {"blink-aggregator doctor --config aggregator.conf",
                       "blink-aggregator doctor --config aggregator.conf --epsilon 4 --json"}}}});
}

namespace {

class ConfigOfItsFolder final : public CLI::ConfigINI {
 public:
  ConfigOfItsFolder(const CLI::App& app, Settings& settings) : app_(app), settings_(settings) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string file = app_.get_config_ptr()->as<std::string>();
    const fs::path folder = fs::absolute(file).parent_path();
    const std::string text(std::istreambuf_iterator<char>(input), {});
    const absl::StatusOr<std::vector<ConfigEntry>> entries = ParseConfig(text, file);
    if (!entries.ok()) throw CLI::ConfigError(std::string(entries.status().message()));
    std::vector<CLI::ConfigItem> items;
    for (const auto& [key, value, line] : *entries) {
      settings_.NoteFile(key, absl::StrCat(file, ":", line));
      if (!settings_.IsKey(app_, key)) {
        throw CLI::ConfigError(
            absl::StrCat(file, ":", line, ": the key ", key, " is unknown", Suggest(key, settings_.Keys(app_))));
      }
      const bool is_path = kPaths.count(key) > 0;
      items.emplace_back();
      items.back().name = key;
      // A comma separates the files of a list, and no other path is looked at so closely.
      std::vector<std::string> values = {value};
      if (key == "old-data-key-file") values = absl::StrSplit(value, ',');
      for (std::string& one : values) one = is_path ? (folder / one).lexically_normal().string() : one;
      items.back().inputs = {absl::StrJoin(values, ",")};
    }
    return items;
  }

 private:
  inline static const std::set<std::string> kPaths = {
      "data",        "attributes", "tls-certificate", "tls-key",  "tls-ca",     "worker",        "port-file",
      "revocations", "roster",     "audit-log",       "log-file", "store-file", "data-key-file", "old-data-key-file"};
  const CLI::App& app_;
  Settings& settings_;
};

}  // namespace

std::shared_ptr<CLI::Config> MakeConfigReader(const CLI::App& app, Settings& settings) {
  return std::make_shared<ConfigOfItsFolder>(app, settings);
}

absl::Status ReadRoster(const std::string& path, Deployment& deployment) {
  constexpr uint64_t kBytesMax = 256 << 20;
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadNamedFile(path, kBytesMax));
  const absl::StatusOr<Roster> roster = Roster::FromJson(text);
  // Not INVALID_ARGUMENT: the flags are right, the file is not.
  if (!roster.ok()) return absl::FailedPreconditionError(absl::StrCat(path, ": ", roster.status().message()));
  if (roster->deployment() != deployment.name) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": the roster is of deployment \"", roster->deployment(),
                                                      "\", and --deployment is \"", deployment.name, "\""));
  }
  deployment.node_count = roster->node_count();
  deployment.roster_version = roster->version();
  deployment.retired = roster->retired();
  return absl::OkStatus();
}

absl::Status ReadStore(Flags& flags) {
  constexpr uint64_t kBytesMax = 64 << 10;
  if (!flags.store.empty() && !flags.store_file.empty()) {
    return absl::InvalidArgumentError("--store and --store-file exclude each other");
  }
  if (flags.store_file.empty()) {
    if (flags.store.empty() || flags.store == "rocksdb") return absl::OkStatus();
    const absl::StatusOr<PostgresTarget> target = PostgresTarget::Parse(flags.store);
    if (!target.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--store is neither rocksdb nor a URI: ", target.status().message()));
    }
    flags.options.store = *target;
    return absl::OkStatus();
  }
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadNamedFile(flags.store_file, kBytesMax));
  const absl::StatusOr<PostgresTarget> target = PostgresTarget::Parse(std::string(absl::StripAsciiWhitespace(text)));
  // Not INVALID_ARGUMENT: the flags are right, the file is not.
  if (!target.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(flags.store_file, ": ", target.status().message()));
  }
  flags.options.store = *target;
  struct stat info {};
  if (::stat(flags.store_file.c_str(), &info) == 0 && (info.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    spdlog::warn("{} can be read by others than its owner: if it holds a password, chmod 600", flags.store_file);
  }
  return absl::OkStatus();
}

absl::Status CompleteOptions(Flags& flags) {
  AggregatorOptions& options = flags.options;
  const bool any_tls = !flags.tls.certificate.empty() || !flags.tls.key.empty() || !flags.tls.ca.empty();
  const bool all_tls = !flags.tls.certificate.empty() && !flags.tls.key.empty() && !flags.tls.ca.empty();
  if (flags.insecure && any_tls) return absl::InvalidArgumentError("--insecure and --tls-... exclude each other");
  if (!flags.insecure && !all_tls) {
    return absl::InvalidArgumentError(
        "--tls-certificate, --tls-key and --tls-ca are needed (blink provision makes them), or --insecure on loopback");
  }
  if (all_tls && options.revocations_file.empty()) {
    return absl::InvalidArgumentError(
        "--revocations is needed: the list of revoked certificates, OUT/revoked.crl.pem of the authority (blink "
        "provision crl makes it)");
  }
  if (flags.insecure && !options.revocations_file.empty()) {
    return absl::InvalidArgumentError("--insecure and --revocations exclude each other");
  }
  if (flags.insecure && !options.server.balancers.empty()) {
    return absl::InvalidArgumentError("--insecure and --proxy-protocol-from exclude each other");
  }
  if (const absl::Status sound = ParseAddress(options.server.listen, AddressUse::kListen).status(); !sound.ok()) {
    return Reworded(sound, absl::StrCat("--listen: ", sound.message()));
  }
  for (const auto& [flag, address] :
       {std::pair("--http-listen", options.http_listen), std::pair("--web-listen", options.web_listen)}) {
    const absl::Status sound = address.empty() ? absl::OkStatus() : ParseAddress(address, AddressUse::kListen).status();
    if (!sound.ok()) return Reworded(sound, absl::StrCat(flag, ": ", sound.message()));
  }
  if (all_tls) options.server.tls = flags.tls;
  options.server.health_socket = HealthSocketIn(options.data_folder);
  if (options.worker_path.empty()) {
    BLINK_ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
    options.worker_path = folder + "/blink-worker";
  }
  if (::access(options.worker_path.c_str(), X_OK) != 0) {
    return FileError(errno, "run the worker (--worker)", options.worker_path);
  }
  BLINK_RETURN_IF_ERROR(ReadStore(flags));
  BLINK_ASSIGN_OR_RETURN(options.data_keys, flags.data_key.Read());
  if (!flags.retain_reports.empty()) {
    BLINK_ASSIGN_OR_RETURN(options.retain_reports,
                           ParsePositiveDuration("--retain-reports", flags.retain_reports, absl::Seconds(1)));
    if (options.retain_reports == absl::ZeroDuration()) {
      return absl::InvalidArgumentError(
          "--retain-reports: with 0 the reports of every round would be deleted at once: leave it out to keep them");
    }
  }
  BLINK_RETURN_IF_ERROR(ReadRoster(flags.roster, options.deployment));
  if (flags.worker_silence_max > 0) options.worker_limits.silence = absl::Seconds(flags.worker_silence_max);
  if (flags.worker_seconds_max > 0) options.worker_limits.wall_time = absl::Seconds(flags.worker_seconds_max);
  return absl::OkStatus();
}
}  // namespace blink
