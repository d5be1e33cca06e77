// The aggregator's promises: what was acknowledged is kept, a sealed round stays sealed, and a result is whole or
// absent.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/result/result_place.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "aggregator_server/train/checkpoint.h"
#include "common/base/durable_file.h"
#include "common/wire/artifacts.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"
#include "tests/power_cut/scenario.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink::power_cut {
namespace {

namespace fs = std::filesystem;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeGroupParameters;
using testing::MakeGroups;
using testing::MakeParameters;
using testing::MakeRound;

// ---- the store ----

constexpr uint32_t kNodes = 12000;
constexpr NodeIndex kReporting = 48;

RocksDbOptions SmallBuffers() {  // so that little is needed to fill one, which is written as a table
  RocksDbOptions options;
  options.write_buffer_bytes = 64 << 10;
  return options;
}

constexpr uint32_t kGroups = 3;

v1::Round MakeGroupRound(uint32_t node_count) {
  v1::Round round = MakeRound(node_count, kOtherRoundId);
  *round.mutable_parameters() = ParametersToProto(MakeGroupParameters(node_count, kGroups));
  return round;
}

void PutAndNote(ReportStore& store, NodeIndex first, NodeIndex last) {  // in one batch, or a few
  const PrivacyParameters parameters = MakeParameters(kNodes);
  std::vector<std::promise<bool>> stored(last - first);
  for (NodeIndex node = first; node < last; ++node) {
    store.PutReport(MakeChecked(parameters, node), [&, node](const absl::StatusOr<PutOutcome>& outcome) {
      if (outcome.ok()) Note(absl::StrCat("report ", node));
      stored[node - first].set_value(outcome.ok());
    });
  }
  for (std::promise<bool>& one : stored) (void)one.get_future().get();
}

void FillStore(const std::string& root) {
  auto store = OpenRocksDbStore(root + "/store", SmallBuffers());
  if (!store.ok()) return Note(absl::StrCat("refused ", store.status().ToString()));
  if (!(*store)->CreateRound(MakeRound(kNodes), "request").ok()) return;
  Note("round");
  if ((*store)->GetRound(kRoundId)->state() == v1::ROUND_STATE_OPEN) {
    for (NodeIndex node = 0; node < kReporting; node += 1 + node % 7) {
      PutAndNote(**store, node, std::min(node + 1 + node % 7, kReporting));
    }
  }
  const auto sealed =
      (*store)->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED}, [](v1::Round& round) {
        round.set_state(v1::ROUND_STATE_SEALED);
        return absl::OkStatus();
      });
  if (sealed.ok()) Note("sealed");
  store->reset();  // and opened again, which writes the buffers as tables
  store = OpenRocksDbStore(root + "/store", SmallBuffers());
  if (!store.ok()) return Note(absl::StrCat("refused ", store.status().ToString()));
  const std::string groups = EncodeGroups(MakeGroups(kNodes, kGroups));
  if ((*store)->CreateRound(MakeGroupRound(kNodes), "other request", groups).ok()) Note("other round");
}

std::string CheckStoreNote(ReportStore& store, const std::string& note) {
  const std::vector<std::string> words = absl::StrSplit(note, ' ');
  if (words[0] == "refused") return absl::StrCat("a store that was killed cannot be opened: ", note);
  if (words[0] == "round" || words[0] == "sealed") {
    const auto round = store.GetRound(kRoundId);
    if (!round.ok()) return "the round is gone";
    if (words[0] == "sealed" && round->state() != v1::ROUND_STATE_SEALED) return "a sealed round is open again";
  }
  if (words[0] == "other") {
    const auto again = store.CreateRound(MakeRound(kNodes, "00000000000000000000000000000abc"), "other request");
    if (!again.ok() || again->round_id() != kOtherRoundId) return "one request makes a second round";
    const auto groups = store.GetGroups(*again);
    return groups.ok() && *groups == EncodeGroups(MakeGroups(kNodes, kGroups)) ? "" : "a round lost its groups";
  }
  if (words[0] != "report") return "";
  uint32_t node = 0;
  if (!absl::SimpleAtoi(words[1], &node)) return "a note that cannot be read";
  const auto digest = store.GetDigest(kRoundId, node);
  if (!digest.ok() || !digest->has_value()) return absl::StrCat("an acknowledged report is gone: ", note);
  return **digest == testing::MakeReport(MakeParameters(kNodes), node).digest ? "" : "another report is held";
}

std::string CheckStore(const std::string& root, const Notes& notes, bool in_order) {
  auto store = OpenRocksDbStore(root + "/store", SmallBuffers());
  if (!store.ok()) {
    return !in_order && absl::IsDataLoss(store.status()) ? "" : std::string(store.status().message());
  }
  for (const std::string& note : notes) {
    if (const std::string broken = CheckStoreNote(**store, note); !broken.empty()) return broken;
  }
  if (notes.empty()) return "";
  uint32_t seen = 0;
  const absl::Status visited = (*store)->VisitReports(kRoundId, [&](uint64_t, const CodedReport&) {
    ++seen;
    return absl::OkStatus();
  });
  if (!visited.ok()) return std::string(visited.message());
  return seen == (*store)->GetRound(kRoundId)->reports() ? "" : "reports and digests do not agree";
}

// ---- the folder of a round ----

constexpr uint32_t kFolderNodes = 200;
constexpr uint32_t kFolderReports = 3;

std::string CheckRoundFolder(const std::string& root, const Notes& notes, bool) {
  for (const char* id : {kRoundId, kOtherRoundId}) {
    const RoundFiles files(root + "/rounds", id);
    std::error_code error;
    const bool is_promised = std::find(notes.begin(), notes.end(), id) != notes.end();
    // What has a round.json is never written again once its round has ended.
    if (!is_promised && !fs::exists(files.folder() + "/round.json", error)) continue;
    uint32_t reports = 0;
    absl::Status whole;
    if (std::string(id) == kOtherRoundId) {
      const auto read = ReadGroupAnswers(files.folder());
      whole = read.status();
      if (read.ok()) reports = read->reports;
    } else {
      const auto read = ReadRoundFolder(files.folder());
      whole = read.status();
      if (read.ok()) reports = read->reports.report_count();
    }
    if (!whole.ok()) return absl::StrCat("the folder of round ", id, ": ", whole.message());
    if (reports != kFolderReports) return absl::StrCat("the folder of round ", id, " lacks reports");
  }
  return "";
}

void WriteRoundFolders(const std::string& root) {
  auto store = OpenRocksDbStore(root + ".store");  // beside the disk that fails
  if (!store.ok() || !MakeDirectories(root + "/rounds").ok()) return;
  for (const char* id : {kRoundId, kOtherRoundId}) {
    const bool of_groups = std::string(id) == kOtherRoundId;
    const v1::Round round = of_groups ? MakeGroupRound(kFolderNodes) : MakeRound(kFolderNodes, id);
    const std::string groups = of_groups ? EncodeGroups(MakeGroups(kFolderNodes, kGroups)) : "";
    (void)(*store)->CreateRound(round, "", groups);
    const PrivacyParameters parameters = *ParametersFromProto(round.parameters());
    for (const NodeIndex node : {1, 5, 9}) (void)(*store)->PutReportAndWait(MakeChecked(parameters, node, 0, id));
    if (RoundFiles(root + "/rounds", id).Write(*(*store)->GetRound(id), **store).ok()) Note(id);
  }
}

// ---- reports that were deleted ----

void DeleteRounds(const std::string& root) {
  std::error_code error;
  const bool is_first = !fs::exists(root + "/rounds", error);  // a later process goes on with the deletion
  for (const char* id : {kRoundId, kOtherRoundId}) {
    if (!is_first) break;
    const RoundFiles files(root + "/rounds", id);
    fs::create_directories(files.folder(), error);
    std::ofstream(files.folder() + "/reports.blr") << "reports";
    std::ofstream(files.folder() + "/round.json") << "round";
  }
  for (const char* id : {kRoundId, kOtherRoundId}) {
    const RoundFiles files(root + "/rounds", id);
    const bool of_all = std::string(id) == kOtherRoundId;
    if ((of_all ? files.RemoveFolder() : files.RemoveReports()).ok()) Note(id);
  }
}

std::string CheckDeleted(const std::string& root, const Notes& notes, bool) {
  for (const std::string& id : notes) {
    std::error_code error;
    if (fs::exists(RoundFiles(root + "/rounds", id).folder() + "/reports.blr", error)) {
      return "reports that were deleted are there again";
    }
  }
  return "";
}

// ---- a result ----

std::string FileOfVersion(const std::string& name, int version) {
  if (name == "metrics.json") return absl::StrCat("{\"privacy\":{},\"train\":{\"version\":", version, "}}");
  return absl::StrCat(name, " of version ", version, std::string(100, '.'));
}

int VersionOfResult(const std::string& folder) {  // 0: there is none; -1: it is not whole
  std::error_code error;
  if (!fs::exists(folder, error)) return 0;
  for (const int version : {1, 2, 3}) {
    bool is_whole = true;
    for (const Artifact& file : kArtifacts) {
      const auto content = ReadFile(absl::StrCat(folder, "/", file.name), 4096);
      is_whole = is_whole && content.ok() && *content == FileOfVersion(file.name, version);
    }
    if (is_whole) return version;
  }
  return -1;
}

void PublishResults(const std::string& root) {
  if (!MakeDirectories(root + "/round").ok()) return;
  for (const int version : {1, 2, 3}) {
    auto place = ResultPlace::Claim(root + "/round/result", ResultPlace::Existing::kReplace);
    if (!place.ok()) return Note(absl::StrCat("refused ", place.status().ToString()));
    for (const Artifact& file : kArtifacts) {
      const std::string path = absl::StrCat(place->temporary(), "/", file.name);
      if (!WriteFileAtomically(path, FileOfVersion(file.name, version)).ok()) return;
    }
    // The last one as where a file system cannot exchange two names.
    if (place->Publish(/*exchange=*/version != 3).ok()) Note(absl::StrCat("result ", version));
  }
}

std::string CheckResult(const std::string& root, const Notes& notes, bool) {
  int promised = 0;
  for (const std::string& note : notes) {
    if (absl::StartsWith(note, "refused")) return note;
    promised = note.back() - '0';
  }
  std::error_code error;
  if (notes.empty() && !fs::exists(root + "/round", error)) return "";
  {  // as a worker that is started again, which must be able to
    const auto place = ResultPlace::Claim(root + "/round/result", ResultPlace::Existing::kReplace);
    if (!place.ok()) return std::string(place.status().message());
  }
  const int version = VersionOfResult(root + "/round/result");
  if (version < 0) return "a result is not whole";
  // A second process begins anew with version 1.
  const bool is_next = version == promised % 3 + 1 || version == 1;
  return version == promised || is_next ? "" : absl::StrCat("there is version ", version, " after ", promised);
}

// ---- the checkpoint of a training ----

std::string CheckCheckpoint(const std::string& root, const Notes& notes, bool) {
  const auto read = ReadCheckpoint(root + "/round/result.checkpoint/training.checkpoint", Digest{});
  if (!read.ok()) {
    return notes.empty() && absl::IsNotFound(read.status()) ? "" : std::string(read.status().message());
  }
  return notes.empty() || read->epoch >= notes.back()[0] - '0' ? "" : "an older checkpoint than was promised";
}

void WriteCheckpoints(const std::string& root) {
  const std::string folder = root + "/round/result.checkpoint";
  if (!MakeCheckpointFolder(folder).ok()) return;
  const auto before = ReadCheckpoint(folder + "/training.checkpoint", Digest{});
  Checkpoint checkpoint;
  checkpoint.parameters = {std::vector<float>(500, 0.5f)};
  for (checkpoint.epoch = before.ok() ? before->epoch + 1 : 1; checkpoint.epoch < 5; ++checkpoint.epoch) {
    if (!WriteFileAtomically(folder + "/training.checkpoint", EncodeCheckpoint(checkpoint, Digest{})).ok()) return;
    Note(absl::StrCat(checkpoint.epoch));
  }
}

}  // namespace

Scenario StoreScenario() { return {"store", FillStore, CheckStore, /*kill_stride=*/41, /*names_in_order=*/true}; }
Scenario RoundFolderScenario() { return {"round folder", WriteRoundFolders, CheckRoundFolder}; }
Scenario DeletedRoundScenario() { return {"deleted round", DeleteRounds, CheckDeleted}; }
Scenario ResultScenario() { return {"result", PublishResults, CheckResult, /*kill_stride=*/5}; }
Scenario CheckpointScenario() { return {"checkpoint", WriteCheckpoints, CheckCheckpoint}; }

}  // namespace blink::power_cut
