#include "aggregator_server/store/write_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"

namespace blink {
namespace {

constexpr char kName[] = "blink-store-mark 1 ";
constexpr size_t kBytes = 256;  // less than a sector of any disk, which is written as a whole

std::string PathIn(const std::string& folder) { return folder + "/acknowledged"; }

}  // namespace

std::string MarkToText(const Acknowledged& acknowledged) {
  std::string text =
      absl::StrCat(kName, acknowledged.sequence, " ", acknowledged.rounds, " ", acknowledged.reports, " ");
  return absl::StrCat(text, DigestToHex(Sha256Of(text)), "\n");
}

WriteMark::WriteMark(const std::string& folder)
    : fd_(::open(PathIn(folder).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600)) {
  if (fd_ < 0) spdlog::warn("{}", std::string(FileError(errno, "open", PathIn(folder)).message()));
}

WriteMark::~WriteMark() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<Acknowledged> WriteMark::Read(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadFile(PathIn(folder), kBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  Acknowledged found;
  const std::vector<std::string> words = absl::StrSplit(text.value_or(""), ' ');
  // When it is written again, the text must be the same. So spelling and checksum need no other check.
  if (words.size() < 5 || !absl::SimpleAtoi(words[2], &found.sequence) || !absl::SimpleAtoi(words[3], &found.rounds) ||
      !absl::SimpleAtoi(words[4], &found.reports) || text->substr(0, text->find('\n') + 1) != MarkToText(found)) {
    return std::nullopt;
  }
  return found;
}

void WriteMark::Set(const Acknowledged& acknowledged) {
  std::string text = MarkToText(acknowledged);
  text.resize(kBytes, '\n');  // over all of a longer one
  [[maybe_unused]] const ssize_t ignored = ::pwrite(fd_, text.data(), text.size(), 0);
}

}  // namespace blink
