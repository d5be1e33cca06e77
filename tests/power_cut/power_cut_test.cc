// The power is cut after every operation on the disk, and everything that was not synced is lost, kept, torn or
// reordered. What was promised until then must be there. And each sync is needed: where one of them is taken away, a
// promise is broken, and this test sees it.
//
// The scenarios run in processes of their own (this program with --scenario NAME FOLDER), with the recorder preloaded.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "tests/power_cut/disk.h"
#include "tests/power_cut/scenario.h"
#include "tests/testing/places.h"
#include "tests/testing/temp_folder.h"

namespace blink::power_cut {

void Note(const std::string& text) {
  static const auto note = reinterpret_cast<void (*)(const char*)>(::dlsym(RTLD_DEFAULT, "PowerCutNote"));
  if (note != nullptr) note(text.c_str());
}

namespace {

const std::vector<Scenario>& Scenarios() {
  static const auto* const all = new std::vector<Scenario>{
      JournalScenario(),      LateAnchorScenario(), StoreScenario(),      RoundFolderScenario(),
      DeletedRoundScenario(), ResultScenario(),     CheckpointScenario(), FilesScenario(),
      NewFolderScenario(),    AuditLogScenario(),   BackupScenario()};
  return *all;
}

struct Recording {
  std::vector<Operation> operations;
  size_t first_cut = 0;
};

void RunRecorded(const Scenario& scenario, const std::string& root, const std::string& log, size_t kill_at) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("LD_PRELOAD", testing::InBuild("tests/power_cut/libpower_cut_recorder.so").c_str(), 1);
    ::setenv("POWER_CUT_ROOT", root.c_str(), 1);
    ::setenv("POWER_CUT_LOG", log.c_str(), 1);
    if (kill_at > 0) ::setenv("POWER_CUT_KILL_AT", absl::StrCat(kill_at).c_str(), 1);
    ::execl("/proc/self/exe", "power_cut_test", "--scenario", scenario.name.c_str(), root.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (kill_at > 0 && WIFSIGNALED(status))) << status;
}

// `kill_at` > 0: the process is killed after so many operations, and a second one goes on. The power is then cut in the
// life of the second: what the first one wrote and did not sync, the second one sees, and the disk may not have.
Recording Record(const Scenario& scenario, size_t kill_at) {
  const testing::TempFolder folder(testing::TempFolder::InMemory());
  const std::string root = folder / "disk", log = folder / "log";
  std::filesystem::create_directory(root);
  RunRecorded(scenario, root, log, kill_at);
  Recording recording;
  if (kill_at > 0) {
    recording.first_cut = ReadRecording(log).size();
    RunRecorded(scenario, root, log, 0);
  }
  recording.operations = ReadRecording(log);
  return recording;
}

class Checker {
 public:
  explicit Checker(const Scenario& scenario) : scenario_(scenario) {}

  // Which promise is broken after which cut; "": none. `without`: a site whose syncs are not done.
  std::string FindBroken(const Recording& recording, const std::string& without = "") {
    const Disk disk(recording.operations, without);
    Notes notes;
    for (size_t cut = 0; cut <= recording.operations.size(); ++cut) {
      if (cut > 0 && recording.operations[cut - 1].kind == Operation::Kind::kNote) {
        notes.push_back(recording.operations[cut - 1].text);
      }
      if (cut < recording.first_cut) continue;
      for (const Fate& fate : Fates()) {
        const std::string broken = CheckState(disk.After(cut, fate), notes, fate.IsInOrder());
        if (!broken.empty()) {
          return absl::StrCat("after operation ", cut, " of ", recording.operations.size(), " (names ",
                              static_cast<int>(fate.names), ", bytes ", static_cast<int>(fate.bytes), ", seed ",
                              fate.seed, "): ", broken);
        }
      }
    }
    return "";
  }
  size_t states() const { return sound_.size(); }

 private:
  std::vector<Fate> Fates() const {
    using Names = Fate::Names;
    using Bytes = Fate::Bytes;
    const Names some = scenario_.names_in_order ? Names::kSome : Names::kAny;
    return {{Names::kLost, Bytes::kLost}, {Names::kKept, Bytes::kLost}, {Names::kKept, Bytes::kKept},
            {Names::kLost, Bytes::kKept}, {Names::kKept, Bytes::kTorn}, {Names::kKept, Bytes::kZeros},
            {some, Bytes::kKept, 1},      {some, Bytes::kAny, 2},       {Names::kKept, Bytes::kAny, 3},
            {some, Bytes::kKept, 4},      {some, Bytes::kKept, 5},      {some, Bytes::kKept, 6}};
  }

  std::string CheckState(const Tree& tree, const Notes& notes, bool in_order) {
    std::string all = absl::StrCat(in_order, "\n");
    for (const auto& [path, bytes] : tree) absl::StrAppend(&all, path, "\n", bytes.size(), "\n", bytes);
    for (const std::string& note : notes) absl::StrAppend(&all, "\n", note);
    const std::pair<size_t, size_t> key{std::hash<std::string>()(all), all.size()};
    if (sound_.count(key) > 0) return "";
    const testing::TempFolder folder(testing::TempFolder::InMemory());
    WriteTree(tree, folder / "disk");
    const std::string broken = scenario_.check(folder / "disk", notes, in_order);
    if (broken.empty()) sound_.insert(key);
    return broken;
  }

  const Scenario& scenario_;
  std::set<std::pair<size_t, size_t>> sound_;  // states that were checked before
};

// Syncs of shared functions that do not matter to this scenario. Each matters to another one.
bool IsSpare(const Scenario& scenario, const std::string& site) {
  // A journal that is made with its anchor has its name on the disk before the anchor is there.
  if (scenario.name == "journal" && absl::StrContains(site, "SyncDirectory") && absl::StrContains(site, "MakeSound")) {
    return true;
  }
  return absl::StrContains(site, "MakeDirectories") && scenario.name != "files";
}

class PowerCut : public ::testing::TestWithParam<size_t> {
 protected:
  const Scenario& scenario() const { return Scenarios()[GetParam()]; }
};

TEST_P(PowerCut, BreaksNoPromiseAndEachSyncIsNeededForOne) {
  std::vector<Recording> recordings = {Record(scenario(), 0)};
  const size_t count = recordings[0].operations.size();
  ASSERT_GT(count, 5u) << "nothing was recorded";
  for (size_t kill_at = 1; kill_at < count; kill_at += scenario().kill_stride) {
    recordings.push_back(Record(scenario(), kill_at));
  }
  Checker checker(scenario());
  std::set<std::string> sites;
  for (const Recording& recording : recordings) {
    EXPECT_EQ(checker.FindBroken(recording), "") << "killed before at " << recording.first_cut;
    for (const Operation& operation : recording.operations) sites.insert(SiteOf(operation));
  }
  sites.erase("");
  std::erase_if(sites, [&](const std::string& site) { return IsSpare(scenario(), site); });
  const size_t states = checker.states();
  for (const std::string& site : sites) {
    std::string broken;
    for (const Recording& recording : recordings) {
      if (broken.empty()) broken = checker.FindBroken(recording, site);
    }
    EXPECT_FALSE(broken.empty()) << "no promise needs this sync: " << site;
    std::printf("without %s\n    %s\n", site.c_str(), broken.c_str());
  }
  std::printf("%s: %zu operations, %zu recordings, %zu states, %zu syncs\n", scenario().name.c_str(), count,
              recordings.size(), states, sites.size());
}

INSTANTIATE_TEST_SUITE_P(Of, PowerCut, ::testing::Range(size_t{0}, Scenarios().size()), [](const auto& info) {
  std::string name = Scenarios()[info.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

// A new sync needs a scenario above that shows what it is for, or one that reaches it already.
TEST(PowerCutScenarios, ReachEverySyncOfThePrograms) {
  namespace fs = std::filesystem;
  const std::map<std::string, int> reached = {
      {"common/base/durable_file.cc", 6},               // SyncDirectory, WriteFileAtomically, MakeDirectories
      {"node_client/journal.cc", 3},                    // MakeSound, WriteOut
      {"aggregator_server/audit_log/audit_log.cc", 2},  // Open, AppendLocked
      {"aggregator_server/backup/backup.cc", 2},        // PartialFolder::Finish
      {"aggregator_server/backup/file_copy.cc", 1},     // CopyDurably
      {"aggregator_server/reports/report_file.cc", 2},  // ReportFileWriter::Finish
      {"aggregator_server/result/result_place.cc", 2},  // RemoveFiles, Publish
      {"aggregator_server/rounds/round_files.cc", 2},   // RemoveReports, RemoveFolder
      {"tools/new_folder.cc", 2},                       // RenameDurably
  };
  const std::regex call("\\b(fsync|fdatasync|syncfs|sync_file_range|msync|SyncDirectory) ?\\(");
  std::map<std::string, int> found;
  for (const char* folder : {"common", "node_client", "aggregator_server", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::InSources(folder))) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      const auto calls = std::distance(std::sregex_iterator(text.begin(), text.end(), call), std::sregex_iterator());
      if (calls > 0) found[fs::relative(entry.path(), testing::InSources("")).string()] = static_cast<int>(calls);
    }
  }
  EXPECT_EQ(found, reached);
}

}  // namespace
}  // namespace blink::power_cut

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  if (argc == 4 && std::strcmp(argv[1], "--scenario") == 0) {
    for (const auto& scenario : blink::power_cut::Scenarios()) {
      if (scenario.name == argv[2]) scenario.run(argv[3]);
    }
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
