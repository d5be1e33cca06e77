#include "common/wire/strict_json.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/format_number.h"
#include "common/base/status_macros.h"
#include "common/base/text_file.h"

namespace blink {

using Json = nlohmann::json;

namespace {

// "PATH:3: ", or "line 3: " of a text without a path.
std::string PlaceOf(const std::string& text, size_t byte, const std::string& path) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto line = 1 + std::count(text.begin(), end, '\n');
  return path.empty() ? absl::StrCat("line ", line, ": ") : absl::StrCat(path, ":", line, ": ");
}

// nlohmann's words, without its number of the error and its place. They end with what was read last, which a damaged
// file makes long or unprintable.
std::string WhatIsWrong(const Json::parse_error& error) {
  constexpr size_t kCharactersMax = 200;
  const std::string text = error.what();
  const size_t at = text.find("syntax error");
  std::string words;
  for (const char& c : at == std::string::npos ? text : text.substr(at)) {
    if (words.size() > kCharactersMax) return words + "...";
    words += absl::ascii_isprint(static_cast<unsigned char>(c)) ? std::string(1, c)
                                                                : absl::CHexEscape(absl::string_view(&c, 1));
  }
  return words;
}

// Reads a text, and tells how far it was read.
struct CountedText {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char& operator*() const { return *at; }
  CountedText& operator++() {
    ++at;
    if (read != nullptr) ++*read;
    return *this;
  }
  bool operator==(const CountedText& other) const { return at == other.at; }

  const char* at;
  size_t* read;
};

// Finds a key that one object holds twice; or, where one is wanted, the place of a key. It is a pass of its own: where
// Json::parse has a callback, it looks at all elements of an array again after each.
class KeySearch final : public nlohmann::json_sax<Json> {
 public:
  explicit KeySearch(std::optional<std::string> wanted) : wanted_(std::move(wanted)) {}

  // Whether there is one in `text`, which is JSON.
  bool Find(const std::string& text) {
    const CountedText begin{text.data(), &read_}, end{text.data() + text.size(), nullptr};
    return !Json::sax_parse(begin, end, this);
  }
  const std::string& found() const { return found_; }
  size_t byte() const { return read_; }  // behind the key

  bool start_object(size_t) override {
    open_.emplace_back();
    return true;
  }
  bool key(std::string& name) override {
    const bool is_new = open_.back().keys.insert(name).second;
    open_.back().last = name;
    const auto dotted = [](std::string* out, const Object& object) { out->append(object.last); };
    if (wanted_ ? absl::StrJoin(open_, ".", dotted) != *wanted_ : is_new) return true;
    found_ = name;
    return false;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  struct Object {
    std::set<std::string> keys;  // those seen
    std::string last;
  };
  const std::optional<std::string> wanted_;
  std::vector<Object> open_;
  std::string found_;
  size_t read_ = 0;
};

}  // namespace

absl::StatusOr<Json> ParseStrictJson(const std::string& text, const std::string& path) {
  const std::string start = path.empty() ? "" : path + ": ";
  if (IsUtf16(text)) return absl::InvalidArgumentError(absl::StrCat(start, kUtf16Rule));
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(text, error.byte == 0 ? 0 : error.byte - 1, path), "not JSON: ", WhatIsWrong(error)));
  } catch (const Json::out_of_range&) {
    return absl::InvalidArgumentError(absl::StrCat(start, "holds a number that is too large to be read"));
  }
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat(start, "not a JSON object"));
  KeySearch twice(std::nullopt);
  if (twice.Find(text)) {
    return absl::InvalidArgumentError(absl::StrCat(PlaceOf(text, twice.byte(), path), "the key \"", twice.found(),
                                                   "\" is given twice; keep one of them"));
  }
  return json;
}

std::string PlaceOfKey(const std::string& text, const std::string& path, const std::string& key) {
  KeySearch search(key);
  if (search.Find(text)) return PlaceOf(text, search.byte(), path);
  return path.empty() ? "" : path + ": ";
}

absl::Status JsonMembers::RefuseUnknown(std::initializer_list<const char*> known) const {
  for (const auto& [key, value] : object_.items()) {
    bool found = false;
    for (const char* name : known) found = found || key == name;
    if (found) continue;
    const std::string why = absl::StrCat("unknown key \"", prefix_, key, "\"; remove it or correct its spelling");
    if (text_ == nullptr) return Error(why);
    return absl::InvalidArgumentError(absl::StrCat(PlaceOfKey(*text_, path_, absl::StrCat(prefix_, key)), why));
  }
  return absl::OkStatus();
}

absl::Status JsonMembers::CheckFormat(uint64_t known) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find("format"));
  if (!value->is_number_unsigned()) return Error(absl::StrCat("\"format\" must be the number ", known));
  const uint64_t found = value->get<uint64_t>();
  return found == known ? absl::OkStatus() : absl::InvalidArgumentError(OtherFormat(path_, found, known).message());
}

absl::StatusOr<uint64_t> JsonMembers::Integer(const char* key, uint64_t min, uint64_t max) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_number_unsigned() || value->get<uint64_t>() < min || value->get<uint64_t>() > max) {
    return Error(absl::StrCat("\"", prefix_, key, "\" must be an integer from ", min, " to ", max));
  }
  return value->get<uint64_t>();
}

absl::StatusOr<std::string> JsonMembers::Text(const char* key) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_string()) return Error(absl::StrCat("\"", prefix_, key, "\" must be a string"));
  return value->get<std::string>();
}

absl::StatusOr<bool> JsonMembers::Bool(const char* key) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_boolean()) return Error(absl::StrCat("\"", prefix_, key, "\" must be true or false"));
  return value->get<bool>();
}

absl::StatusOr<const Json*> JsonMembers::Object(const char* key) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_object()) return Error(absl::StrCat("\"", prefix_, key, "\" must be an object"));
  return value;
}

absl::StatusOr<const Json*> JsonMembers::Array(const char* key) const {
  BLINK_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_array()) return Error(absl::StrCat("\"", prefix_, key, "\" must be an array"));
  return value;
}

absl::Status JsonMembers::Error(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", what));
}

absl::StatusOr<const Json*> JsonMembers::Find(const char* key) const {
  const auto it = object_.find(key);
  if (it == object_.end()) return Error(absl::StrCat("the key \"", prefix_, key, "\" is missing"));
  return &*it;
}

}  // namespace blink
