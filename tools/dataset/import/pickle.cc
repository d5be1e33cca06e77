#include "tools/dataset/import/pickle.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

using absl::string_view;
using Kind = PickleValue::Kind;

constexpr size_t kValuesMax = 20'000'000;

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

// What Python's repr() writes between quotation marks.
std::optional<std::string> UnescapedOf(string_view text) {
  static constexpr string_view kEscapes = "\\'\"nrtabfv", kMeanings = "\\'\"\n\r\t\a\b\f\v";
  std::string bytes;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '\\') {
      bytes.push_back(text[k]);
      continue;
    }
    if (++k >= text.size()) return std::nullopt;
    if (text[k] == 'x') {
      if (k + 2 >= text.size() || !absl::ascii_isxdigit(text[k + 1]) || !absl::ascii_isxdigit(text[k + 2]))
        return std::nullopt;
      bytes += absl::HexStringToBytes(text.substr(k + 1, 2));
      k += 2;
      continue;
    }
    const size_t escape = kEscapes.find(text[k]);
    if (escape == string_view::npos) return std::nullopt;
    bytes.push_back(kMeanings[escape]);
  }
  return bytes;
}

}  // namespace

class PickleMachine {
 public:
  PickleMachine(string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    pickle_.arena_ = std::make_unique<Pickle::Arena>();
  }

  absl::StatusOr<Pickle> Run() {
    while (!stopped_) {
      at_ = next_;
      string_view opcode;
      BLINK_RETURN_IF_ERROR(Take(1, opcode));
      BLINK_RETURN_IF_ERROR(Step(opcode[0]));
    }
    return std::move(pickle_);
  }

 private:
  absl::Status Wrong(string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ", byte ", at_, ": ", what));
  }
  absl::Status Malformed(string_view what) const {
    return Wrong(absl::StrCat("the pickle is damaged (", what, "); fetch or make the file again"));
  }

  // ---- bytes ----

  absl::Status Take(uint64_t count, string_view& out) {
    if (count > bytes_.size() - next_) return Malformed("it is cut off");
    out = bytes_.substr(next_, count);
    next_ += count;
    return absl::OkStatus();
  }
  absl::Status TakeNumber(int bytes, uint64_t& out) {
    string_view taken;
    BLINK_RETURN_IF_ERROR(Take(bytes, taken));
    out = 0;
    for (int k = bytes - 1; k >= 0; --k) out = out << 8 | static_cast<uint8_t>(taken[k]);
    return absl::OkStatus();
  }
  // A piece whose length stands before it in `bytes` bytes.
  absl::Status TakePiece(int bytes, string_view& out) {
    uint64_t length = 0;
    BLINK_RETURN_IF_ERROR(TakeNumber(bytes, length));
    return Take(length, out);
  }
  absl::Status TakeLine(string_view& out) {
    const size_t end = bytes_.find('\n', next_);
    if (end == string_view::npos) return Malformed("it is cut off");
    out = bytes_.substr(next_, end - next_);
    next_ = end + 1;
    return absl::OkStatus();
  }

  // ---- the stack ----

  absl::StatusOr<PickleValue*> New(Kind kind) {
    auto& values = pickle_.arena_->values;
    if (values.size() >= kValuesMax) return Wrong(absl::StrCat("the pickle holds more than ", kValuesMax, " values"));
    values.emplace_back().kind = kind;
    return &values.back();
  }
  absl::Status Push(Kind kind) {
    BLINK_ASSIGN_OR_RETURN(PickleValue * value, New(kind));
    stack_.push_back(value);
    return absl::OkStatus();
  }
  absl::Status PushInteger(Kind kind, int64_t integer) {
    BLINK_RETURN_IF_ERROR(Push(kind));
    stack_.back()->integer = integer;
    return absl::OkStatus();
  }
  absl::Status PushString(Kind kind, string_view text) {
    BLINK_RETURN_IF_ERROR(Push(kind));
    stack_.back()->text = text;
    return absl::OkStatus();
  }
  absl::Status PushOwnString(Kind kind, std::string text) {
    return PushString(kind, pickle_.arena_->texts.emplace_back(std::move(text)));
  }
  // How many values lie above the last mark, or in the whole stack.
  size_t Above() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  absl::Status Pop(PickleValue*& out) {
    if (Above() == 0) return Malformed("a value is missing");
    out = stack_.back();
    stack_.pop_back();
    return absl::OkStatus();
  }
  absl::Status Top(PickleValue*& out) {
    BLINK_RETURN_IF_ERROR(Pop(out));
    stack_.push_back(out);
    return absl::OkStatus();
  }
  // What lies above the last mark, which goes.
  absl::Status PopToMark(std::vector<const PickleValue*>& out) {
    if (marks_.empty()) return Malformed("a mark is missing");
    out.assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return absl::OkStatus();
  }
  absl::Status PushItems(Kind kind, std::vector<const PickleValue*> items) {
    if (kind == Kind::kDict && items.size() % 2 != 0) return Malformed("a key has no value");
    BLINK_RETURN_IF_ERROR(Push(kind));
    stack_.back()->items = std::move(items);
    return absl::OkStatus();
  }
  absl::Status PushTuple(int count) {
    std::vector<const PickleValue*> items(count);
    for (int k = count - 1; k >= 0; --k) {
      PickleValue* item = nullptr;
      BLINK_RETURN_IF_ERROR(Pop(item));
      items[k] = item;
    }
    return PushItems(Kind::kTuple, std::move(items));
  }
  absl::Status Extend(Kind kind, std::vector<const PickleValue*> items) {
    PickleValue* target = nullptr;
    BLINK_RETURN_IF_ERROR(Top(target));
    if (target->kind != kind) return Malformed("an item has no list or dictionary");
    if (kind == Kind::kDict && items.size() % 2 != 0) return Malformed("a key has no value");
    target->items.insert(target->items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  // ---- names and calls ----

  absl::Status PushName(string_view module, string_view name) {
    const std::string whole = absl::StrCat(module, ".", name);
    const auto* known = std::find(std::begin(kNames), std::end(kNames), whole);
    if (known == std::end(kNames)) {
      return Wrong(absl::StrCat(
          "the pickle names ", absl::CEscape(whole.substr(0, 80)),
          ", and to load it would run that. blink reads numbers, texts, lists, dictionaries, arrays of NumPy and "
          "matrices of SciPy, and runs nothing. If you trust its source, load it in Python and write its parts with "
          "numpy.savez"));
    }
    return PushString(Kind::kName, *known);
  }

  absl::Status Call(PickleValue* callee, PickleValue* arguments) {
    if (callee->kind != Kind::kName || arguments->kind != Kind::kTuple) return Malformed("a call has no name");
    if (callee->text == "_codecs.encode") {
      const auto& items = arguments->items;
      if (items.size() != 2 || !items[0]->is_string()) return Malformed("bytes are not text");
      std::optional<std::string> bytes = Latin1Of(items[0]->text);
      if (!bytes || !absl::EqualsIgnoreCase(absl::StripSuffix(items[1]->text, "\n"), "latin1"))
        return Malformed("bytes are not in Latin-1");
      return PushOwnString(Kind::kBytes, *std::move(bytes));
    }
    const bool dict = callee->text == "collections.OrderedDict" || callee->text == "collections.defaultdict";
    if (dict) {
      const size_t most = callee->text == "collections.defaultdict" ? 1 : 0;
      if (arguments->items.size() > most) return Malformed("a dictionary with arguments");
      return Push(Kind::kDict);
    }
    BLINK_RETURN_IF_ERROR(Push(Kind::kCall));
    stack_.back()->callee = callee;
    stack_.back()->items = arguments->items;
    return absl::OkStatus();
  }

  // ---- memo ----

  absl::Status Put(uint64_t key) {
    PickleValue* value = nullptr;
    BLINK_RETURN_IF_ERROR(Top(value));
    memo_[key] = value;
    return absl::OkStatus();
  }
  absl::Status Get(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return Malformed("it refers to a value that it does not hold");
    if (stack_.size() >= kValuesMax) return Wrong(absl::StrCat("the pickle holds more than ", kValuesMax, " values"));
    stack_.push_back(found->second);
    return absl::OkStatus();
  }
  absl::Status TakeKey(uint64_t& key) {
    string_view line;
    BLINK_RETURN_IF_ERROR(TakeLine(line));
    return absl::SimpleAtoi(line, &key) ? absl::OkStatus() : Malformed("a number is unreadable");
  }

  // ---- opcodes ----

  absl::Status Step(char opcode) {
    uint64_t number = 0;
    string_view text, more;
    PickleValue *value = nullptr, *other = nullptr;
    std::vector<const PickleValue*> items;
    switch (opcode) {
      case '\x80':  // PROTO
        BLINK_RETURN_IF_ERROR(TakeNumber(1, number));
        return number <= 5 ? absl::OkStatus() : Wrong(absl::StrCat("protocol ", number, " of pickles is not known"));
      case '\x95':  // FRAME: how much follows, which the opcodes tell too
        return TakeNumber(8, number);
      case '.':  // STOP
        BLINK_RETURN_IF_ERROR(Pop(value));
        if (!stack_.empty() || !marks_.empty()) return Malformed("more than one value is left");
        pickle_.root_ = value;
        stopped_ = true;
        return absl::OkStatus();
      case '(':  // MARK
        if (marks_.size() >= kValuesMax) return Malformed("it has too many marks");
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case '0':  // POP
        if (Above() == 0 && !marks_.empty()) {
          marks_.pop_back();
          return absl::OkStatus();
        }
        return Pop(value);
      case '1':  // POP_MARK
        return PopToMark(items);
      case '2':  // DUP
        BLINK_RETURN_IF_ERROR(Top(value));
        stack_.push_back(value);
        return stack_.size() <= kValuesMax ? absl::OkStatus() : Malformed("it holds too many values");
      case 'N':
        return Push(Kind::kNone);
      case '\x88':  // NEWTRUE
        return PushInteger(Kind::kBool, 1);
      case '\x89':  // NEWFALSE
        return PushInteger(Kind::kBool, 0);
      case 'K':  // BININT1
        BLINK_RETURN_IF_ERROR(TakeNumber(1, number));
        return PushInteger(Kind::kInteger, static_cast<int64_t>(number));
      case 'M':  // BININT2
        BLINK_RETURN_IF_ERROR(TakeNumber(2, number));
        return PushInteger(Kind::kInteger, static_cast<int64_t>(number));
      case 'J':  // BININT
        BLINK_RETURN_IF_ERROR(TakeNumber(4, number));
        return PushInteger(Kind::kInteger, static_cast<int32_t>(number));
      case 'I':  // INT: a line; 00 and 01 are bools
      case 'L':  // LONG: a line that ends with L
        return IntegerLine(opcode == 'I');
      case '\x8a':  // LONG1
        BLINK_RETURN_IF_ERROR(TakePiece(1, text));
        return Long(text);
      case '\x8b':  // LONG4
        BLINK_RETURN_IF_ERROR(TakePiece(4, text));
        return Long(text);
      case 'F':  // FLOAT: a line
      case 'G':  // BINFLOAT
        return Real(opcode == 'F');
      case 'S':  // STRING: a line, quoted
      case 'V':  // UNICODE: a line, escaped
        return StringLine(opcode == 'S');
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        BLINK_RETURN_IF_ERROR(TakePiece(4, text));
        return PushString(Kind::kBytes, text);
      case 'U':  // SHORT_BINSTRING
      case 'C':  // SHORT_BINBYTES
        BLINK_RETURN_IF_ERROR(TakePiece(1, text));
        return PushString(Kind::kBytes, text);
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        BLINK_RETURN_IF_ERROR(TakePiece(8, text));
        return PushString(Kind::kBytes, text);
      case '\x8c':  // SHORT_BINUNICODE
        BLINK_RETURN_IF_ERROR(TakePiece(1, text));
        return PushString(Kind::kText, text);
      case 'X':  // BINUNICODE
        BLINK_RETURN_IF_ERROR(TakePiece(4, text));
        return PushString(Kind::kText, text);
      case '\x8d':  // BINUNICODE8
        BLINK_RETURN_IF_ERROR(TakePiece(8, text));
        return PushString(Kind::kText, text);
      case ')':  // EMPTY_TUPLE
        return Push(Kind::kTuple);
      case '\x85':  // TUPLE1
        return PushTuple(1);
      case '\x86':  // TUPLE2
        return PushTuple(2);
      case '\x87':  // TUPLE3
        return PushTuple(3);
      case ']':  // EMPTY_LIST
        return Push(Kind::kList);
      case '}':  // EMPTY_DICT
        return Push(Kind::kDict);
      case 't':  // TUPLE
        BLINK_RETURN_IF_ERROR(PopToMark(items));
        return PushItems(Kind::kTuple, std::move(items));
      case 'l':  // LIST
        BLINK_RETURN_IF_ERROR(PopToMark(items));
        return PushItems(Kind::kList, std::move(items));
      case 'd':  // DICT
        BLINK_RETURN_IF_ERROR(PopToMark(items));
        return PushItems(Kind::kDict, std::move(items));
      case 'a':  // APPEND
        BLINK_RETURN_IF_ERROR(Pop(value));
        return Extend(Kind::kList, {value});
      case 'e':  // APPENDS
        BLINK_RETURN_IF_ERROR(PopToMark(items));
        return Extend(Kind::kList, std::move(items));
      case 's':  // SETITEM
        BLINK_RETURN_IF_ERROR(Pop(value));
        BLINK_RETURN_IF_ERROR(Pop(other));
        return Extend(Kind::kDict, {other, value});
      case 'u':  // SETITEMS
        BLINK_RETURN_IF_ERROR(PopToMark(items));
        return Extend(Kind::kDict, std::move(items));
      case 'c':  // GLOBAL
        BLINK_RETURN_IF_ERROR(TakeLine(text));
        BLINK_RETURN_IF_ERROR(TakeLine(more));
        return PushName(text, more);
      case '\x93':  // STACK_GLOBAL
        BLINK_RETURN_IF_ERROR(Pop(value));
        BLINK_RETURN_IF_ERROR(Pop(other));
        if (!value->is_string() || !other->is_string()) return Malformed("a name is no text");
        return PushName(other->text, value->text);
      case 'R':     // REDUCE
      case '\x81':  // NEWOBJ
        BLINK_RETURN_IF_ERROR(Pop(value));
        BLINK_RETURN_IF_ERROR(Pop(other));
        return Call(other, value);
      case 'b':  // BUILD
        BLINK_RETURN_IF_ERROR(Pop(value));
        BLINK_RETURN_IF_ERROR(Top(other));
        if (other->kind != Kind::kCall || other->state != nullptr) return Malformed("a state has no object");
        other->state = value;
        return absl::OkStatus();
      case 'p':  // PUT
        BLINK_RETURN_IF_ERROR(TakeKey(number));
        return Put(number);
      case 'q':  // BINPUT
        BLINK_RETURN_IF_ERROR(TakeNumber(1, number));
        return Put(number);
      case 'r':  // LONG_BINPUT
        BLINK_RETURN_IF_ERROR(TakeNumber(4, number));
        return Put(number);
      case '\x94':  // MEMOIZE
        return Put(memo_.size());
      case 'g':  // GET
        BLINK_RETURN_IF_ERROR(TakeKey(number));
        return Get(number);
      case 'h':  // BINGET
        BLINK_RETURN_IF_ERROR(TakeNumber(1, number));
        return Get(number);
      case 'j':  // LONG_BINGET
        BLINK_RETURN_IF_ERROR(TakeNumber(4, number));
        return Get(number);
      default:
        return Wrong(absl::StrCat("the pickle holds the opcode 0x", absl::BytesToHexString(string_view(&opcode, 1)),
                                  ", which arrays of NumPy and matrices of SciPy do not need; load it in Python, where "
                                  "you trust its source, and write its parts with numpy.savez"));
    }
  }

  absl::Status IntegerLine(bool may_be_bool) {
    string_view line;
    BLINK_RETURN_IF_ERROR(TakeLine(line));
    if (may_be_bool && (line == "00" || line == "01")) return PushInteger(Kind::kBool, line == "01");
    int64_t value = 0;
    if (!absl::SimpleAtoi(absl::StripSuffix(line, "L"), &value)) return Malformed("a number is unreadable");
    return PushInteger(Kind::kInteger, value);
  }
  // Little endian, two's complement.
  absl::Status Long(string_view bytes) {
    if (bytes.size() > 8) return Wrong("an integer has more than 64 bits");
    uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t k = bytes.size(); k-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[k]);
    return PushInteger(Kind::kInteger, static_cast<int64_t>(value));
  }
  absl::Status Real(bool line) {
    string_view text;
    double value = 0;
    if (line) {
      BLINK_RETURN_IF_ERROR(TakeLine(text));
      if (!absl::SimpleAtod(text, &value)) return Malformed("a number is unreadable");
    } else {
      BLINK_RETURN_IF_ERROR(Take(8, text));
      char bytes[8];
      std::reverse_copy(text.begin(), text.end(), bytes);
      std::memcpy(&value, bytes, sizeof(value));
    }
    BLINK_RETURN_IF_ERROR(Push(Kind::kReal));
    stack_.back()->real = value;
    return absl::OkStatus();
  }
  absl::Status StringLine(bool quoted) {
    string_view line;
    BLINK_RETURN_IF_ERROR(TakeLine(line));
    if (quoted) {
      if (line.size() < 2 || line.front() != line.back() || (line[0] != '\'' && line[0] != '"'))
        return Malformed("a text has no quotation marks");
      line = line.substr(1, line.size() - 2);
    }
    std::optional<std::string> text = quoted ? UnescapedOf(line) : std::string(line);
    if (!text || (!quoted && absl::StrContains(line, "\\"))) return Malformed("a text is unreadable");
    return PushOwnString(quoted ? Kind::kBytes : Kind::kText, *std::move(text));
  }

  string_view bytes_;
  const std::string& name_;
  size_t next_ = 0, at_ = 0;
  bool stopped_ = false;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  absl::flat_hash_map<uint64_t, PickleValue*> memo_;
  Pickle pickle_;
};

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes, const std::string& name) {
  return PickleMachine(bytes, name).Run();
}

}  // namespace blink
