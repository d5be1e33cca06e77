#include "tools/dataset/import/pickle.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/pickle_cursor.h"
#include "tools/dataset/import/pickle_stack.h"
#include "tools/dataset/import/utf8.h"

namespace blink {
namespace {

using absl::string_view;
using Kind = PickleValue::Kind;

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

// A text of protocol 0: Latin-1, with \uXXXX and \UXXXXXXXX for other characters, as UTF-8.
std::optional<std::string> RawUnicodeOf(string_view text) {
  std::string decoded;
  for (size_t k = 0; k < text.size(); ++k) {
    auto code = static_cast<uint32_t>(static_cast<uint8_t>(text[k]));
    const size_t digits = text[k] != '\\' || k + 1 == text.size() ? 0
                          : text[k + 1] == 'u'                    ? 4
                          : text[k + 1] == 'U'                    ? 8
                                                                  : 0;
    if (digits > 0) {
      if (k + 2 + digits > text.size() || !absl::SimpleHexAtoi(text.substr(k + 2, digits), &code) || code > 0x10ffff)
        return std::nullopt;
      k += digits + 1;
    }
    AppendUtf8(code, decoded);
  }
  return decoded;
}

class PickleMachine {
 public:
  PickleMachine(string_view bytes, const std::string& name) : cursor_(bytes, name), stack_(cursor_) {}

  absl::StatusOr<Pickle> Run() {
    while (true) {
      char opcode = 0;
      BLINK_RETURN_IF_ERROR(cursor_.TakeOpcode(opcode));
      if (opcode == '.') return stack_.Finish();  // STOP
      BLINK_RETURN_IF_ERROR(Step(opcode));
    }
  }

 private:
  absl::Status Step(char opcode) {
    uint64_t number = 0;
    string_view text, more;
    PickleValue *value = nullptr, *other = nullptr;
    std::vector<const PickleValue*> items;
    switch (opcode) {
      case '\x80':  // PROTO
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(1, number));
        return number <= 5 ? absl::OkStatus()
                           : cursor_.Wrong(absl::StrCat("protocol ", number, " of pickles is not known"));
      case '\x95':  // FRAME: how much follows, which the opcodes tell too
        return cursor_.TakeNumber(8, number);
      case '(':  // MARK
        return stack_.Mark();
      case '0':  // POP
        return stack_.PopOrUnmark();
      case '1':  // POP_MARK
        return stack_.PopToMark(items);
      case '2':  // DUP
        return stack_.Duplicate();
      case 'N':
        return stack_.Push(Kind::kNone);
      case '\x88':  // NEWTRUE
        return stack_.PushInteger(Kind::kBool, 1);
      case '\x89':  // NEWFALSE
        return stack_.PushInteger(Kind::kBool, 0);
      case 'K':  // BININT1
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(1, number));
        return stack_.PushInteger(Kind::kInteger, static_cast<int64_t>(number));
      case 'M':  // BININT2
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(2, number));
        return stack_.PushInteger(Kind::kInteger, static_cast<int64_t>(number));
      case 'J':  // BININT
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(4, number));
        return stack_.PushInteger(Kind::kInteger, static_cast<int32_t>(number));
      case 'I':  // INT: a line; 00 and 01 are bools
      case 'L':  // LONG: a line that ends with L
        return IntegerLine(opcode == 'I');
      case '\x8a':  // LONG1
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(1, text));
        return Long(text);
      case '\x8b':  // LONG4
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(4, text));
        return Long(text);
      case 'F':  // FLOAT: a line
      case 'G':  // BINFLOAT
        return Real(opcode == 'F');
      case 'S':  // STRING: a line, quoted
      case 'V':  // UNICODE: a line, escaped
        return StringLine(opcode == 'S');
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(4, text));
        return stack_.PushString(Kind::kBytes, text);
      case 'U':  // SHORT_BINSTRING
      case 'C':  // SHORT_BINBYTES
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(1, text));
        return stack_.PushString(Kind::kBytes, text);
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(8, text));
        return stack_.PushString(Kind::kBytes, text);
      case '\x8c':  // SHORT_BINUNICODE
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(1, text));
        return stack_.PushString(Kind::kText, text);
      case 'X':  // BINUNICODE
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(4, text));
        return stack_.PushString(Kind::kText, text);
      case '\x8d':  // BINUNICODE8
        BLINK_RETURN_IF_ERROR(cursor_.TakePiece(8, text));
        return stack_.PushString(Kind::kText, text);
      case ')':  // EMPTY_TUPLE
        return stack_.Push(Kind::kTuple);
      case '\x85':  // TUPLE1
        return stack_.PushTuple(1);
      case '\x86':  // TUPLE2
        return stack_.PushTuple(2);
      case '\x87':  // TUPLE3
        return stack_.PushTuple(3);
      case ']':  // EMPTY_LIST
        return stack_.Push(Kind::kList);
      case '}':  // EMPTY_DICT
        return stack_.Push(Kind::kDict);
      case 't':  // TUPLE
        BLINK_RETURN_IF_ERROR(stack_.PopToMark(items));
        return stack_.PushItems(Kind::kTuple, std::move(items));
      case 'l':  // LIST
        BLINK_RETURN_IF_ERROR(stack_.PopToMark(items));
        return stack_.PushItems(Kind::kList, std::move(items));
      case 'd':  // DICT
        BLINK_RETURN_IF_ERROR(stack_.PopToMark(items));
        return stack_.PushItems(Kind::kDict, std::move(items));
      case 'a':  // APPEND
        BLINK_RETURN_IF_ERROR(stack_.Pop(value));
        return stack_.Extend(Kind::kList, {value});
      case 'e':  // APPENDS
        BLINK_RETURN_IF_ERROR(stack_.PopToMark(items));
        return stack_.Extend(Kind::kList, std::move(items));
      case 's':  // SETITEM
        BLINK_RETURN_IF_ERROR(stack_.Pop(value));
        BLINK_RETURN_IF_ERROR(stack_.Pop(other));
        return stack_.Extend(Kind::kDict, {other, value});
      case 'u':  // SETITEMS
        BLINK_RETURN_IF_ERROR(stack_.PopToMark(items));
        return stack_.Extend(Kind::kDict, std::move(items));
      case 'c':  // GLOBAL
        BLINK_RETURN_IF_ERROR(cursor_.TakeLine(text));
        BLINK_RETURN_IF_ERROR(cursor_.TakeLine(more));
        return stack_.PushName(text, more);
      case '\x93':  // STACK_GLOBAL
        BLINK_RETURN_IF_ERROR(stack_.Pop(value));
        BLINK_RETURN_IF_ERROR(stack_.Pop(other));
        if (!value->is_string() || !other->is_string()) return cursor_.Malformed("a name is no text");
        return stack_.PushName(other->text, value->text);
      case 'R':     // REDUCE
      case '\x81':  // NEWOBJ
        BLINK_RETURN_IF_ERROR(stack_.Pop(value));
        BLINK_RETURN_IF_ERROR(stack_.Pop(other));
        return stack_.PushCall(*other, *value);
      case 'b':  // BUILD
        BLINK_RETURN_IF_ERROR(stack_.Pop(value));
        BLINK_RETURN_IF_ERROR(stack_.Top(other));
        if (other->kind != Kind::kCall || other->state != nullptr) return cursor_.Malformed("a state has no object");
        other->state = value;
        return absl::OkStatus();
      case 'p':  // PUT
        BLINK_RETURN_IF_ERROR(TakeKey(number));
        return stack_.Put(number);
      case 'q':  // BINPUT
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(1, number));
        return stack_.Put(number);
      case 'r':  // LONG_BINPUT
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(4, number));
        return stack_.Put(number);
      case '\x94':  // MEMOIZE
        return stack_.PutNext();
      case 'g':  // GET
        BLINK_RETURN_IF_ERROR(TakeKey(number));
        return stack_.Get(number);
      case 'h':  // BINGET
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(1, number));
        return stack_.Get(number);
      case 'j':  // LONG_BINGET
        BLINK_RETURN_IF_ERROR(cursor_.TakeNumber(4, number));
        return stack_.Get(number);
      default:
        return cursor_.Wrong(
            absl::StrCat("the pickle holds the opcode 0x", absl::BytesToHexString(string_view(&opcode, 1)),
                         ", which arrays of NumPy and matrices of SciPy do not need; load it in Python, where "
                         "you trust its source, and write its parts with numpy.savez"));
    }
  }

  absl::Status TakeKey(uint64_t& key) {
    string_view line;
    BLINK_RETURN_IF_ERROR(cursor_.TakeLine(line));
    return absl::SimpleAtoi(line, &key) ? absl::OkStatus() : cursor_.Malformed("a number is unreadable");
  }

  absl::Status IntegerLine(bool may_be_bool) {
    string_view line;
    BLINK_RETURN_IF_ERROR(cursor_.TakeLine(line));
    if (may_be_bool && (line == "00" || line == "01")) return stack_.PushInteger(Kind::kBool, line == "01");
    int64_t value = 0;
    if (!absl::SimpleAtoi(absl::StripSuffix(line, "L"), &value)) return cursor_.Malformed("a number is unreadable");
    return stack_.PushInteger(Kind::kInteger, value);
  }
  // Little endian, two's complement.
  absl::Status Long(string_view bytes) {
    if (bytes.size() > 8) return cursor_.Wrong("an integer has more than 64 bits");
    uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t k = bytes.size(); k-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[k]);
    return stack_.PushInteger(Kind::kInteger, static_cast<int64_t>(value));
  }
  absl::Status Real(bool line) {
    string_view text;
    double value = 0;
    if (line) {
      BLINK_RETURN_IF_ERROR(cursor_.TakeLine(text));
      if (!absl::SimpleAtod(text, &value)) return cursor_.Malformed("a number is unreadable");
    } else {
      BLINK_RETURN_IF_ERROR(cursor_.Take(8, text));
      char bytes[8];
      std::reverse_copy(text.begin(), text.end(), bytes);
      std::memcpy(&value, bytes, sizeof(value));
    }
    return stack_.PushReal(value);
  }
  absl::Status StringLine(bool quoted) {
    string_view line;
    BLINK_RETURN_IF_ERROR(cursor_.TakeLine(line));
    if (quoted) {
      if (line.size() < 2 || line.front() != line.back() || (line[0] != '\'' && line[0] != '"'))
        return cursor_.Malformed("a text has no quotation marks");
      line = line.substr(1, line.size() - 2);
    }
    std::optional<std::string> text = quoted ? UnescapedOf(line) : RawUnicodeOf(line);
    if (!text) return cursor_.Malformed("a text is unreadable");
    return stack_.PushOwnString(quoted ? Kind::kBytes : Kind::kText, *std::move(text));
  }

  PickleCursor cursor_;
  PickleStack stack_;
};

}  // namespace

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes, const std::string& name) {
  return PickleMachine(bytes, name).Run();
}

}  // namespace blink
