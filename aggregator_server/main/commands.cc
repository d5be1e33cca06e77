#include "aggregator_server/main/commands.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "aggregator_server/backup/backup.h"
#include "aggregator_server/backup/snapshot_folder.h"
#include "aggregator_server/service/admin_client.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/clock.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "common/cli/help.h"
#include "common/cli/progress.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/terminal.h"

namespace blink {
namespace {

constexpr char kProgram[] = "blink-aggregator";

int Finish(const absl::Status& status) {
  if (status.ok()) return static_cast<int>(ExitCode::kOk);
  std::fprintf(stderr, "%s: %s\n", kProgram, ShownText(status.message()).c_str());
  return static_cast<int>(ExitCodeFor(status));
}

// Shows a bar of files.
class FileBar {
 public:
  explicit FileBar(bool enabled) : enabled_(enabled) {}
  BackupProgress Callback() {
    return [this](uint64_t done, uint64_t total) {
      if (bar_ == nullptr) bar_ = std::make_unique<ProgressBar>("files", total, enabled_);
      bar_->Update(done);
    };
  }

 private:
  const bool enabled_;
  std::unique_ptr<ProgressBar> bar_;
};

void Print(const char* what, const BackupSummary& summary) {
  std::printf("%s: the store and %llu rounds as of %s, %llu files, %llu bytes. SHA-256 of its list: %s\n", what,
              static_cast<unsigned long long>(summary.rounds), TimeText(summary.made).c_str(),
              static_cast<unsigned long long>(summary.files), static_cast<unsigned long long>(summary.bytes),
              summary.digest.c_str());
}

// From the aggregator that runs on the folder, or else by this process.
absl::StatusOr<Snapshot> TakeSnapshot(const std::string& data_folder) {
  absl::StatusOr<Snapshot> snapshot = AskForSnapshot(data_folder);
  if (!absl::IsUnavailable(snapshot.status())) return snapshot;
  // OpenRocksDbStore would make what is not there.
  if (std::error_code error; !std::filesystem::exists(data_folder + "/store/CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat(data_folder, " has no store: is it an aggregator's data folder?"));
  }
  const absl::StatusOr<std::unique_ptr<ReportStore>> store = OpenRocksDbStore(data_folder + "/store", {});
  if (absl::IsAborted(store.status())) return snapshot;  // somebody runs, and does not answer
  BLINK_RETURN_IF_ERROR(store.status());
  RemoveOldSnapshots(data_folder);
  snapshot = Snapshot();
  BLINK_ASSIGN_OR_RETURN(snapshot->folder, NewSnapshotFolder(data_folder));
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, (*store)->ListRounds());
  for (const v1::Round& round : rounds) {
    if (round.state() != v1::ROUND_STATE_OPEN) snapshot->round_ids.push_back(round.round_id());
  }
  BLINK_RETURN_IF_ERROR((*store)->MakeSnapshot(snapshot->folder));
  return snapshot;
}

struct BackupFlags {
  std::string data, backup;
  bool quiet = false, undo = false;
};

absl::Status Backup(const BackupFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(Snapshot snapshot, TakeSnapshot(flags.data));
  const HeldSnapshot held(snapshot.folder);
  FileBar bar(!flags.quiet);
  BLINK_ASSIGN_OR_RETURN(const BackupSummary summary, MakeBackup({.data_folder = flags.data,
                                                                  .store_snapshot = snapshot.folder,
                                                                  .round_ids = std::move(snapshot.round_ids)},
                                                                 flags.backup, SystemClock().Now(), bar.Callback()));
  Print(absl::StrCat("Made ", flags.backup).c_str(), summary);
  return absl::OkStatus();
}

absl::Status Verify(const BackupFlags& flags) {
  FileBar bar(!flags.quiet);
  BLINK_ASSIGN_OR_RETURN(const BackupSummary summary, VerifyBackup(flags.backup, bar.Callback()));
  Print("The backup is whole", summary);
  return absl::OkStatus();
}

absl::Status Restore(const BackupFlags& flags) {
  FileBar bar(!flags.quiet);
  BLINK_ASSIGN_OR_RETURN(const BackupSummary summary, RestoreBackup(flags.backup, flags.data, bar.Callback()));
  Print(absl::StrCat("Restored to ", flags.data).c_str(), summary);
  return absl::OkStatus();
}

absl::Status Drain(const BackupFlags& flags) {
  while (true) {
    BLINK_ASSIGN_OR_RETURN(const DrainState state, AskToDrain(flags.data, flags.undo));
    if (flags.undo) {
      std::printf("It serves again.\n");
      return absl::OkStatus();
    }
    if (state.reports_in_flight == 0) {
      std::printf("It takes no new report or round, and every report is answered. %s\n",
                  state.worker_runs ? "A worker runs: a stop ends it, and the next start goes on from its checkpoint."
                                    : "No worker runs.");
      return absl::OkStatus();
    }
    SystemClock().SleepFor(absl::Milliseconds(200));
  }
}

struct Command {
  const char* name;
  const char* what;
  absl::Status (*run)(const BackupFlags&);
  std::vector<const char*> examples;
};

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      {"backup",
       "Copies a data folder as of one moment, also while an aggregator runs on it (then as its user or root).",
       &Backup,
       {"blink-aggregator backup --data data --output /mnt/backups/2026-11-30",
        "blink-aggregator backup --data data --output backup --quiet"}},
      {"verify-backup",
       "Reads a whole backup and compares it with its list.",
       &Verify,
       {"blink-aggregator verify-backup backup", "blink-aggregator verify-backup /mnt/backups/2026-11-30 --quiet"}},
      {"restore",
       "Makes a data folder from a backup, verifying it.",
       &Restore,
       {"blink-aggregator restore backup --data data", "blink-aggregator restore /mnt/backups/2026-11-30 --data data"}},
      {"drain",
       "Lets a running aggregator finish: no new report or round is taken, and health checks say that it does not "
       "serve. Returns when every report is answered; then stop it.",
       &Drain,
       {"blink-aggregator drain --data data", "blink-aggregator drain --data data --undo"}},
  };
  return *commands;
}

void DefineFlags(CLI::App& app, const std::string& name, BackupFlags& flags) {
  if (name == "verify-backup" || name == "restore") {
    app.add_option("backup", flags.backup, "folder of the backup")->required();
  }
  if (name != "verify-backup") {
    const char* const what =
        name == "restore" ? "data folder to make; must not exist, or be empty" : "data folder of the aggregator";
    app.add_option("--data", flags.data, what)->required();
  }
  if (name == "backup") app.add_option("--output", flags.backup, "folder to make; must not exist")->required();
  if (name == "drain") {
    app.add_flag("--undo", flags.undo, "serve again");
  } else {
    app.add_flag("--quiet", flags.quiet, "show no progress");
  }
}

}  // namespace

std::optional<int> RunCommand(int argc, char** argv) {
  const auto command = std::find_if(Commands().begin(), Commands().end(), [&](const Command& known) {
    return argc > 1 && argv[1] == std::string(known.name);
  });
  if (command == Commands().end()) return std::nullopt;
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(command->what, absl::StrCat(kProgram, " ", command->name));
  BackupFlags flags;
  DefineFlags(app, command->name, flags);
  app.footer(ExitCodeTable());
  const std::vector<CommandExamples> examples = {{"", command->examples}};
  AddExamples(app, examples);
  try {
    ParseStrictly(app, argc - 1, argv + 1);
  } catch (const CLI::ParseError& error) {
    return EndOfParsing(app, error, kProgram);
  }
  if (const absl::Status logging = InitLogging(kProgram, "warning"); !logging.ok()) return Finish(logging);
  return Finish(command->run(flags));
}

}  // namespace blink
