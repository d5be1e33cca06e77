#include "common/wire/artifact_digests.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/wire/artifacts.h"

namespace blink {
namespace {

constexpr char kRemedy[] = ": bring it back from a backup, or make the result again with blink-worker";

absl::StatusOr<nlohmann::ordered_json> DigestFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  uint64_t bytes = 0;
  std::vector<char> piece(1 << 20);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.Update(absl::string_view(piece.data(), file.gcount()));
    bytes += file.gcount();
  }
  if (!file.eof()) return FileError(errno, "read", path);
  return nlohmann::ordered_json{{"bytes", bytes}, {"sha256", DigestToHex(digest.Finish())}};
}

absl::Status Damaged(const std::string& artifact) {
  return absl::DataLossError(absl::StrCat(artifact, " is damaged on the disk of the aggregator", kRemedy));
}

}  // namespace

absl::StatusOr<nlohmann::ordered_json> DigestArtifacts(const std::string& folder) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const Artifact& artifact : kArtifacts) {
    const std::string path = absl::StrCat(folder, "/", artifact.name);
    std::error_code error;
    if (artifact.name == kMetrics || !std::filesystem::exists(path, error)) continue;
    BLINK_ASSIGN_OR_RETURN(files[artifact.name], DigestFile(path));
  }
  return files;
}

absl::StatusOr<ArtifactCheck> ArtifactCheck::Begin(const std::string& folder, const std::string& artifact) {
  const absl::StatusOr<std::string> text = ReadRegularFile(absl::StrCat(folder, "/", kMetrics), kMetricsBytesMax);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat("the aggregator's folder of this round has no ", kMetrics, kRemedy));
  }
  if (absl::IsInvalidArgument(text.status()) || absl::IsOutOfRange(text.status())) {
    return Damaged(std::string(kMetrics));  // no regular file, or a far too large one
  }
  BLINK_RETURN_IF_ERROR(text.status());
  const auto metrics = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object()) return Damaged(std::string(kMetrics));
  ArtifactCheck check(artifact);
  const auto files = metrics.find("files");
  if (files == metrics.end() || artifact == kMetrics) return check;
  const auto file = files->is_object() ? files->find(artifact) : files->end();
  if (file == files->end()) return absl::NotFoundError(absl::StrCat("the result has no ", artifact));
  const auto digest = file->is_object() ? file->find("sha256") : file->end();
  if (digest == file->end() || !digest->is_string()) return Damaged(std::string(kMetrics));
  check.recorded_ = digest->get<std::string>();
  const absl::Status regular = CheckRegularFile(absl::StrCat(folder, "/", artifact));
  if (absl::IsNotFound(regular)) {
    return absl::DataLossError(absl::StrCat(artifact, " is missing on the disk of the aggregator", kRemedy));
  }
  if (absl::IsInvalidArgument(regular)) return Damaged(artifact);
  return check;
}

void ArtifactCheck::Update(absl::string_view bytes) {
  if (recorded_.has_value()) read_->Update(bytes);
}

absl::Status ArtifactCheck::Finish() {
  if (!recorded_.has_value() || DigestToHex(read_->Finish()) == *recorded_) return absl::OkStatus();
  return Damaged(artifact_);
}

}  // namespace blink
