#include "aggregator_server/main/doctor.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/http/http_server.h"
#include "aggregator_server/main/attribute_facts.h"
#include "aggregator_server/main/data_folder.h"
#include "aggregator_server/rounds/worker_process.h"
#include "aggregator_server/select/memory_need.h"
#include "aggregator_server/store/store_look.h"
#include "aggregator_server/transport/acceptor.h"
#include "aggregator_server/transport/connection_ledger.h"
#include "aggregator_server/transport/health.h"
#include "common/base/descriptor_lock.h"
#include "common/base/durable_file.h"
#include "common/base/machine_memory.h"
#include "common/base/time_text.h"
#include "common/doctor/checks.h"
#include "common/doctor/tls_checks.h"
#include "common/privacy/parameters.h"
#include "common/wire/degree_share.h"
#include "common/wire/report_codec.h"
#include "common/wire/roster.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

class Doctor {
 public:
  Doctor(const AggregatorOptions& options, const DoctorOptions& doctor, Diagnosis& diagnosis)
      : options_(options), doctor_(doctor), diagnosis_(diagnosis), now_(options.certificate_clock->Now()) {}

  void Look() {
    LookAtTls();
    LookAtAttributes();
    const bool is_folder = LookAtFolder("data", options_.data_folder, diagnosis_);
    if (is_folder) LookAtMode("data", options_.data_folder, diagnosis_);
    if (is_folder) LookAtFiles();
    if (doctor_.is_complete) LookAtTheRest();
    for (const std::string& path : doctor_.private_files) LookAtMode("key", path, diagnosis_);
    LookWhetherItRuns();
    LookAtPorts();
    LookAtDescriptors();
    if (doctor_.is_store_known && is_folder) LookAtStore();
    LookAtNeeds();
    LookAtWorker();
    LookAtClocks();
  }

 private:
  void LookAtTls() {
    if (!options_.server.tls.has_value()) {
      diagnosis_.NotLooked("certificate", "", "there is no TLS (--insecure)");
      return;
    }
    const TlsFiles& files = *options_.server.tls;
    const std::optional<OwnCertificate> own = LookAtTlsFiles(
        files, ServerTls::Check(files, options_.deployment.name, *options_.certificate_clock), now_, diagnosis_);
    LookAtHostNames(own);
    LookAtRevocations(options_.revocations_file, files.ca,
                      Revocations::Load({.path = options_.revocations_file,
                                         .ca_path = files.ca,
                                         .memory_path = absl::StrCat(options_.data_folder, "/revoked.crl.pem"),
                                         .refuse_when_outdated = options_.refuse_when_outdated,
                                         .only_check = true},
                                        *options_.certificate_clock)
                          .status(),
                      own, now_, diagnosis_);
  }

  // blink's own clients go by the URI in the certificate. Others check a name of DNS.
  void LookAtHostNames(const std::optional<OwnCertificate>& own) {
    if (!own.has_value() || !own->identity.has_value()) return;
    const std::string name = own->identity->DnsName();
    const std::vector<std::string>& names = own->info.host_names;
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
    diagnosis_.Warn(
        "certificate", options_.server.tls->certificate,
        absl::StrCat("does not carry the name ", name, ", which clients other than blink's check (docs/PROTOCOL.md)"),
        "have it signed with blink provision sign, which adds the name");
  }

  void LookAtAttributes() {
    if (options_.deployment.node_count == 0) return;  // the roster cannot be read
    absl::StatusOr<TrainingFacts> facts =
        AttributeFacts(options_.attributes_folder, options_.deployment.node_count).Get();
    const std::string subject = options_.attributes_folder.empty() ? "--attributes" : options_.attributes_folder;
    if (!diagnosis_.Judge("attributes", subject, facts.status(),
                          options_.attributes_folder.empty() ? "is not given: rounds give links and degrees alone"
                                                             : "can be read, and has the roster's number of nodes")) {
      return;
    }
    facts_ = *facts;
  }

  // What a command of another user may have left in the data folder.
  void LookAtFiles() {
    const absl::Status rounds = CheckRoundsCanBeWritten(options_.data_folder);
    if (!rounds.ok()) diagnosis_.Error("data", options_.data_folder, rounds);
    const auto look = [&](const std::string& path, int wanted, bool is_needed) {
      struct stat info {};
      if (::stat(path.c_str(), &info) != 0) return;
      const bool is_file = S_ISREG(info.st_mode);
      if (is_file && ::access(path.c_str(), wanted) == 0) return;
      const absl::Status why =
          is_file ? FileError(errno, "open", path) : absl::FailedPreconditionError(absl::StrCat(path, " is no file"));
      if (is_needed) {
        diagnosis_.Error("data", options_.data_folder, why);
      } else {
        diagnosis_.Warn("data", options_.data_folder, why.message());
      }
    };
    const std::string audit_log = options_.audit_log.empty() ? options_.data_folder + "/audit.log" : options_.audit_log;
    look(audit_log, R_OK | W_OK, true);
    const std::string folder = std::filesystem::absolute(audit_log).parent_path().string();
    if (std::error_code error; !options_.audit_log.empty() && !std::filesystem::is_directory(folder, error)) {
      diagnosis_.Error("data", audit_log, absl::StrCat(folder, " is no folder"), ExitCode::kBadInput);
    }
    for (const char* name : {"/aggregator.lock", "/store/store.lock", "/store/LOCK"}) {
      look(options_.data_folder + name, R_OK | W_OK, true);
    }
    look(options_.data_folder + "/store/acknowledged", R_OK | W_OK, false);
    const std::string store = options_.data_folder + "/store";
    std::error_code error;
    if (std::filesystem::is_directory(store, error) && ::access(store.c_str(), R_OK | W_OK | X_OK) != 0) {
      diagnosis_.Error("data", options_.data_folder, FileError(errno, "write to", store));
    }
  }

  // Whatever a start checks besides: the name of the deployment, the roster and those before it.
  void LookAtTheRest() {
    const absl::Status start = Aggregator::Check(options_);
    const auto is_told = [&](const Finding& finding) {
      return finding.severity == Severity::kError && finding.text == start.message();
    };
    const std::vector<Finding>& told = diagnosis_.findings();
    if (std::any_of(told.begin(), told.end(), is_told)) return;
    const bool has_errors = diagnosis_.Count(Severity::kError) > 0;  // a start ends at the first
    if (!start.ok() || !has_errors) {
      diagnosis_.Judge(
          "configuration", "", start,
          absl::StrCat("is good: deployment ", options_.deployment.name, " with ", options_.deployment.node_count,
                       " nodes, roster version ", options_.deployment.roster_version));
    }
  }

  void LookWhetherItRuns() {
    const std::string socket = HealthSocketIn(options_.data_folder);
    is_running_ = IsLocked(options_.data_folder + "/aggregator.lock");
    if (!is_running_) {
      diagnosis_.Ok("running", options_.data_folder, "no aggregator runs on this data folder");
      return;
    }
    diagnosis_.Judge("running", options_.data_folder, CheckHealth(socket, absl::Seconds(3)),
                     "an aggregator runs on this data folder, and serves");
  }

  // Binds what a start binds, and lets go of it at once.
  void LookAtPorts() {
    const auto words = [](const char* flag, const absl::Status& status) {
      return status.ok() ? status : Reworded(status, absl::StrCat(flag, ": ", status.message()));
    };
    std::vector<std::shared_ptr<void>> listening;  // all at once, as a start does
    for (const auto& [flag, address] :
         {std::pair("--listen", options_.server.listen), std::pair("--http-listen", options_.http_listen),
          std::pair("--web-listen", options_.web_listen)}) {
      if (address.empty()) continue;
      if (is_running_) {
        diagnosis_.NotLooked("port", address, "the aggregator that runs here may have it");
        continue;
      }
      absl::Status bound;
      if (std::string(flag) == "--listen") {
        auto acceptor = Acceptor::Listen(address, options_.server.balancers);
        bound = acceptor.status();
        if (acceptor.ok()) listening.push_back(std::shared_ptr<Acceptor>(*std::move(acceptor)));
      } else {
        auto server = HttpServer::Listen(address, HttpLimits());
        bound = words(flag, server.status());
        if (server.ok()) listening.push_back(std::shared_ptr<HttpServer>(*std::move(server)));
      }
      diagnosis_.Judge("port", address, bound, absl::StrCat(flag, " can be bound"));
    }
    if (options_.server.tls.has_value()) return;
    diagnosis_.Judge("port", options_.server.listen, RequireLoopback(options_.server.listen),
                     "is of this machine alone, as --insecure wants");
  }

  void LookAtDescriptors() {
    constexpr int kWanted = 500;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const std::string subject = absl::StrCat(limit.rlim_max, " open files");
    const absl::StatusOr<ConnectionLimits> limits = ConnectionLimits::ForDescriptors(
        static_cast<int64_t>(std::min<rlim_t>(limit.rlim_max, std::numeric_limits<int>::max())));
    if (!limits.ok()) {
      diagnosis_.Error("descriptors", subject, limits.status());
      return;
    }
    const std::string text =
        absl::StrCat("are the limit here, and leave room for ", limits->open, " connections at once");
    const int wanted = static_cast<int>(std::min<uint32_t>(options_.deployment.node_count, kWanted));
    if (limits->open < wanted) {
      diagnosis_.Warn("descriptors", subject,
                      absl::StrCat(text, "; the roster has ", options_.deployment.node_count, " nodes"),
                      "ulimit -n 65536, or LimitNOFILE=65536 in the unit");
    } else {
      diagnosis_.Ok("descriptors", subject, text);
    }
  }

  void LookAtStore() {
    if (options_.store.has_value()) {
      LookAtPostgres();
      return;
    }
    const std::string folder = options_.data_folder + "/store";
    if (is_running_) {
      diagnosis_.NotLooked("store", folder, "the aggregator that runs here has it open");
      return;
    }
    if (const absl::Status there = CheckStoreIsThere(options_.data_folder, /*accept_loss=*/false); !there.ok()) {
      diagnosis_.Error("store", folder, there);
      return;
    }
    const absl::StatusOr<RocksDbLook> look = LookAtRocksDbStore(folder);
    if (absl::IsNotFound(look.status())) {
      diagnosis_.Ok("store", folder, "does not exist yet: the first start makes it");
      return;
    }
    if (!look.ok()) {
      diagnosis_.Error("store", folder, look.status());
      return;
    }
    const std::vector<v1::Round>& rounds = look->rounds;
    const auto unfinished =
        std::count_if(rounds.begin(), rounds.end(), [](const v1::Round& round) { return !IsTerminal(round.state()); });
    diagnosis_.Ok(
        "store", folder,
        absl::StrCat("can be read, and has ", rounds.size(), " rounds, of which ", unfinished, " have not ended"));
    LookAtDataKeys(folder, look->wrapped_keys);
    const Deployment& deployment = options_.deployment;
    const absl::StatusOr<Roster> roster =
        Roster::Create(deployment.name, deployment.roster_version, deployment.node_count, deployment.retired);
    const absl::Status fit = roster.ok() ? CheckRounds(rounds, *roster, options_.data_folder) : absl::OkStatus();
    if (!fit.ok()) diagnosis_.Error("store", folder, fit);
    for (const v1::Round& round : rounds) {
      newest_round_ = std::max(newest_round_, absl::FromUnixMillis(round.created_ms()));
    }
  }

  void LookAtDataKeys(const std::string& store, const std::map<std::string, std::string>& wrapped_keys) {
    if (wrapped_keys.empty()) return;
    diagnosis_.Judge("data key", store, CheckDataKeys(options_.data_keys, wrapped_keys),
                     absl::StrCat("the keys of its ", wrapped_keys.size(), " encrypted rounds can be opened"));
  }

  void LookAtPostgres() {
    const std::string& shown = options_.store->shown();
    if (const absl::Status none = CheckNoStoreIsThere(options_.data_folder); !none.ok()) {
      diagnosis_.Error("store", shown, none);
    }
    const absl::StatusOr<PostgresLook> look = LookAtPostgresStore(*options_.store);
    if (!look.ok()) {
      diagnosis_.Error("store", shown, look.status());
      return;
    }
    diagnosis_.Ok("store", shown,
                  absl::StrCat("answers, with version ", look->server,
                               look->version == 0 ? "; the first start makes blink's tables"
                                                  : absl::StrCat("; blink's tables have version ", look->version,
                                                                 ", and this program's ", look->version_here)));
    diagnosis_.Ok("lease", shown,
                  look->holder.empty() ? "nobody has the lease now: the next aggregator that starts takes it"
                                       : absl::StrCat(look->holder, " has the lease now"));
    LookAtDataKeys(shown, look->wrapped_keys);
  }

  // What a round of this roster takes of the disk and of the memory, with the defaults of `blink round create`.
  void LookAtNeeds() {
    const uint32_t n = options_.deployment.node_count;
    const absl::StatusOr<PrivacyParameters> parameters =
        PrivacyParameters::Create(doctor_.epsilon_micro, DefaultDegreeSharePpm(doctor_.epsilon_micro, Prior::kBeta), n);
    if (!parameters.ok()) return;
    const std::string what = absl::StrCat("a round of epsilon ", parameters->epsilon(), " with ", n, " reports");
    // A report lies in the store and in the round's folder. The store is compacted now and then, beside itself.
    constexpr double kRecordBytes = 128, kReserve = 64 << 20, kResultBytesOfNode = 4096;
    const double report = kRecordBytes + EntropyBytes(n, static_cast<uint32_t>(n * parameters->flip_probability()));
    const double copies = options_.store.has_value() ? 1 : 3;
    LookAtDisk(options_.data_folder, kReserve + n * (copies * report + kResultBytesOfNode), what, diagnosis_);
    if (facts_.has_value()) LookAtMemory(*parameters, what);
  }

  void LookAtMemory(const PrivacyParameters& parameters, const std::string& what) {
    v1::TrainingSpec given;
    if (!facts_->has_labels_to_train()) given.set_model(v1::MODEL_NONE);
    const absl::StatusOr<v1::TrainingSpec> spec = NormalizeTrainingSpec(std::move(given));
    if (!spec.ok()) return;
    MachineMemory memory = FindMachineMemory();
    if (const uint64_t limit = options_.worker_limits.memory_bytes; limit > 0 && limit < memory.total) {
      memory.total = limit;
      memory.total_of = "--worker-memory-bytes";
    }
    const MemoryNeed need = EstimateMemoryNeed(
        *spec, SizeOf(*facts_),
        ReportsInMemory::Of(&parameters, v1::IMPLAUSIBLE_FLAG, options_.worker_limits.memory_bytes == 0));
    const absl::Status fits = CheckMemory(need, memory.total, memory.total_of);
    if (!fits.ok()) {
      const std::string text = absl::StrCat("no worker could finish this round: ", fits.message());
      if (options_.ignore_memory) {
        diagnosis_.Warn("memory", what, text);
      } else {
        diagnosis_.Error("memory", what, text, ExitCode::kNoResources);
      }
      return;
    }
    const std::string text = absl::StrCat("needs ", DescribeMemoryNeed(need), "; ", memory.total_of, " has ",
                                          FormatBytes(static_cast<double>(memory.total)));
    if (need.bytes() > static_cast<double>(memory.available)) {
      diagnosis_.Warn(
          "memory", what,
          absl::StrCat(text, ", of which ", FormatBytes(static_cast<double>(memory.available)), " are free now"),
          "end what else uses the memory before the round is sealed");
    } else {
      diagnosis_.Ok("memory", what, text);
    }
  }

  void LookAtWorker() {
    if (options_.worker_path.empty() || ::access(options_.worker_path.c_str(), X_OK) != 0) return;  // told already
    LookAtProgram(options_.worker_path, diagnosis_);
    WorkerLimits limits = options_.worker_limits;
    limits.wall_time = absl::Seconds(60);
    const absl::StatusOr<WorkerExit> exit = RunWorker(
        {options_.worker_path, "--gpus"}, limits, [](const WorkerProgress&) {}, [] { return false; });
    if (!exit.ok()) {
      diagnosis_.Error("worker", options_.worker_path, exit.status());
    } else if (exit->kind == WorkerExit::Kind::kError) {
      diagnosis_.Error("worker", options_.worker_path,
                       absl::StrCat("no round can be trained, the worker does not start: ", exit->message),
                       ExitCode::kBadInput);
    } else if (!exit->gpus.has_value()) {
      diagnosis_.NotLooked("gpu", options_.worker_path,
                           absl::StrCat("the worker did not say which GPUs it has: ", exit->message));
    } else {
      const bool has_gpu = exit->gpus->count > 0;
      diagnosis_.Ok("gpu", options_.worker_path,
                    has_gpu ? absl::StrCat("the worker sees ", exit->gpus->count, " GPUs")
                            : absl::StrCat("the worker trains on the CPU: ", exit->gpus->why_none));
    }
  }

  void LookAtClocks() {
    std::vector<std::string> files = doctor_.files;
    if (options_.server.tls.has_value()) {
      const TlsFiles& tls = *options_.server.tls;
      files.insert(files.end(), {tls.certificate, tls.key, tls.ca, options_.revocations_file});
    }
    for (const char* name : {"", "/audit.log", "/aggregator.lock", "/store/acknowledged", "/revoked.crl.pem"}) {
      files.push_back(options_.data_folder + name);
    }
    LookAtClock(files, now_, diagnosis_);
    if (newest_round_ <= now_) return;
    diagnosis_.Warn("clock", options_.data_folder + "/store",
                    absl::StrCat("has a round that was made on ", TimeText(newest_round_),
                                 ", and this machine's clock says ", TimeText(now_)),
                    "timedatectl status; then set the clock");
  }

  const AggregatorOptions& options_;
  const DoctorOptions& doctor_;
  Diagnosis& diagnosis_;
  const absl::Time now_;
  bool is_running_ = false;
  std::optional<TrainingFacts> facts_;
  absl::Time newest_round_ = absl::InfinitePast();
};

}  // namespace

void DiagnoseAggregator(const AggregatorOptions& options, const DoctorOptions& doctor, Diagnosis& diagnosis) {
  Doctor(options, doctor, diagnosis).Look();
}

}  // namespace blink
