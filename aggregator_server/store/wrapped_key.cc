#include "aggregator_server/store/wrapped_key.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr char kWrappedFormat = '1';
constexpr size_t kIdDigits = 16;
constexpr size_t kWrappedBytes = 1 + kIdDigits + SecretKey::kBytes + kSealBytes;

std::string WrapContext(const std::string& round_id) { return absl::StrCat("blink round key 1|", round_id); }

absl::Status KeyIsDamaged(const std::string& round_id) {
  return absl::DataLossError(absl::StrCat("the key of round ", round_id,
                                          " in the store was changed, or is of another round: bring the store back "
                                          "from a backup"));
}

}  // namespace

absl::StatusOr<std::string> WrapKey(const SecretKey& data_key, const std::string& round_id, const SecretKey& key) {
  std::string bytes = key.bytes();
  const absl::StatusOr<std::string> sealed = Seal(data_key, WrapContext(round_id), bytes);
  Cleanse(bytes);
  BLINK_RETURN_IF_ERROR(sealed.status());
  return absl::StrCat(std::string(1, kWrappedFormat), data_key.id(), *sealed);
}

absl::StatusOr<std::string> DataKeyIdOf(const std::string& round_id, const std::string& wrapped) {
  if (wrapped.size() != kWrappedBytes || wrapped[0] != kWrappedFormat) return KeyIsDamaged(round_id);
  return wrapped.substr(1, kIdDigits);
}

absl::StatusOr<SecretKey> UnwrapKey(const std::vector<SecretKey>& data_keys, const std::string& round_id,
                                    const std::string& wrapped) {
  BLINK_ASSIGN_OR_RETURN(const std::string id, DataKeyIdOf(round_id, wrapped));
  std::string known;
  for (const SecretKey& data_key : data_keys) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", data_key.id());
    if (data_key.id() != id) continue;
    absl::StatusOr<std::string> bytes = Unseal(data_key, WrapContext(round_id), wrapped.substr(1 + kIdDigits));
    if (!bytes.ok()) return KeyIsDamaged(round_id);
    absl::StatusOr<SecretKey> key = SecretKey::FromBytes(*bytes);
    Cleanse(*bytes);
    return key;
  }
  const std::string given = known.empty() ? "none was given" : absl::StrCat("it was given ", known);
  return absl::FailedPreconditionError(absl::StrCat(
      "round ", round_id, " is encrypted with the data key whose id is ", id, ", and ", given,
      ": give blink-aggregator that key with --data-key-file or --data-key-command, or, beside a newer key, with "
      "--old-data-key-file"));
}

}  // namespace blink
