// A reader of Python's pickles that runs nothing.
//
// A pickle is a program: to load it in Python calls what it names. This reader knows the opcodes that build numbers,
// texts, lists, tuples and dictionaries. A call is kept as what it is, a name with arguments, and is only allowed for
// the names that arrays of NumPy and matrices of SciPy need (pickle_stack.cc lists them). Everything else is refused
// with its name before anything is built from it.
//
//   BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(bytes, name));
//   pickle.root()
//
// Limits: 20,000,000 values. A value is never larger than the bytes that it stands in. Protocols 0 to 5.
// Source: the opcodes' descriptions in CPython's Lib/pickletools.py.
#ifndef BLINK_TOOLS_DATASET_IMPORT_PICKLE_H_
#define BLINK_TOOLS_DATASET_IMPORT_PICKLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

struct PickleValue {
  enum class Kind : uint8_t { kNone, kBool, kInteger, kReal, kBytes, kText, kTuple, kList, kDict, kName, kCall };
  Kind kind = Kind::kNone;
  int64_t integer = 0;                    // kBool, kInteger
  double real = 0;                        // kReal
  absl::string_view text;                 // kBytes, kText; of kName: "numpy.dtype"
  std::vector<const PickleValue*> items;  // kTuple, kList, arguments of kCall; kDict: key, value, key, value
  const PickleValue* callee = nullptr;    // kCall: a kName
  const PickleValue* state = nullptr;     // kCall: what BUILD gave it
  bool is_string() const { return kind == Kind::kBytes || kind == Kind::kText; }
};

class Pickle {
 public:
  // Returns INVALID_ARGUMENT, naming the byte, for a pickle that is cut off, malformed, or names something else than
  // the list allows. The result points into `bytes`.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes, const std::string& name);

  const PickleValue& root() const { return *root_; }
  // Of the whole pickle. What a value stands for is not longer, unless it names another value again and again.
  size_t byte_count() const { return byte_count_; }

 private:
  friend class PickleStack;
  struct Arena {
    std::deque<PickleValue> values;
    std::deque<std::string> texts;  // what does not stand in the bytes as it is
  };
  std::unique_ptr<Arena> arena_;
  const PickleValue* root_ = nullptr;
  size_t byte_count_ = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_PICKLE_H_
