// Where a result goes. The place is checked before hours of work, filled beside it, and put there at once.
//
//   BLINK_ASSIGN_OR_RETURN(ResultPlace place, ResultPlace::Claim("out/result", ResultPlace::Existing::kReplace));
//   ...                                                            // hours
//   BLINK_RETURN_IF_ERROR(WriteResultFolder(place.temporary(), ...));
//   BLINK_RETURN_IF_ERROR(place.Publish());
//
// The temporary folder is DIR.tmp beside DIR, locked while the claim lasts. A crash at any moment leaves the old result
// or the new one at DIR (or, where the file system cannot exchange two names, the old one at DIR.old, which the next
// claim brings back), and at most a DIR.tmp, which the next claim clears.
//
// Only files that a result is made of are deleted (common/wire/artifacts.h), by their names, and a folder only when it
// is empty then. So a folder that somebody named by mistake keeps all that it holds.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_RESULT_PLACE_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_RESULT_PLACE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace blink {

// OK: `folder` holds a result and nothing else. INVALID_ARGUMENT, naming what speaks against it, otherwise.
absl::Status CheckIsResult(const std::string& folder);

class ResultPlace {
 public:
  enum class Existing { kRefuse, kReplace };  // an earlier result at DIR; an absent or empty DIR is always fine

  // Makes and locks DIR.tmp. NOT_FOUND: no folder above DIR. INVALID_ARGUMENT: DIR is no folder, is the root of a
  // mounted volume, holds something else than a result, or a result that may not be replaced. ABORTED: another process
  // is at it, after `patience_s` (a worker whose parent has died may take a moment to end). Otherwise what the file
  // system says.
  static absl::StatusOr<ResultPlace> Claim(const std::string& folder, Existing existing, double patience_s = 5);
  ResultPlace(ResultPlace&& other) noexcept;
  ResultPlace& operator=(ResultPlace&& other) noexcept;
  ~ResultPlace();  // clears what was not published

  // Whether `path` is, or is in, one of the folders that a result at `folder` takes: DIR, DIR.tmp and DIR.old. What
  // somebody keeps there would be taken for a part of the result, or keep it from its place.
  static bool Takes(const std::string& folder, const std::string& path);

  const std::string& folder() const { return folder_; }  // absolute, links followed
  std::string temporary() const { return folder_ + ".tmp"; }

  // Puts temporary(), whose files are durable (WriteFileAtomically), in the place of DIR. Once. `exchange` false: as on a file system
  // that cannot exchange names.
  absl::Status Publish(bool exchange = true);

 private:
  ResultPlace(std::string folder, Existing existing, int lock)
      : folder_(std::move(folder)), existing_(existing), lock_(lock) {}

  std::string folder_;
  Existing existing_ = Existing::kRefuse;
  int lock_ = -1;  // -1: published, or moved from
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_RESULT_PLACE_H_
