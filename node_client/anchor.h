// How far a journal had come when a report was last allowed to leave, kept on another volume: what shows that an older
// copy of the journal was put in its place.
//
//   Journal::Commit    journal written and fsynced -> anchor replaced and fsynced -> only now anything is sent
//   Journal::Open      the journal must contain the anchored position, with the anchored chain value; a journal that
//                      is ahead of its anchor (the process died between the two) is accepted, and the anchor follows
//                      before anything is sent
//
// Before each write the anchor must be as this process left it: so of two copies of a journal that share an anchor, and
// run at the same time, one stops before it draws (unless both write within the same milliseconds), and a volume that
// went away is not replaced by a file in its mount point.
//
// Not detected: journal and anchor restored together. So the anchor belongs on a volume that is not backed up with the
// journal.
//
// The file is text: a line each for format, journal (32 hexadecimal digits), length (bytes), chain (64 digits) and
// checksum (SHA-256 of the lines before). There is one valid spelling.
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
// FAILED_PRECONDITION: of another format. DATA_LOSS unless `text` is what AnchorToText makes. `path` is for messages.
absl::StatusOr<Anchor> ParseAnchor(const std::string& text, const std::string& path);

// As ParseAnchor, or NOT_FOUND, with the remedy.
absl::StatusOr<Anchor> ReadAnchor(const std::string& path);
// Durable when it returns OK. The file is replaced as a whole, so that it is always the old or the new one; a symbolic
// link stays, and what it points to is replaced.
absl::Status WriteAnchor(const std::string& path, const Anchor& anchor);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_ANCHOR_H_
