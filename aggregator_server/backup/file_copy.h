// Copies one file and says what it held.
#ifndef BLINK_AGGREGATOR_SERVER_BACKUP_FILE_COPY_H_
#define BLINK_AGGREGATOR_SERVER_BACKUP_FILE_COPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/digest.h"

namespace blink {

struct FileContent {
  uint64_t bytes = 0;
  Digest digest{};
};

// Copies `source` to `target`, which must not exist, and fsyncs it (mode 0600). An empty `target`: reads alone. Of
// `source` no more than `bytes_max` bytes are read, since somebody may be writing behind them. Errors are those of
// durable_file.h.
absl::StatusOr<FileContent> CopyDurably(const std::string& source, const std::string& target,
                                        uint64_t bytes_max = UINT64_MAX);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_BACKUP_FILE_COPY_H_
