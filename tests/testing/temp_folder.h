// Folders for the files of one test, which go away with it.
#ifndef BLINK_TESTS_TESTING_TEMP_FOLDER_H_
#define BLINK_TESTS_TESTING_TEMP_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/durable_file.h"

namespace blink::testing {

class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "blink-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  // A parent for tests that make thousands of files or sync them, where the machine has such a folder.
  static std::filesystem::path InMemory() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

// A fixture with such a folder, and with short names for what is done in it.
class FolderTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return temp_folder_ / name; }
  // Makes the folders above the file too.
  void Write(const std::string& name, absl::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string Read(const std::string& name) const { return ReadFile(Path(name), 1 << 20).value_or("(missing)"); }

  const TempFolder temp_folder_;
  const std::string& folder_ = temp_folder_.path();
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_TEMP_FOLDER_H_
