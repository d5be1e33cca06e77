// Reads JSON that people write and programs obey. Every key must be known, none may be missing or be there twice, and
// every number must be in its range. Errors are INVALID_ARGUMENT, and name file, key and remedy.
//
//   BLINK_ASSIGN_OR_RETURN(const nlohmann::json json, ParseStrictJson(text, "KIT/kit.json"));
//   const JsonMembers members(json, "KIT/kit.json", "", &text);
//   BLINK_RETURN_IF_ERROR(members.RefuseUnknown({"format", "node_count"}));
//   BLINK_ASSIGN_OR_RETURN(n, members.Integer("node_count", 3, 1000));
#ifndef BLINK_COMMON_WIRE_STRICT_JSON_H_
#define BLINK_COMMON_WIRE_STRICT_JSON_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace blink {

// Reads `text` as one JSON object. `path` is for messages, and may be empty. A syntax error is named by its line. A key
// that is there twice is refused by its line, because parsers differ in which of the two counts. A byte order mark is
// skipped.
absl::StatusOr<nlohmann::json> ParseStrictJson(const std::string& text, const std::string& path);

// "PATH:3: ", or "line 3: " without a path: where `text`, which is JSON, has the key "nodes.first" (the key "first" of
// the object "nodes"). "PATH: ", or "", where it has none.
std::string PlaceOfKey(const std::string& text, const std::string& path, const std::string& key);

// Reads the members of one object, which must outlive this. `prefix` ("nodes.") names the object in messages. With the
// `text` that the object was read from, which must outlive this too, an unknown key is named by its line.
class JsonMembers {
 public:
  JsonMembers(const nlohmann::json& object, std::string path, std::string prefix, const std::string* text = nullptr)
      : object_(object), path_(std::move(path)), prefix_(std::move(prefix)), text_(text) {}

  absl::Status RefuseUnknown(std::initializer_list<const char*> known) const;
  bool Has(const char* key) const { return object_.contains(key); }
  // The member "format" must be `known`; ask first, since files of other formats have other keys.
  absl::Status CheckFormat(uint64_t known) const;
  absl::StatusOr<uint64_t> Integer(const char* key, uint64_t min, uint64_t max) const;
  absl::StatusOr<std::string> Text(const char* key) const;
  absl::StatusOr<bool> Bool(const char* key) const;
  absl::StatusOr<const nlohmann::json*> Object(const char* key) const;
  absl::StatusOr<const nlohmann::json*> Array(const char* key) const;
  absl::Status Error(const std::string& what) const;

 private:
  absl::StatusOr<const nlohmann::json*> Find(const char* key) const;

  const nlohmann::json& object_;
  const std::string path_;
  const std::string prefix_;
  const std::string* const text_;
};

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_STRICT_JSON_H_
