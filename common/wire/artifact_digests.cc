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

absl::Status Damaged(absl::string_view artifact) {
  return absl::DataLossError(absl::StrCat(artifact, " is damaged on the disk of the aggregator", kRemedy));
}

absl::Status CheckIsThere(const std::string& folder, absl::string_view artifact) {
  std::error_code error;
  // not through a link, which may lead anywhere
  const auto status = std::filesystem::symlink_status(absl::StrCat(folder, "/", artifact), error);
  if (status.type() == std::filesystem::file_type::regular) return absl::OkStatus();
  if (status.type() != std::filesystem::file_type::not_found) return Damaged(artifact);
  return absl::DataLossError(absl::StrCat(artifact, " is missing on the disk of the aggregator", kRemedy));
}

std::string TextOf(const nlohmann::ordered_json& metrics) {
  // The names of classes are the operator's bytes: what is no UTF-8 in them must not cost the round its result.
  return metrics.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
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

std::string SealMetrics(nlohmann::ordered_json metrics) {
  metrics.erase("sha256");
  metrics["sha256"] = DigestToHex(Sha256Of(TextOf(metrics)));
  return TextOf(metrics);
}

absl::StatusOr<ArtifactCheck> ArtifactCheck::Begin(const std::string& folder, const std::string& artifact) {
  BLINK_RETURN_IF_ERROR(CheckIsThere(folder, kMetrics));
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(folder, "/", kMetrics), kMetricsBytesMax);
  if (absl::IsOutOfRange(text.status())) return Damaged(kMetrics);
  BLINK_RETURN_IF_ERROR(text.status());
  const auto metrics = nlohmann::ordered_json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object()) return Damaged(kMetrics);
  ArtifactCheck check(artifact);
  const auto files = metrics.find("files");
  if (files == metrics.end() && !metrics.contains("sha256")) return check;
  if (*text != SealMetrics(metrics)) return Damaged(kMetrics);
  if (artifact == kMetrics || files == metrics.end()) return check;
  const auto file = files->find(artifact);
  if (file == files->end()) return absl::NotFoundError(absl::StrCat("the result has no ", artifact));
  const auto digest = file->find("sha256");
  if (digest == file->end() || !digest->is_string()) return Damaged(kMetrics);
  check.recorded_ = digest->get<std::string>();
  BLINK_RETURN_IF_ERROR(CheckIsThere(folder, artifact));
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
