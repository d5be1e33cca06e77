// JSON of results that another version may have written: a member that is missing, or is something else, is null.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_JSON_H_
#define BLINK_AGGREGATOR_SERVER_WEB_JSON_H_

#include <initializer_list>
#include <string>

#include "nlohmann/json.hpp"

namespace blink {

using Json = nlohmann::ordered_json;

// The member at the end of `path`; null: there is none.
inline const Json& At(const Json& json, std::initializer_list<const char*> path) {
  static const Json kNull;
  const Json* at = &json;
  for (const char* name : path) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

inline double NumberOr(const Json& json, double otherwise) { return json.is_number() ? json.get<double>() : otherwise; }

// What is no UTF-8 is replaced: names of classes and reasons of failures are other people's bytes.
inline std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_JSON_H_
