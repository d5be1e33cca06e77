// metrics.json records the size and the digest of every other file of its result, so that a file which was cut,
// emptied or changed later is refused and not used.
#ifndef BLINK_COMMON_WIRE_ARTIFACT_DIGESTS_H_
#define BLINK_COMMON_WIRE_ARTIFACT_DIGESTS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "nlohmann/json.hpp"

namespace blink {

// {"links.csv": {"bytes": 120, "sha256": "<64 hexadecimal digits>"}, ..}: the artifacts that `folder` holds, but for
// metrics.json.
absl::StatusOr<nlohmann::ordered_json> DigestArtifacts(const std::string& folder);

// The text of metrics.json. Its last member "sha256" is the digest of the text without that member, so that a change of
// the file is seen in itself.
std::string SealMetrics(nlohmann::ordered_json metrics);

// Compares a file with what the metrics.json beside it records, while it is read piece by piece.
class ArtifactCheck {
 public:
  // Returns DATA_LOSS when the folder's metrics.json is missing or damaged, or when the artifact is missing or no
  // regular file, and NOT_FOUND when metrics.json records no such artifact. Of a result of a version that recorded
  // nothing, only a metrics.json that is no JSON is refused.
  static absl::StatusOr<ArtifactCheck> Begin(const std::string& folder, const std::string& artifact);

  // Whether metrics.json records the artifact, so that a change would be seen.
  bool is_recorded() const { return recorded_.has_value(); }
  void Update(absl::string_view bytes);
  // Once, after the last piece. Returns DATA_LOSS when the file is not the recorded one.
  absl::Status Finish();

 private:
  explicit ArtifactCheck(std::string artifact) : artifact_(std::move(artifact)) {}

  std::string artifact_;
  std::optional<std::string> recorded_;  // its digest; absent: not recorded
  std::unique_ptr<Sha256> read_ = std::make_unique<Sha256>();
};

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_ARTIFACT_DIGESTS_H_
