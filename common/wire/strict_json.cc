#include "common/wire/strict_json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
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

// nlohmann's words, without its number of the error and its place.
std::string WhatIsWrong(const Json::parse_error& error) {
  const std::string text = error.what();
  const size_t at = text.find("syntax error");
  return at == std::string::npos ? text : text.substr(at);
}

}  // namespace

absl::StatusOr<Json> ParseStrictJson(const std::string& text, const std::string& path) {
  const std::string start = path.empty() ? "" : path + ": ";
  if (IsUtf16(text)) return absl::InvalidArgumentError(absl::StrCat(start, kUtf16Rule));
  std::vector<std::set<std::string>> open;  // the keys seen of every object that is open
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(text, error.byte == 0 ? 0 : error.byte - 1, path), "not JSON: ", WhatIsWrong(error)));
  } catch (const Json::out_of_range&) {
    return absl::InvalidArgumentError(absl::StrCat(start, "holds a number that is too large to be read"));
  }
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat(start, "not a JSON object"));
  if (!twice.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(start, "the key \"", twice, "\" is given twice; keep one of them"));
  }
  return json;
}

absl::Status JsonMembers::RefuseUnknown(std::initializer_list<const char*> known) const {
  for (const auto& [key, value] : object_.items()) {
    bool found = false;
    for (const char* name : known) found = found || key == name;
    if (!found) return Error(absl::StrCat("unknown key \"", prefix_, key, "\"; remove it or correct its spelling"));
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
