// The anchor of a journal: a small file on another volume that shows when an older copy of the journal took its place.
// It holds how far the journal had come when a report was last allowed to leave.
//
//   Journal::Commit    journal written and fsynced -> anchor replaced and fsynced -> only now anything is sent
//   Journal::Open      the journal must contain the anchored position, with the anchored chain value; a journal that
//                      is ahead of its anchor (the process died between the two) is accepted, and the anchor follows
//                      before anything is sent
//
// Before each write, the anchor must be as this process left it. This has two effects:
// - When two copies of a journal share an anchor and run at the same time, one of them stops before it draws, unless
//   both write within the same milliseconds.
// - When the anchor's volume went away, no file is written into its empty mount point.
//
// It is not detected when journal and anchor are restored together. So keep the anchor on a volume that is not backed
// up with the journal.
//
// The file is text with one valid spelling. It has a line each for the format, the journal (32 hexadecimal digits), the
// length (bytes), the chain (64 digits) and the checksum (SHA-256 of the lines before).
#ifndef BLINK_NODE_CLIENT_ANCHOR_H_
#define BLINK_NODE_CLIENT_ANCHOR_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/digest.h"

namespace blink {

using JournalId = std::array<uint8_t, 16>;  // drawn when a journal is made

struct Anchor {
  JournalId journal{};
  uint64_t length = 0;  // of the journal, bytes
  Digest chain{};       // over its records up to there
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

std::string AnchorToText(const Anchor& anchor);
// Returns FAILED_PRECONDITION for another format, and DATA_LOSS unless `text` is what AnchorToText makes. `path` is for
// messages.
absl::StatusOr<Anchor> ParseAnchor(const std::string& text, const std::string& path);

// Returns the errors of ReadFile, such as NOT_FOUND, and of ParseAnchor. All but those for another format name the
// remedy. A file that is too large is DATA_LOSS.
absl::StatusOr<Anchor> ReadAnchor(const std::string& path);
// Replaces the file as a whole, so that it is always the old or the new one. It is durable when this returns OK. A
// symbolic link stays, and the file that it points to is replaced.
absl::Status WriteAnchor(const std::string& path, const Anchor& anchor);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_ANCHOR_H_
