// The promises of the files that all programs share: whole or absent, and there once the call has returned.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "tests/power_cut/scenario.h"
#include "tools/new_folder.h"

namespace blink::power_cut {
namespace {

std::string Content(int version) { return absl::StrCat("version ", version, std::string(5000, '.')); }

std::string ReadOrNothing(const std::string& path) { return ReadFile(path, 1 << 20).value_or(""); }

std::string CheckFiles(const std::string& root, const Notes& notes, bool) {
  const int promised = notes.empty() ? 0 : notes.back()[0] - '0';
  const std::string found = ReadOrNothing(root + "/a/b/c/file");
  std::error_code error;
  if (found.empty() && promised == 0 && !std::filesystem::exists(root + "/a/b/c/file", error)) return "";
  for (int version = 1; version <= 3; ++version) {
    // A second process begins with the first version again.
    if (found == Content(version) && (version >= promised || version == 1)) return "";
  }
  return absl::StrCat("not the file that was promised, version ", promised);
}

}  // namespace

Scenario FilesScenario() {
  const auto run = [](const std::string& root) {
    if (!MakeDirectories(root + "/a/b/c").ok()) return;
    for (const int version : {1, 2, 3}) {
      if (WriteFileAtomically(root + "/a/b/c/file", Content(version)).ok()) Note(absl::StrCat(version));
    }
  };
  return {"files", run, CheckFiles};
}

Scenario NewFolderScenario() {
  const auto run = [](const std::string& root) {
    auto staging = Staging::Create(root + "/made/folder");
    if (!staging.ok()) return;
    if (!WriteNew(staging->path() + "/one", Content(1)).ok() || !MakeFolder(staging->path() + "/sub").ok()) return;
    if (!WriteNew(staging->path() + "/sub/two", Content(2)).ok()) return;
    if (staging->Publish().ok()) Note("published");
  };
  const auto check = [](const std::string& root, const Notes& notes, bool) -> std::string {
    const std::string folder = root + "/made/folder";
    std::error_code error;
    if (notes.empty() && !std::filesystem::exists(folder, error)) return "";
    const bool is_whole =
        ReadOrNothing(folder + "/one") == Content(1) && ReadOrNothing(folder + "/sub/two") == Content(2);
    return is_whole ? "" : "a new folder is not whole";
  };
  return {"new folder", run, check};
}

}  // namespace blink::power_cut
