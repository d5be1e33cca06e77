// blink-worker as the aggregator runs it, and its agreement with `blink simulate --reports`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_format.h"
#include "aggregator_server/result/result_place.h"
#include "aggregator_server/worker/analyse.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "tests/testing/places.h"
#include "tests/unit/worker/small_round.h"
#include "tools/simulate/run.h"

namespace blink {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kWorker = testing::InBuild("bin/blink-worker");

struct Ended {
  int exit_code = -1;
  std::vector<json> lines;
};

class WorkerTest : public testing::SmallRound {
 protected:
  std::string Output() const { return folder_ + "/result"; }

  Ended RunWorker(const std::string& flags) const {
    Ended ended;
    std::FILE* pipe = ::popen(absl::StrCat(kWorker, " ", flags, " 2>/dev/null").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer;
    while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) ended.lines.push_back(json::parse(line));
    return ended;
  }
  Ended RunRound(const std::string& flags = "") const {
    return RunWorker(absl::StrCat("--round-folder ", folder_, "/round --attributes ", folder_, "/attributes --output ",
                                  Output(), " --threads 2 ", flags));
  }
  void ExpectRefused(const Ended& ended, ExitCode code, const std::string& text) const {
    EXPECT_EQ(ended.exit_code, static_cast<int>(code));
    ASSERT_FALSE(ended.lines.empty());
    EXPECT_EQ(ended.lines.back()["exit_code"], static_cast<int>(code));
    EXPECT_THAT(ended.lines.back()["error"].get<std::string>(), HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(Output()));
  }
};

// What a round may ask for.
struct Asked {
  const char* name;
  v1::Variant variant;
  v1::Model model;
  uint32_t candidates;
};

class WorkerAndSimulation : public WorkerTest, public ::testing::WithParamInterface<Asked> {};

TEST_P(WorkerAndSimulation, GiveExactlyTheSameOnTheSameReports) {
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.mutable_training()->set_variant(GetParam().variant);
  round.mutable_training()->set_model(GetParam().model);
  if (GetParam().candidates > 0) {
    round.mutable_training()->set_candidates(GetParam().candidates);
    round.mutable_training()->clear_learning_rate();
    round.mutable_training()->clear_dropout();
  }
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  const Ended ended = RunRound();
  ASSERT_EQ(ended.exit_code, 0) << (ended.lines.empty() ? json() : ended.lines.back());
  SimulateOptions options;
  options.dataset = folder_ + "/dataset";
  options.reports = folder_ + "/round";
  options.output = folder_ + "/replay";
  options.threads = 1;  // the number of threads does not matter
  options.progress = false;
  const auto simulation = Simulate(options);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  ASSERT_EQ(simulation->trials.size(), 1u);
  const Trial& trial = simulation->trials[0];
  EXPECT_EQ(trial.seed, 7u);
  for (const char* file : {"/links.csv", "/links.npz", "/predictions.csv", "/curves.csv", "/model.pt", "/model.ts"}) {
    EXPECT_EQ(ReadFile(Output() + file, 1 << 24).value(), ReadFile(folder_ + "/replay" + file, 1 << 24).value())
        << file;
  }
  const auto metrics = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["train"]["test_accuracy"], trial.training.test_accuracy);
  EXPECT_EQ(metrics["kind"], "round");
  EXPECT_EQ(metrics["privacy"]["private"], true);
  EXPECT_EQ(metrics["train"]["threads"], 2);
  EXPECT_EQ(metrics["train"]["model"], ModelName(trial.trained.options.model));
  EXPECT_EQ(metrics["estimate"]["links"], trial.estimates->beta.links().link_count());
  EXPECT_EQ(metrics["estimate"]["tie_seed"], absl::StrFormat("%016x", trial.tie_seed));
  EXPECT_EQ(metrics["train"].contains("candidates"), GetParam().candidates > 0);
  EXPECT_EQ(trial.search.size(), GetParam().candidates);
}

INSTANTIATE_TEST_SUITE_P(Asked, WorkerAndSimulation,
                         ::testing::Values(Asked{"Mlp", v1::VARIANT_HARD, v1::MODEL_MLP, 0},
                                           Asked{"GcnHard", v1::VARIANT_HARD, v1::MODEL_GCN, 0},
                                           Asked{"GcnSoft", v1::VARIANT_SOFT, v1::MODEL_GCN, 0},
                                           Asked{"GcnHybrid", v1::VARIANT_HYBRID, v1::MODEL_GCN, 0},
                                           Asked{"GraphSageHard", v1::VARIANT_HARD, v1::MODEL_GRAPHSAGE, 0},
                                           Asked{"GraphSageSoft", v1::VARIANT_SOFT, v1::MODEL_GRAPHSAGE, 0},
                                           Asked{"GraphSageHybrid", v1::VARIANT_HYBRID, v1::MODEL_GRAPHSAGE, 0},
                                           Asked{"GatHard", v1::VARIANT_HARD, v1::MODEL_GAT, 0},
                                           Asked{"GatSoft", v1::VARIANT_SOFT, v1::MODEL_GAT, 0},
                                           Asked{"GatHybrid", v1::VARIANT_HYBRID, v1::MODEL_GAT, 0},
                                           Asked{"Search", v1::VARIANT_UNSPECIFIED, v1::MODEL_UNSPECIFIED, 13},
                                           Asked{"SearchOfHard", v1::VARIANT_HARD, v1::MODEL_UNSPECIFIED, 6}),
                         [](const ::testing::TestParamInfo<Asked>& info) { return std::string(info.param.name); });

TEST_F(WorkerTest, FlagsGoBeforeWhatTheRoundSays) {
  const Ended ended = RunRound("--model graphsage --variant hybrid --dropout 0 --epochs 7 --hidden 5 --seed 11");
  ASSERT_EQ(ended.exit_code, 0) << ended.lines.back();
  const json train = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value())["train"];
  EXPECT_EQ(train["model"], "graphsage");
  EXPECT_EQ(train["variant"], "hybrid");
  EXPECT_EQ(train["dropout"], 0);
  EXPECT_EQ(train["epochs"], 7);
  EXPECT_EQ(train["hidden"], 5);
  EXPECT_EQ(train["seed"], 11);
  EXPECT_EQ(train["learning_rate"], 0.05) << "the round's";
}

TEST_F(WorkerTest, SearchesTheReportsOfARoundThatDidNotAndTrainsOnceOnThoseOfOneThatDid) {
  Ended ended = RunRound("--tune 3 --model gcn");
  ASSERT_EQ(ended.exit_code, 0) << ended.lines.back();
  json train = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value())["train"];
  EXPECT_EQ(train["candidates"].size(), 3u);
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.mutable_training()->set_candidates(12);
  round.mutable_training()->clear_learning_rate();
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  ended = RunRound("--tune 0");
  ASSERT_EQ(ended.exit_code, 0) << ended.lines.back();
  train = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value())["train"];
  EXPECT_FALSE(train.contains("candidates"));
  EXPECT_EQ(train["model"], "gcn");
  EXPECT_EQ(train["learning_rate"], 0.01) << "the default: the round had left it to its search";
}

TEST_F(WorkerTest, AnalysesTheReportsOfARoundWithThePriorThatItDidNotHave) {
  const Ended ended = RunRound("--prior attributed");
  ASSERT_EQ(ended.exit_code, 0) << ended.lines.back();
  const json metrics = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["kind"], "replay");
  EXPECT_EQ(metrics["privacy"]["noise"], "nodes");
  const json& estimate = metrics["estimate"];
  EXPECT_EQ(estimate["prior"], "attributed");
  EXPECT_GT(estimate["beta"]["expected_links"], 0);
  EXPECT_FALSE(estimate["coefficients"].empty());
  EXPECT_FALSE(estimate.contains("mae")) << "nobody knows a true link here";
  EXPECT_TRUE(metrics["train"]["chosen"].is_string());
  bool found = false;
  for (const json& candidate : metrics["train"]["candidates"]) {
    found |= candidate["name"] == metrics["train"]["chosen"];
    EXPECT_FALSE(candidate.contains("test_accuracy"));
  }
  EXPECT_TRUE(found);
}

TEST_F(WorkerTest, RefusesAModelThatThePriorDoesNotHave) {
  ExpectRefused(RunRound("--model stacked"), ExitCode::kBadInput,
                "training.model is stacked, which the attributed prior alone has");
  ExpectRefused(RunRound("--prior gamma"), ExitCode::kUsage, "--prior");
}

TEST_F(WorkerTest, SaysHowManyGpusThereAreAndNeedsNoOtherFlag) {
  const Ended ended = RunWorker("--gpus");
  EXPECT_EQ(ended.exit_code, 0);
  ASSERT_EQ(ended.lines.size(), 1u);
  ASSERT_TRUE(ended.lines[0]["gpus"].is_number_integer());
  EXPECT_EQ(ended.lines[0]["gpus"] == 0, ended.lines[0]["why_none"] != "");
}

TEST_F(WorkerTest, RefusesWhatCanNeverBeTrainedBeforeItEstimates) {
  Ended ended = RunRound("--model mlp --node-features degree");
  ExpectRefused(ended, ExitCode::kBadInput, "training.node_features is degree");
  EXPECT_EQ(ended.lines.size(), 1u) << "no progress";
  ExpectRefused(RunRound("--device cuda:127"), ExitCode::kBadInput, "training.device is cuda:127");
  NodeAttributes unlabelled = data_.attributes;
  for (uint32_t i = 0; i < unlabelled.node_count; ++i) {
    if (unlabelled.split[i] == Split::kTrain) unlabelled.labels[i] = -1;
  }
  std::filesystem::remove_all(folder_ + "/attributes");
  ASSERT_TRUE(WriteAttributes(unlabelled, folder_ + "/attributes").ok());
  ended = RunRound();
  ExpectRefused(ended, ExitCode::kBadInput, "no labelled node is in the training split");
  EXPECT_EQ(ended.lines.size(), 1u) << "no progress";
}

TEST_F(WorkerTest, RefusesReportsOfAnotherNumberThanTheRoundCounts) {
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.set_reports(kReports + 1);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  ExpectRefused(RunRound(), ExitCode::kBadInput, "counts 181");
}

TEST_F(WorkerTest, ARoundOfBeforeTheRosterGrewGetsTheResultThatItWouldHaveHadThen) {
  ASSERT_EQ(RunRound().exit_code, 0);
  std::filesystem::rename(Output(), folder_ + "/before");
  NodeAttributes grown = data_.attributes;
  grown.node_count += 5;
  grown.features.rows += 5;
  if (grown.features.sparse) {
    grown.features.row_offsets.resize(grown.node_count + 1, grown.features.row_offsets.back());
  } else {
    grown.features.values.resize(size_t{grown.node_count} * grown.features.cols);
  }
  grown.labels.resize(grown.node_count, 1);
  grown.split.resize(grown.node_count, Split::kTrain);
  std::filesystem::remove_all(folder_ + "/attributes");
  ASSERT_TRUE(WriteAttributes(grown, folder_ + "/attributes").ok());
  const Ended ended = RunRound();
  ASSERT_EQ(ended.exit_code, 0) << (ended.lines.empty() ? json() : ended.lines.back());
  for (const char* file : {"/links.csv", "/links.npz", "/predictions.csv", "/curves.csv", "/model.pt", "/model.ts"}) {
    EXPECT_EQ(ReadFile(Output() + file, 1 << 24).value(), ReadFile(folder_ + "/before" + file, 1 << 24).value())
        << file;
  }
}

TEST_F(WorkerTest, RefusesAttributesOfFewerNodesThanTheRoundHas) {
  std::filesystem::remove_all(folder_ + "/attributes");
  ASSERT_TRUE(WriteAttributes(KeepFirstNodes(data_.attributes, 199).value(), folder_ + "/attributes").ok());
  ExpectRefused(RunRound(), ExitCode::kBadInput, "200 nodes, but the attribute folder has 199");
}

TEST_F(WorkerTest, CountsRetiredNodesApartFromMissingOnes) {
  v1::Round round;
  round.set_round_id(std::string(32, 'a'));
  round.set_deployment("small");
  *round.mutable_parameters() = ParametersToProto(parameters_);
  *round.mutable_training() = testing::SmallSpec();
  round.set_active_nodes(185);
  round.set_reports(kReports);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  ASSERT_EQ(RunRound().exit_code, 0);
  const auto metrics = json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["reports"], json({{"received", 180}, {"nodes", 200}, {"retired", 15}, {"missing", 5}}));
}

TEST_F(WorkerTest, PrintsProgressOfBothStages) {
  const Ended ended = RunRound();
  ASSERT_EQ(ended.exit_code, 0);
  ASSERT_GE(ended.lines.size(), 2u);
  EXPECT_EQ(ended.lines.front()["stage"], "estimating");
  EXPECT_EQ(ended.lines.back()["stage"], "training");
  for (const json& line : ended.lines) {
    EXPECT_GE(line["progress"].get<double>(), 0);
    EXPECT_LE(line["progress"].get<double>(), 1);
    EXPECT_TRUE(line["text"].is_string());
  }
}

TEST_F(WorkerTest, ReplacesAnOlderResultAndWhatADeadWorkerLeft) {
  ASSERT_EQ(RunRound().exit_code, 0);
  const std::string older = ReadFile(Output() + "/predictions.csv", 1 << 20).value();
  std::ofstream(Output() + "/predictions.csv") << "older";
  std::filesystem::create_directories(Output() + ".tmp");
  std::ofstream(Output() + ".tmp/metrics.json.tmp.4711") << "x";
  ASSERT_EQ(RunRound().exit_code, 0);
  EXPECT_EQ(ReadFile(Output() + "/predictions.csv", 1 << 20).value(), older);
  EXPECT_FALSE(std::filesystem::exists(Output() + "/metrics.json.tmp.4711"));
  EXPECT_FALSE(std::filesystem::exists(Output() + ".tmp"));
  EXPECT_TRUE(std::filesystem::exists(Output() + "/model.pt"));
}

TEST_F(WorkerTest, DeletesNothingThatIsNoResult) {
  for (const std::string& place : {Output(), Output() + ".tmp"}) {
    std::filesystem::create_directories(place);
    std::ofstream(place + "/thesis.tex") << "x";
    const Ended ended = RunRound();
    EXPECT_EQ(ended.exit_code, static_cast<int>(ExitCode::kBadInput));
    EXPECT_THAT(ended.lines.back()["error"].get<std::string>(),
                HasSubstr(std::filesystem::path(place).filename().string() + " holds thesis.tex"));
    EXPECT_THAT(ended.lines.back()["error"].get<std::string>(), HasSubstr("name another folder"));
    EXPECT_EQ(ReadFile(place + "/thesis.tex", 10).value(), "x");
    std::filesystem::remove_all(place);
  }
  std::filesystem::create_directories(Output() + ".checkpoint");
  std::ofstream(Output() + ".checkpoint/thesis.tex") << "x";
  std::ofstream(Output() + ".checkpoint/my.checkpoint") << "x";
  ASSERT_EQ(RunRound().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(Output() + ".checkpoint/thesis.tex"));
  EXPECT_TRUE(std::filesystem::exists(Output() + ".checkpoint/my.checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(Output() + ".checkpoint/training.checkpoint"));
}

TEST_F(WorkerTest, EndsWithItsCodeWhenItsOutputOrItsResultCannotBeWritten) {
  const std::string flags =
      absl::StrCat("--round-folder ", folder_, "/round --attributes ", folder_, "/attributes --output ", Output());
  const int full = std::system(absl::StrCat(kWorker, " ", flags, " > /dev/full 2>/dev/null").c_str());
  ASSERT_TRUE(WIFEXITED(full));
  EXPECT_EQ(WEXITSTATUS(full), static_cast<int>(ExitCode::kNoResources));
  // A file that is larger than the limit is an error of the write (EFBIG), not a death by SIGXFSZ.
  const int large = std::system(
      absl::StrCat("ulimit -f 2; ", kWorker, " ", flags, " 2>/dev/null | cat >/dev/null; exit ${PIPESTATUS[0]}")
          .insert(0, "bash -c '")
          .append("'")
          .c_str());
  ASSERT_TRUE(WIFEXITED(large));
  EXPECT_EQ(WEXITSTATUS(large), static_cast<int>(ExitCode::kNoResources));
}

TEST_F(WorkerTest, SaysOfAFullDiskAloneThatAnotherAttemptMaySucceed) {
  const std::string arguments =
      absl::StrCat(" --round-folder ", folder_, "/round --attributes ", folder_, "/attributes --output ", Output());
  const auto last_line = [&](const std::string& limit) {
    const std::string printed = folder_ + "/printed";
    std::system(
        absl::StrCat("bash -c '(", limit, "; ", kWorker, arguments, " 2>/dev/null) | tail -n 1 > ", printed, "'")
            .c_str());
    return json::parse(ReadFile(printed, 1 << 16).value(), nullptr, /*allow_exceptions=*/false);
  };
  const json full = last_line("ulimit -f 2");
  ASSERT_TRUE(full.is_object() && full.contains("exit_code")) << full;
  EXPECT_EQ(full["exit_code"], static_cast<int>(ExitCode::kNoResources));
  EXPECT_EQ(full.value("waits_for", ""), "disk") << full;
  EXPECT_THAT(full["error"].get<std::string>(), HasSubstr("File too large"));
  const Ended other = RunWorker(
      absl::StrCat("--round-folder ", folder_, "/none --attributes ", folder_, "/attributes --output ", Output()));
  ExpectRefused(other, ExitCode::kBadInput, "/none");
  EXPECT_FALSE(other.lines.back().contains("waits_for"));
}

TEST_F(WorkerTest, SaysThatAnotherWorkerIsAtTheRoundAndLeavesItsFiles) {
  const auto place = ResultPlace::Claim(Output(), ResultPlace::Existing::kReplace);
  ASSERT_TRUE(place.ok()) << place.status();
  const Ended second = RunWorker(
      absl::StrCat("--round-folder ", folder_, "/round --attributes ", folder_, "/attributes --output ", Output()));
  ExpectRefused(second, ExitCode::kInternal, "another process is about to write the result");
  EXPECT_EQ(second.lines.back().value("waits_for", ""), "worker");
  EXPECT_TRUE(std::filesystem::exists(place->temporary()));
}

// A training with a checkpoint after every epoch, which ends in its middle.
class KilledWorker : public WorkerTest {
 protected:
  std::string Checkpoint() const { return Output() + ".checkpoint/training.checkpoint"; }

  // What the worker does, in a process that is killed when epoch `last` is done: the checkpoint is of that epoch,
  // whatever the machine's speed. (One that is killed from outside may have ended before.)
  void StartAndKill(int last) {
    const pid_t worker = ::fork();
    ASSERT_GE(worker, 0);
    if (worker == 0) {
      const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
      AnalysisOptions options;
      options.checkpoint_folder = Output() + ".checkpoint";
      options.checkpoint_every_s = 0;
      options.threads = 2;
      options.tie_seed = TieSeedOfRound(round.round.round_id());
      options.progress = [&](Stage, double, const std::string& text) {
        int epoch = 0;
        if (std::sscanf(text.c_str(), "epoch %d", &epoch) == 1 && epoch >= last) ::kill(::getpid(), SIGKILL);
      };
      const auto ended =
          Analyse(round.reports, ReadAttributes(folder_ + "/attributes").value(), round.round.training(), options);
      ::_exit(ended.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(worker, &status, 0), worker);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    ASSERT_TRUE(std::filesystem::exists(Checkpoint()));
    ASSERT_FALSE(std::filesystem::exists(Output()));
  }
  json TrainMetrics() const { return json::parse(ReadFile(Output() + "/metrics.json", 1 << 20).value())["train"]; }
};

TEST_F(KilledWorker, StartedAgainGivesTheResultOfOneThatWasNot) {
  ASSERT_EQ(RunRound().exit_code, 0);
  std::filesystem::rename(Output(), folder_ + "/uninterrupted");
  for (const int last : {5, 13}) ASSERT_NO_FATAL_FAILURE(StartAndKill(last));
  const Ended ended = RunRound();
  ASSERT_EQ(ended.exit_code, 0) << (ended.lines.empty() ? json() : ended.lines.back());
  EXPECT_EQ(TrainMetrics()["resumed_from_epoch"], 13);
  for (const char* file : {"/links.csv", "/links.npz", "/predictions.csv", "/curves.csv", "/model.pt", "/model.ts"}) {
    EXPECT_EQ(ReadFile(Output() + file, 1 << 24).value(), ReadFile(folder_ + "/uninterrupted" + file, 1 << 24).value())
        << file;
  }
  EXPECT_FALSE(std::filesystem::exists(Output() + ".checkpoint")) << "of no more use";
}

TEST_F(KilledWorker, DoesNotGoOnFromATruncatedCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(StartAndKill(10));
  std::filesystem::resize_file(Checkpoint(), std::filesystem::file_size(Checkpoint()) / 2);
  ASSERT_EQ(RunRound().exit_code, 0);
  EXPECT_EQ(TrainMetrics()["resumed_from_epoch"], 0);
  EXPECT_THAT(TrainMetrics()["warnings"].dump(), HasSubstr("truncated"));
}

TEST_F(KilledWorker, DoesNotGoOnWithOtherAttributes) {
  ASSERT_NO_FATAL_FAILURE(StartAndKill(10));
  NodeAttributes attributes = data_.attributes;
  attributes.labels[0] = (attributes.labels[0] + 1) % 3;
  std::filesystem::remove_all(folder_ + "/attributes");
  ASSERT_TRUE(WriteAttributes(attributes, folder_ + "/attributes").ok());
  ASSERT_EQ(RunRound().exit_code, 0);
  EXPECT_EQ(TrainMetrics()["resumed_from_epoch"], 0);
  EXPECT_THAT(TrainMetrics()["warnings"].dump(), HasSubstr("of another training"));
}

TEST_F(KilledWorker, DoesNotOverwriteWhatIsNoCheckpoint) {
  std::filesystem::create_directories(Output() + ".checkpoint");
  std::ofstream(Checkpoint()) << "my own notes";
  ExpectRefused(RunRound(), ExitCode::kBadInput, "is not the checkpoint of a training");
  EXPECT_EQ(ReadFile(Checkpoint(), 100).value(), "my own notes");
  std::filesystem::remove(Checkpoint());
  ASSERT_EQ(::mkfifo(Checkpoint().c_str(), 0600), 0);
  ExpectRefused(RunRound(), ExitCode::kBadInput, "not a regular file");
}

TEST_F(WorkerTest, NamesTheCheckpointFolderThatItCannotMake) {
  std::ofstream(Output() + ".checkpoint") << "x";
  ExpectRefused(RunRound(), ExitCode::kBadInput, "/result.checkpoint: something else has its name");
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.mutable_training()->set_candidates(3);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  ExpectRefused(RunRound(), ExitCode::kBadInput, "/result.checkpoint: something else has its name");
}

TEST_F(WorkerTest, RefusesAnAttributeFolderThatHoldsEdges) {
  std::ofstream(folder_ + "/attributes/edges.csv") << "source,target\n0,1\n";
  ExpectRefused(RunRound(), ExitCode::kBadInput, "edges");
}

TEST_F(WorkerTest, RefusesDamagedReports) {
  const std::string path = folder_ + "/round/reports.blr";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  ExpectRefused(RunRound(), ExitCode::kBadInput, "reports.blr");
}

TEST_F(WorkerTest, RefusesAMissingRoundFolder) {
  std::filesystem::remove_all(folder_ + "/round");
  ExpectRefused(RunRound(), ExitCode::kBadInput, "round.json");
}

TEST_F(WorkerTest, RefusesWrongFlags) {
  ExpectRefused(RunWorker("--round-folder x"), ExitCode::kUsage, "required");
  ExpectRefused(RunWorker("--no-such-flag"), ExitCode::kUsage, "--no-such-flag");
  ExpectRefused(RunRound("--tune 1001"), ExitCode::kUsage, "--tune");
  ExpectRefused(RunRound("--dropout 1"), ExitCode::kUsage, "--dropout is 1");
  ExpectRefused(RunWorker("--round-folder x --attributes x --output x --checkpoint-every -1"), ExitCode::kUsage,
                "checkpoint-every");
  ExpectRefused(RunWorker("--round-folder x --attributes x --output x --checkpoint-every nan"), ExitCode::kUsage,
                "checkpoint-every");
}

}  // namespace
}  // namespace blink
