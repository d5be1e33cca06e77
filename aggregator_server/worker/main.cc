// blink-worker: estimates the links of one sealed round and trains on them. It is a process of its own, so that its
// death and its memory never harm collection.
//
// It reads a round folder and the attribute folder, and writes the result folder (result_place.h). It may be ended at
// any moment, by SIGTERM or SIGKILL, and started again. Its training then goes on from the last checkpoint in
// OUTPUT.checkpoint and comes to the same bits. Without a checkpoint, or with one of other inputs, it begins anew. The
// checkpoint is removed when the result is there. At SIGTERM or SIGINT a training ends after its epoch, with a
// checkpoint; everything else ends at once, and so does a training at a second signal.
//
// Standard output is for the aggregator: one JSON object a line, which is progress or, at the end, an error. The log
// goes to standard error. If standard output is a terminal, a person started it: it then shows a bar, the figures at
// the end, and errors in words.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/result/group_result.h"
#include "aggregator_server/result/result_folder.h"
#include "aggregator_server/result/result_place.h"
#include "aggregator_server/train/checkpoint.h"
#include "aggregator_server/train/gpus.h"
#include "aggregator_server/worker/analyse.h"
#include "aggregator_server/worker/analyse_groups.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/program.h"
#include "common/base/sealed.h"
#include "common/base/status_macros.h"
#include "common/base/stop_request.h"
#include "common/cli/help.h"
#include "common/cli/progress.h"
#include "common/cli/result_files.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/cli/training_flags.h"
#include "common/graph/dataset.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

struct WorkerOptions {
  std::string round_folder;
  std::string attributes;
  std::string output;
  int threads = 0;
  double checkpoint_every_s = 20;
  bool ignore_memory = false;
  v1::TrainingSpec training;     // what is set here goes before round.json
  std::optional<uint64_t> seed;  // likewise
  std::optional<SecretKey> key;  // of an encrypted round
};

const SecretKey* KeyOf(const WorkerOptions& options) { return options.key ? &*options.key : nullptr; }

// From a descriptor that the aggregator has left open: neither the command line nor the environment shows it.
absl::StatusOr<SecretKey> ReadKey(int descriptor) {
  std::string bytes(SecretKey::kBytes + 1, '\0');
  size_t got = 0;
  ssize_t more = 0;
  while (got < bytes.size() && (more = ::read(descriptor, bytes.data() + got, bytes.size() - got)) != 0) {
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) break;
    got += more;
  }
  ::close(descriptor);
  const bool is_one = got == SecretKey::kBytes && more == 0;
  const absl::StatusOr<SecretKey> key = SecretKey::FromBytes(absl::string_view(bytes).substr(0, is_one ? got : 0));
  Cleanse(bytes);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat("--reports-key-fd: descriptor ", descriptor,
                                                 " gives no key of 32 bytes: leave it to the aggregator"));
}

// What could not be written, stdio remembers until the end (EndProgram).
void PrintLine(const nlohmann::ordered_json& json) {
  const std::string line = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

bool IsForAPerson() { return ::isatty(STDOUT_FILENO) == 1; }

const char* NameOf(Stage stage) { return stage == Stage::kEstimating ? "estimating" : "training"; }

struct Figure {
  const char* name;
  double value = 0;
  std::string of;  // in parentheses behind it
};
using Figures = std::vector<Figure>;

Figures FiguresOf(const TrainResult& training, const std::optional<Tried>& features_only) {
  Figures figures = {{"validation accuracy", training.validation_accuracy}};
  if (features_only) {
    figures.push_back(
        {"  of features alone", features_only->validation_accuracy, CandidateName(features_only->candidate)});
  }
  figures.push_back({"test accuracy", training.test_accuracy});
  figures.push_back({"test macro-F1", training.test.macro_f1});
  figures.push_back({"test ROC-AUC", training.test.roc_auc});
  return figures;
}

void PrintFigures(const Figures& figures, const std::string& folder) {
  for (const auto& [name, value, of] : figures) {
    std::printf("%s", absl::StrFormat("%-24s %.6g%s\n", name, value, of.empty() ? "" : " (" + of + ")").c_str());
  }
  std::printf("%-24s %s/metrics.json\n", "all figures", folder.c_str());
}

// For the aggregator: at most ten lines a second, and always the first of a stage.
class ProgressPrinter {
 public:
  void Print(Stage stage, double fraction, const std::string& text) {
    const bool is_new_stage = stage != stage_;
    stage_ = stage;
    if (!limit_.LetThrough(/*is_due=*/is_new_stage, absl::Now())) return;
    PrintLine({{"stage", NameOf(stage)}, {"progress", fraction}, {"text", text}});
  }

 private:
  std::optional<Stage> stage_;
  UpdateLimit limit_{absl::Milliseconds(100)};
};

std::atomic<bool> is_training = false;  // and hears of a request to stop

void EndBy(int signal) {
  if (::getpid() == 1) ::_exit(128 + signal);  // of a container: no signal kills it
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void HandleStop(int signal) {
  if (!is_training || IsStopRequested()) EndBy(signal);  // once this handler has returned
  stop_signal = signal;
}

// What the flags say, over what the round says; normalised.
absl::StatusOr<v1::TrainingSpec> MakeSpec(const WorkerOptions& options, const v1::Round& round) {
  v1::TrainingSpec spec = OverrideTrainingSpec(round.training(), options.training);
  if (options.seed) spec.set_seed(*options.seed);
  return NormalizeTrainingSpec(std::move(spec));
}

// For the aggregator, which links no LibTorch: a round that wants a GPU is refused where there is none.
int PrintGpus() {
  const Gpus gpus = FindGpus();
  PrintLine({{"gpus", gpus.count}, {"why_none", gpus.why_none}});
  return 0;
}

// Rows that lie on the disk as they are, and count as address space all the same.
bool KeepsRowsOnDisk(const WorkerOptions& options) {
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return KeyOf(options) == nullptr && !is_limited;
}

// The reports are spent already, so what others hold at the moment is no reason to refuse.
absl::Status CheckMemoryHere(const WorkerOptions& options, const v1::TrainingSpec& spec,
                             const NodeAttributes& attributes, const PrivacyParameters& parameters,
                             v1::Implausible implausible) {
  const MachineMemory memory = FindMachineMemory();
  const MemoryNeed need =
      NeedOfAnalysis(spec, attributes, &parameters, implausible, /*links=*/0, KeepsRowsOnDisk(options));
  const bool is_one = std::string(memory.total_of) == memory.available_of;
  spdlog::info("this needs {}; {} has {}, {} {} free", DescribeMemoryNeed(need), memory.total_of,
               FormatBytes(static_cast<double>(memory.total)),
               is_one ? "of which" : absl::StrCat("and ", memory.available_of, " has"),
               FormatBytes(static_cast<double>(memory.available)));
  return options.ignore_memory ? absl::OkStatus() : CheckMemory(need, memory.total, memory.total_of);
}

// What a worker knows before it reads the reports.
struct Job {
  v1::Round round;
  PrivacyParameters parameters;
  NodeAttributes attributes;
  v1::TrainingSpec spec;
  AnalysisOptions options;
  ReportOrigin origin = ReportOrigin::kRound;
};

absl::StatusOr<Job> PrepareJob(const WorkerOptions& options, const std::string& result_folder) {
  // First: a folder that holds links ends the work before the reports are read.
  NodeAttributes attributes;
  if (!options.attributes.empty()) {
    BLINK_ASSIGN_OR_RETURN(attributes, ReadAttributes(options.attributes));
  }
  BLINK_ASSIGN_OR_RETURN(v1::Round round, ReadRound(options.round_folder));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  const uint32_t n = parameters.node_count();
  if (options.attributes.empty()) attributes = NodeAttributes::OfNothing(n);
  if (parameters.sends_group_degrees() && options.training.variant() != v1::VARIANT_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "--variant: links are drawn from the answers about groups, and no pair has a posterior: leave it out");
  }
  BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec spec, MakeSpec(options, round));
  BLINK_RETURN_IF_ERROR(CheckMemoryHere(options, spec, attributes, parameters, round.implausible()));
  Job job{std::move(round), parameters, std::move(attributes), std::move(spec)};
  const std::filesystem::path attributes_folder = std::filesystem::path(options.attributes).lexically_normal();
  job.options.dataset_name =
      (attributes_folder.has_filename() ? attributes_folder : attributes_folder.parent_path()).filename().string();
  job.options.checkpoint_folder = result_folder + ".checkpoint";
  job.options.checkpoint_every_s = options.checkpoint_every_s;
  job.options.threads = options.threads;
  job.options.implausible = job.round.implausible();
  job.options.degree_max = job.round.degree_max();
  job.options.tie_seed = TieSeedOfRound(job.round.round_id());
  const bool is_rounds_own = !options.seed && options.training.ByteSizeLong() == 0;
  job.origin = is_rounds_own ? ReportOrigin::kRound : ReportOrigin::kReplay;
  return job;
}

// A round that began before the roster grew is about its first nodes alone.
absl::Status KeepNodesOfRound(Job& job) {
  const uint32_t n = job.parameters.node_count();
  if (job.attributes.node_count <= n) return absl::OkStatus();
  BLINK_ASSIGN_OR_RETURN(job.attributes, KeepFirstNodes(std::move(job.attributes), n));
  return absl::OkStatus();
}

std::string ReadingText(double fraction) {
  return absl::StrCat("reading the reports: ", static_cast<int>(100 * fraction), " %");
}

// Both write into `folder`, and say what a person is shown of it (`show`).
absl::Status AnalyseReports(const WorkerOptions& options, Job& job, const std::string& folder, Figures& show) {
  // What can never be trained is refused before the reports are read, which may take minutes.
  BLINK_RETURN_IF_ERROR(KeepNodesOfRound(job));
  BLINK_RETURN_IF_ERROR(CheckNodes(job.parameters.node_count(), job.attributes));
  const double flip_probability = job.parameters.sends_bits() ? job.parameters.flip_probability() : 0;
  BLINK_RETURN_IF_ERROR(CheckTrainableHere(job.spec, job.attributes, /*estimated=*/true, flip_probability));
  ReadingOptions reading{.key = KeyOf(options), .threads = options.threads};
  if (KeepsRowsOnDisk(options)) {
    reading.place.scratch_folder = std::filesystem::absolute(folder).lexically_normal().parent_path().string();
  }
  reading.progress = [&](double fraction) { job.options.progress(Stage::kEstimating, 0, ReadingText(fraction)); };
  BLINK_ASSIGN_OR_RETURN(const RoundFolder read, ReadRoundFolder(options.round_folder, reading));
  BLINK_ASSIGN_OR_RETURN(const Analysis analysis, Analyse(read.reports, job.attributes, job.spec, job.options));
  is_training = false;
  if (analysis.has_model()) {
    show = FiguresOf(analysis.training, analysis.features_only);
  } else {
    show = {{"expected links", analysis.estimates.BestGuess().expected_links}};
  }
  return WriteResultFolder(folder, job.parameters, read.reports.report_count(), analysis, job.attributes, job.origin,
                           job.round.active_nodes());
}

absl::Status AnalyseAnswers(const WorkerOptions& options, Job& job, const std::string& folder, Figures& show) {
  BLINK_ASSIGN_OR_RETURN(GroupAnswers read, ReadGroupAnswers(options.round_folder, KeyOf(options)));
  BLINK_RETURN_IF_ERROR(KeepNodesOfRound(job));
  const uint32_t reports = read.reports;
  BLINK_ASSIGN_OR_RETURN(const GroupAnalysis analysis,
                         AnalyseGroups(std::move(read), job.attributes, job.spec, job.options));
  is_training = false;
  if (analysis.next) show = {{"groups", static_cast<double>(analysis.next->groups.count)}};
  if (analysis.links) show = {{"links drawn", static_cast<double>(analysis.links->links.neighbours().size())}};
  if (analysis.trained) show = FiguresOf(analysis.training, analysis.features_only);
  return WriteGroupResult(folder, job.parameters, reports, analysis, job.attributes, job.origin,
                          job.round.active_nodes());
}

absl::Status RunRound(const WorkerOptions& options) {
  BLINK_ASSIGN_OR_RETURN(ResultPlace place, ResultPlace::Claim(options.output, ResultPlace::Existing::kReplace));
  BLINK_ASSIGN_OR_RETURN(Job job, PrepareJob(options, place.folder()));
  StageBars bars(IsForAPerson());
  ProgressPrinter printer;
  job.options.progress = [&](Stage stage, double fraction, const std::string& text) {
    is_training = stage == Stage::kTraining;
    if (!IsForAPerson()) return printer.Print(stage, fraction, text);
    const TimeLeft time_left = stage == Stage::kTraining ? TimeLeftOfTraining(job.spec) : TimeLeft::kFromPace;
    bars.ShowShares(NameOf(stage), time_left).Update(static_cast<uint64_t>(100 * fraction), text);
  };
  Figures figures;
  const auto analyse = job.parameters.sends_group_degrees() ? AnalyseAnswers : AnalyseReports;
  BLINK_RETURN_IF_ERROR(analyse(options, job, place.temporary(), figures));
  BLINK_RETURN_IF_ERROR(place.Publish());
  bars.End();
  if (IsForAPerson()) PrintFigures(figures, place.folder());
  RemoveCheckpoints(job.options.checkpoint_folder);  // of no more use; what is left does no harm
  return absl::OkStatus();
}

// What the worker reads are the aggregator's own files: a damaged or unsuitable one is bad input, not a defect.
ExitCode WorkerExitCode(const absl::Status& status) {
  if (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) return ExitCode::kBadInput;
  return ExitCodeFor(status);
}

int Fail(ExitCode code, const std::string& text, const char* waits_for = nullptr) {
  if (IsForAPerson()) {
    std::fprintf(stderr, "blink-worker: %s\n", text.c_str());
    return static_cast<int>(code);
  }
  nlohmann::ordered_json line = {{"error", text}, {"exit_code", static_cast<int>(code)}};
  if (waits_for != nullptr) line["waits_for"] = waits_for;
  PrintLine(line);
  return static_cast<int>(code);
}

constexpr char kOutOfMemory[] =
    "the worker ran out of memory: give it more (--worker-memory-bytes of the aggregator), or a machine that has more";

absl::Status RunWithoutExceptions(const WorkerOptions& options) {
  try {
    return RunRound(options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(kOutOfMemory);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the worker failed: ", error.what()));
  }
}

// Ends the program as Fail does when an allocation fails where nobody catches it, such as on a library's own thread. It
// allocates nothing itself.
void TellUncaughtBadAlloc() {
  static const std::terminate_handler otherwise = std::get_terminate();
  static const bool for_a_person = IsForAPerson();
  static const int code = static_cast<int>(ExitCode::kNoResources);
  static const std::string line =
      for_a_person ? absl::StrCat("blink-worker: ", kOutOfMemory, "\n")
                   : nlohmann::ordered_json({{"error", kOutOfMemory}, {"exit_code", code}}).dump() + "\n";
  std::set_terminate([] {
    try {
      if (std::current_exception() != nullptr) throw;
    } catch (const std::bad_alloc&) {
      [[maybe_unused]] const ssize_t ignored =
          ::write(for_a_person ? STDERR_FILENO : STDOUT_FILENO, line.data(), line.size());
      ::_exit(code);
    } catch (...) {
    }
    otherwise();
  });
}

int Main(int argc, char** argv) {
  TellUncaughtBadAlloc();
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, HandleStop);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error of the write, not a death
  if (!InitLogging("blink-worker", "info").ok()) return static_cast<int>(ExitCode::kInternal);
  CLI::App app(
      "Estimates the links of a sealed round and trains on them. Started by blink-aggregator; by hand, on a round's "
      "folder or a copy of it, to train again, or search, on the reports that were collected, which costs no privacy: "
      "what a flag says goes before round.json.",
      "blink-worker");
  app.set_version_flag("--version", VersionText("blink-worker"));
  app.footer(absl::StrCat(ResultFilesText(), "\n", ExitCodeTable()));
  AddExamples(app, {{{"",
                      {"blink-worker --round-folder rounds/ID --attributes attributes --output again --tune",
                       "blink-worker --round-folder rounds/ID --attributes attributes --output again --model gat "
                       "--variant soft --device cuda"}}}});
  WorkerOptions options;
  app.add_option("--round-folder", options.round_folder, "Folder with round.json and reports.blr")->required();
  app.add_option(
      "--attributes", options.attributes,
      "Folder with features, labels and split, each of them optional; it must hold no links. Without it nothing is "
      "known of the nodes, and --model none is all that can be done");
  app.add_option("--output", options.output,
                 "Result folder; written as OUTPUT.tmp and put in its place at once. An earlier "
                 "result is replaced, any other folder refused")
      ->required();
  app.add_option("--threads", options.threads, "Threads, 0: all cores")->check(CLI::Range(0, 1024));
  app.add_option("--checkpoint-every", options.checkpoint_every_s,
                 "Seconds between the checkpoints of a training in OUTPUT.checkpoint, 0: one after every epoch (20)")
      ->check(CLI::Range(0.0, 86400.0));
  TrainingFlags training;
  training.AddTo(&app);
  app.add_option("--seed", options.seed, "Seed of initialisation and dropout (the round's)");
  std::string on_out_of_memory;
  app.add_option("--on-out-of-memory", on_out_of_memory, "fail, or cpu: go on on the CPU (the round's)")
      ->transform(OneOf({"fail", "cpu"}));
  app.add_flag("--ignore-memory", options.ignore_memory, "Start even where it needs more memory than the machine has");
  int key_descriptor = -1;
  app.add_option("--reports-key-fd", key_descriptor,
                 "Descriptor that gives the 32 bytes of the key of an encrypted round; for the aggregator")
      ->check(CLI::Range(3, 1 << 20));
  bool asks_for_gpus = false;
  app.add_flag_callback(
      "--gpus",
      [&] {
        asks_for_gpus = true;
        throw CLI::Success();  // as --version: nothing else is asked for
      },
      "Print how many GPUs this machine can train on, and do nothing else");
  try {
    ParseStrictly(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (asks_for_gpus) return PrintGpus();
    const bool told = IsForAPerson() || error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    const int code = EndOfParsing(app, error, "blink-worker");
    return told ? code : Fail(ExitCode::kUsage, error.what());
  }
  const absl::StatusOr<v1::TrainingSpec> spec = training.Spec();
  if (!spec.ok()) return Fail(ExitCode::kUsage, std::string(spec.status().message()));
  options.training = *spec;
  if (!on_out_of_memory.empty()) {
    options.training.set_out_of_memory(on_out_of_memory == "cpu" ? v1::OUT_OF_MEMORY_CPU : v1::OUT_OF_MEMORY_FAIL);
  }
  if (key_descriptor >= 0) {
    const absl::StatusOr<SecretKey> key = ReadKey(key_descriptor);
    if (!key.ok()) return Fail(ExitCode::kUsage, std::string(key.status().message()));
    options.key = *key;
  }
  const absl::Status status = RunWithoutExceptions(options);
  if (status.ok()) return 0;
  if (absl::IsCancelled(status) && IsStopRequested()) {
    spdlog::info("{}; started again, it goes on from there", std::string(status.message()));
    EndBy(stop_signal);
  }
  // Of nothing else, such as memory, would another attempt find more.
  const char* const waits_for = IsDiskFull(status) ? "disk" : absl::IsAborted(status) ? "worker" : nullptr;
  return Fail(WorkerExitCode(status), std::string(status.message()), waits_for);
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::EndProgram("blink-worker", blink::Main(argc, argv)); }
