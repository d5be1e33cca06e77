// The bytes of a pickle, one after the other, with the place for messages.
#ifndef BLINK_TOOLS_DATASET_IMPORT_PICKLE_CURSOR_H_
#define BLINK_TOOLS_DATASET_IMPORT_PICKLE_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

class PickleCursor {
 public:
  PickleCursor(absl::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  size_t size() const { return bytes_.size(); }
  // The byte of the next opcode, which errors name from then on.
  absl::Status TakeOpcode(char& out);

  // All return INVALID_ARGUMENT when the bytes end before.
  absl::Status Take(uint64_t count, absl::string_view& out);
  absl::Status TakeNumber(int bytes, uint64_t& out);          // little endian
  absl::Status TakePiece(int bytes, absl::string_view& out);  // its length stands before it in `bytes` bytes
  absl::Status TakeLine(absl::string_view& out);              // without "\n"

  // INVALID_ARGUMENT that names the file and the opcode's byte.
  absl::Status Wrong(absl::string_view what) const;
  absl::Status Malformed(absl::string_view what) const;

 private:
  absl::string_view bytes_;
  const std::string& name_;
  size_t next_ = 0, opcode_at_ = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_PICKLE_CURSOR_H_
