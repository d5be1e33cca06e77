// The stack on which the opcodes of a pickle build its values, and the memo that they keep some of them in.
#ifndef BLINK_TOOLS_DATASET_IMPORT_PICKLE_STACK_H_
#define BLINK_TOOLS_DATASET_IMPORT_PICKLE_STACK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/dataset/import/pickle.h"
#include "tools/dataset/import/pickle_cursor.h"

namespace blink {

// All methods return INVALID_ARGUMENT, with the place of the cursor, when the stack does not hold what they need, and
// when the pickle becomes larger than Pickle allows.
class PickleStack {
 public:
  using Kind = PickleValue::Kind;
  using Items = std::vector<const PickleValue*>;

  explicit PickleStack(const PickleCursor& cursor);

  absl::Status Push(Kind kind);
  absl::Status PushInteger(Kind kind, int64_t integer);
  absl::Status PushReal(double real);
  absl::Status PushString(Kind kind, absl::string_view text);  // that stands in the bytes
  absl::Status PushOwnString(Kind kind, std::string text);
  absl::Status PushItems(Kind kind, Items items);
  absl::Status PushTuple(int count);  // of the last values

  absl::Status Pop(PickleValue*& out);
  absl::Status Top(PickleValue*& out);
  absl::Status PopToMark(Items& out);  // what lies above the last mark, which goes
  absl::Status PopOrUnmark();
  absl::Status Mark();
  absl::Status Duplicate();
  // Adds to the list or dictionary on top.
  absl::Status Extend(Kind kind, Items items);

  // A name, if the list of allowed ones holds it (pickle_stack.cc).
  absl::Status PushName(absl::string_view module, absl::string_view name);
  // What a call of the name gives: bytes, an empty dictionary, or a kCall.
  absl::Status PushCall(const PickleValue& callee, const PickleValue& arguments);

  absl::Status Put(uint64_t key);
  absl::Status PutNext() { return Put(memo_.size()); }
  absl::Status Get(uint64_t key);

  // The one value that is left.
  absl::StatusOr<Pickle> Finish();

 private:
  // How many values lie above the last mark, or in the whole stack.
  size_t Above() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  absl::Status PushAgain(PickleValue* value);

  const PickleCursor& cursor_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  absl::flat_hash_map<uint64_t, PickleValue*> memo_;
  size_t own_bytes_ = 0;  // of texts that do not stand in the bytes as they are
  Pickle pickle_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_PICKLE_STACK_H_
