#include "tools/dataset/import/pickle_stack.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

using absl::string_view;

constexpr size_t kValuesMax = 20'000'000;
constexpr size_t kArgumentsMax = 8;  // NumPy and SciPy give five at most

// The names that a pickle may hold, as module and name have been called since Python 2. What they stand for is built by
// pickle_arrays.cc; nothing is called.
constexpr string_view kNames[] = {
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer",
    "numpy.ndarray",
    "numpy.dtype",
    "scipy.sparse.csr.csr_matrix",
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse.csc.csc_matrix",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse.coo.coo_matrix",
    "scipy.sparse._coo.coo_matrix",
    "scipy.sparse._coo.coo_array",
    "copy_reg._reconstructor",
    "copyreg._reconstructor",
    "__builtin__.object",
    "builtins.object",
    "__builtin__.list",
    "builtins.list",
    "__builtin__.bytes",
    "builtins.bytes",
    "collections.defaultdict",
    "collections.OrderedDict",
    "_codecs.encode",
};

// Text in UTF-8 as the Latin-1 bytes that it stands for: how Python 3 writes bytes in protocol 2.
std::optional<std::string> Latin1Of(string_view utf8) {
  std::string bytes;
  for (size_t k = 0; k < utf8.size(); ++k) {
    const auto byte = static_cast<uint8_t>(utf8[k]);
    if (byte < 0x80) {
      bytes.push_back(utf8[k]);
    } else if ((byte == 0xc2 || byte == 0xc3) && k + 1 < utf8.size() && (utf8[k + 1] & 0xc0) == 0x80) {
      bytes.push_back(static_cast<char>((byte & 3) << 6 | (utf8[++k] & 0x3f)));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

PickleStack::PickleStack(const PickleCursor& cursor) : cursor_(cursor) {
  pickle_.arena_ = std::make_unique<Pickle::Arena>();
  pickle_.byte_count_ = cursor.size();
}

absl::Status PickleStack::Push(Kind kind) {
  auto& values = pickle_.arena_->values;
  if (values.size() >= kValuesMax)
    return cursor_.Wrong(absl::StrCat("the pickle holds more than ", kValuesMax, " values"));
  values.emplace_back().kind = kind;
  stack_.push_back(&values.back());
  return absl::OkStatus();
}

absl::Status PickleStack::PushInteger(Kind kind, int64_t integer) {
  BLINK_RETURN_IF_ERROR(Push(kind));
  stack_.back()->integer = integer;
  return absl::OkStatus();
}

absl::Status PickleStack::PushReal(double real) {
  BLINK_RETURN_IF_ERROR(Push(Kind::kReal));
  stack_.back()->real = real;
  return absl::OkStatus();
}

absl::Status PickleStack::PushString(Kind kind, string_view text) {
  BLINK_RETURN_IF_ERROR(Push(kind));
  stack_.back()->text = text;
  return absl::OkStatus();
}

// A text of the pickle is decoded once, and bytes of protocol 0 twice, to at most twice their length. A text that is
// decoded again and again would fill the memory.
absl::Status PickleStack::PushOwnString(Kind kind, std::string text) {
  own_bytes_ += text.size();
  if (own_bytes_ > 3 * cursor_.size()) return cursor_.Malformed("its texts are longer than it is");
  return PushString(kind, pickle_.arena_->texts.emplace_back(std::move(text)));
}

absl::Status PickleStack::PushItems(Kind kind, Items items) {
  if (kind == Kind::kDict && items.size() % 2 != 0) return cursor_.Malformed("a key has no value");
  BLINK_RETURN_IF_ERROR(Push(kind));
  stack_.back()->items = std::move(items);
  return absl::OkStatus();
}

absl::Status PickleStack::PushTuple(int count) {
  Items items(count);
  for (int k = count - 1; k >= 0; --k) {
    PickleValue* item = nullptr;
    BLINK_RETURN_IF_ERROR(Pop(item));
    items[k] = item;
  }
  return PushItems(Kind::kTuple, std::move(items));
}

absl::Status PickleStack::Pop(PickleValue*& out) {
  BLINK_RETURN_IF_ERROR(Top(out));
  stack_.pop_back();
  return absl::OkStatus();
}

absl::Status PickleStack::Top(PickleValue*& out) {
  if (Above() == 0) return cursor_.Malformed("a value is missing");
  out = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleStack::PopToMark(Items& out) {
  if (marks_.empty()) return cursor_.Malformed("a mark is missing");
  out.assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return absl::OkStatus();
}

absl::Status PickleStack::PopOrUnmark() {
  if (Above() == 0 && !marks_.empty()) {
    marks_.pop_back();
    return absl::OkStatus();
  }
  PickleValue* ignored = nullptr;
  return Pop(ignored);
}

absl::Status PickleStack::Mark() {
  if (marks_.size() >= kValuesMax) return cursor_.Malformed("it has too many marks");
  marks_.push_back(stack_.size());
  return absl::OkStatus();
}

absl::Status PickleStack::PushAgain(PickleValue* value) {
  if (stack_.size() >= kValuesMax)
    return cursor_.Wrong(absl::StrCat("the pickle holds more than ", kValuesMax, " values"));
  stack_.push_back(value);
  return absl::OkStatus();
}

absl::Status PickleStack::Duplicate() {
  PickleValue* value = nullptr;
  BLINK_RETURN_IF_ERROR(Top(value));
  return PushAgain(value);
}

absl::Status PickleStack::Extend(Kind kind, Items items) {
  PickleValue* target = nullptr;
  BLINK_RETURN_IF_ERROR(Top(target));
  if (target->kind != kind) return cursor_.Malformed("an item has no list or dictionary");
  if (kind == Kind::kDict && items.size() % 2 != 0) return cursor_.Malformed("a key has no value");
  target->items.insert(target->items.end(), items.begin(), items.end());
  return absl::OkStatus();
}

absl::Status PickleStack::PushName(string_view module, string_view name) {
  const std::string whole = absl::StrCat(module, ".", name);
  const auto* known = std::find(std::begin(kNames), std::end(kNames), whole);
  if (known == std::end(kNames)) {
    return cursor_.Wrong(absl::StrCat(
        "the pickle names ", absl::CEscape(whole.substr(0, 80)),
        ", and to load it would run that. blink reads numbers, texts, lists, dictionaries, arrays of NumPy and "
        "matrices of SciPy, and runs nothing. If you trust its source, load it in Python and write its parts with "
        "numpy.savez"));
  }
  return PushString(Kind::kName, *known);
}

absl::Status PickleStack::PushCall(const PickleValue& callee, const PickleValue& arguments) {
  if (callee.kind != Kind::kName || arguments.kind != Kind::kTuple) return cursor_.Malformed("a call has no name");
  const Items& items = arguments.items;
  if (items.size() > kArgumentsMax) return cursor_.Malformed("a call has too many arguments");
  if (callee.text == "_codecs.encode") {
    if (items.size() != 2 || !items[0]->is_string()) return cursor_.Malformed("bytes are not text");
    std::optional<std::string> bytes = Latin1Of(items[0]->text);
    if (!bytes || !absl::EqualsIgnoreCase(items[1]->text, "latin1"))
      return cursor_.Malformed("bytes are not in Latin-1");
    return PushOwnString(Kind::kBytes, *std::move(bytes));
  }
  if (absl::EndsWith(callee.text, ".bytes")) {  // how Python 3 writes no bytes in protocols 0 to 2
    if (!items.empty()) return cursor_.Malformed("bytes with arguments");
    return PushString(Kind::kBytes, "");
  }
  if (callee.text == "collections.OrderedDict" || callee.text == "collections.defaultdict") {
    const size_t most = callee.text == "collections.defaultdict" ? 1 : 0;
    if (items.size() > most) return cursor_.Malformed("a dictionary with arguments");
    return Push(Kind::kDict);
  }
  BLINK_RETURN_IF_ERROR(Push(Kind::kCall));
  stack_.back()->callee = &callee;
  stack_.back()->items = items;
  return absl::OkStatus();
}

absl::Status PickleStack::Put(uint64_t key) {
  PickleValue* value = nullptr;
  BLINK_RETURN_IF_ERROR(Top(value));
  memo_[key] = value;
  return absl::OkStatus();
}

absl::Status PickleStack::Get(uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return cursor_.Malformed("it refers to a value that it does not hold");
  return PushAgain(found->second);
}

absl::StatusOr<Pickle> PickleStack::Finish() {
  PickleValue* value = nullptr;
  BLINK_RETURN_IF_ERROR(Pop(value));
  if (!stack_.empty() || !marks_.empty()) return cursor_.Malformed("more than one value is left");
  pickle_.root_ = value;
  return std::move(pickle_);
}

}  // namespace blink
