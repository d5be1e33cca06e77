#include "node_client/strict_json.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/format_number.h"
#include "common/base/status_macros.h"

namespace blink {

using Json = nlohmann::json;

absl::StatusOr<Json> ParseStrictJson(const std::string& text, const std::string& path) {
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
  Json json = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  if (!twice.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the key \"", twice, "\" is given twice; keep one of them"));
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
