#include "tools/dataset/import/pickle_cursor.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {

using absl::string_view;

absl::Status PickleCursor::TakeOpcode(char& out) {
  opcode_at_ = next_;
  string_view opcode;
  BLINK_RETURN_IF_ERROR(Take(1, opcode));
  out = opcode[0];
  return absl::OkStatus();
}

absl::Status PickleCursor::Take(uint64_t count, string_view& out) {
  if (count > bytes_.size() - next_) return Malformed("it is cut off");
  out = bytes_.substr(next_, count);
  next_ += count;
  return absl::OkStatus();
}

absl::Status PickleCursor::TakeNumber(int bytes, uint64_t& out) {
  string_view taken;
  BLINK_RETURN_IF_ERROR(Take(bytes, taken));
  out = 0;
  for (int k = bytes - 1; k >= 0; --k) out = out << 8 | static_cast<uint8_t>(taken[k]);
  return absl::OkStatus();
}

absl::Status PickleCursor::TakePiece(int bytes, string_view& out) {
  uint64_t length = 0;
  BLINK_RETURN_IF_ERROR(TakeNumber(bytes, length));
  return Take(length, out);
}

absl::Status PickleCursor::TakeLine(string_view& out) {
  const size_t end = bytes_.find('\n', next_);
  if (end == string_view::npos) return Malformed("it is cut off");
  out = bytes_.substr(next_, end - next_);
  next_ = end + 1;
  return absl::OkStatus();
}

absl::Status PickleCursor::Wrong(string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ", byte ", opcode_at_, ": ", what));
}

absl::Status PickleCursor::Malformed(string_view what) const {
  return Wrong(absl::StrCat("the pickle is damaged (", what, "); fetch or make the file again"));
}

}  // namespace blink
