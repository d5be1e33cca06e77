// Zip archives: arrays of NumPy as numpy.savez writes them (.npz), and archives that are written.
//
// The reader trusts no header. Before memory is allocated, a member's size is compared with the most that its
// compressed bytes can inflate to.
#ifndef BLINK_COMMON_GRAPH_ZIP_ARCHIVE_H_
#define BLINK_COMMON_GRAPH_ZIP_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/npy_array.h"

struct zip;

namespace blink {

class NpzArchive {
 public:
  // Returns INVALID_ARGUMENT for bytes that are no zip archive. `bytes` must outlive the archive.
  static absl::StatusOr<NpzArchive> Open(absl::string_view bytes, const std::string& name);

  // The names of the first 64 members, with ".npy".
  const std::vector<std::string>& members() const { return members_; }
  // Whether the array is one of these.
  bool Has(absl::string_view array) const;
  // The array that is called so, without ".npy". It points into this archive, which keeps it. Returns INVALID_ARGUMENT
  // when it is missing or malformed, and when the arrays that were read have grown implausibly (input.h). GetAny also
  // takes objects ('O'), whose data are a pickle.
  absl::StatusOr<NpyArray> Get(const std::string& array);
  absl::StatusOr<NpyArray> GetAny(const std::string& array);
  // Frees an array that was read. What points into it must not be used any more.
  void Forget(const std::string& array);

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };
  NpzArchive(zip* archive, uint64_t bytes, const std::string& name);
  absl::StatusOr<absl::string_view> Content(const std::string& array);

  std::unique_ptr<zip, Discard> archive_;
  std::string name_;
  uint64_t bytes_, unpacked_bytes_ = 0;  // of the archive; of what was read of it
  std::vector<std::string> members_;
  std::map<std::string, std::string> contents_;  // of the arrays that were read
};

// Writes an archive of (name, content) in this order, atomically. The same members give the same file. Errors are those
// of common/base/durable_file.h.
absl::Status WriteZip(const std::vector<std::pair<std::string, std::string>>& members, bool compressed,
                      const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_ZIP_ARCHIVE_H_
