#include "aggregator_server/store/postgres_target.h"

#include <libpq-fe.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

std::string Quote(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// "a:5432, b:5433" of the hosts and ports, of which one port may stand for all hosts.
std::string ShowHosts(const std::string& hosts, const std::string& ports) {
  const std::vector<std::string> host = absl::StrSplit(hosts, ',');
  const std::vector<std::string> port = absl::StrSplit(ports, ',');
  std::string shown;
  for (size_t i = 0; i < host.size(); ++i) {
    const std::string& of_host = port.size() == host.size() ? port[i] : port.front();
    absl::StrAppend(&shown, i > 0 ? ", " : "", host[i].empty() ? "this machine" : host[i],
                    of_host.empty() ? "" : absl::StrCat(":", of_host));
  }
  return shown;
}

using Values = std::vector<std::string>;

// What libpq takes for options that are one of some words. It finds a wrong one only when it connects.
const std::map<std::string, Values>& WordsOfOptions() {
  static const Values kSwitch = {"0", "1"}, kEncryption = {"disable", "prefer", "require"};
  static const Values kProtocols = {"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"};
  static const auto* const words = new std::map<std::string, Values>{
      {"sslmode", {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}},
      {"target_session_attrs", {"any", "read-write", "read-only", "primary", "standby", "prefer-standby"}},
      {"channel_binding", kEncryption},
      {"gssencmode", kEncryption},
      {"sslcertmode", {"disable", "allow", "require"}},
      {"load_balance_hosts", {"disable", "random"}},
      {"ssl_min_protocol_version", kProtocols},
      {"ssl_max_protocol_version", kProtocols},
      {"sslcompression", kSwitch},
      {"sslsni", kSwitch},
      {"keepalives", kSwitch},
  };
  return *words;
}

constexpr const char* kWholeNumbers[] = {"connect_timeout", "keepalives_idle", "keepalives_interval",
                                         "keepalives_count", "tcp_user_timeout"};

// INVALID_ARGUMENT: libpq refuses the value. The message does not repeat it, as a URI with a wrong sign in it may have
// a part of the password there.
absl::Status CheckValue(const std::string& key, const std::string& value) {
  const auto refuse = [&](const auto&... what) {
    return absl::InvalidArgumentError(
        absl::StrCat("the URI of the PostgreSQL database has a wrong ", key, ": it is ", what...));
  };
  const auto words = WordsOfOptions().find(key);
  if (words != WordsOfOptions().end() && !value.empty() &&
      std::find(words->second.begin(), words->second.end(), value) == words->second.end()) {
    return refuse(absl::StrJoin(words->second, ", "));
  }
  int number = 0;
  const bool is_number = absl::SimpleAtoi(value, &number);
  if (std::find(std::begin(kWholeNumbers), std::end(kWholeNumbers), key) != std::end(kWholeNumbers) && !is_number) {
    return refuse("a whole number");
  }
  if (key != "port" || value.empty()) return absl::OkStatus();
  for (const absl::string_view port : absl::StrSplit(value, ',')) {
    if (port.empty() || (absl::SimpleAtoi(port, &number) && number >= 1 && number <= 65535)) continue;
    return refuse("a number from 1 to 65535, or one for each host with commas between them");
  }
  return absl::OkStatus();
}

}  // namespace

bool PostgresTarget::IsUri(const std::string& text) {
  return absl::StartsWith(text, "postgresql://") || absl::StartsWith(text, "postgres://");
}

absl::StatusOr<PostgresTarget> PostgresTarget::Parse(const std::string& uri) {
  const auto refuse = [] {
    return absl::InvalidArgumentError(
        "the URI of the PostgreSQL database cannot be read: write postgresql://USER@HOST:PORT/DATABASE, with %XX for "
        "special characters (it is not repeated here, as it may hold a password)");
  };
  const auto is_blank = [](unsigned char c) {
    return c <= ' ';
  };  // a second line of a file would be a part of the name
  if (!IsUri(uri) || std::any_of(uri.begin(), uri.end(), is_blank)) return refuse();
  // A second @ belongs to the password, and would be taken for the host's: it would stand in messages.
  if (std::count(uri.begin(), uri.end(), '@') > 1) return refuse();
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(PQconninfoParse(uri.c_str(), nullptr),
                                                                              PQconninfoFree);
  if (parsed == nullptr) return refuse();
  std::map<std::string, std::string> given = {{"target_session_attrs", "read-write"},
                                              {"application_name", "blink-aggregator"},
                                              {"connect_timeout", "5"},
                                              {"keepalives_idle", "5"},
                                              {"keepalives_interval", "5"},
                                              {"keepalives_count", "3"},
                                              {"tcp_user_timeout", "15000"}};
  PostgresTarget target;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    BLINK_RETURN_IF_ERROR(CheckValue(option->keyword, option->val));
    given[option->keyword] = option->val;
    const bool is_secret = option->dispchar != nullptr && option->dispchar[0] == '*';
    if (is_secret && option->val[0] != '\0') target.secrets_.emplace_back(option->val);
  }
  for (const auto& [key, value] : given) absl::StrAppend(&target.connection_text_, key, "=", Quote(value), " ");
  target.shown_ = absl::StrCat("PostgreSQL at ", ShowHosts(given["host"], given["port"]),
                               given["dbname"].empty() ? "" : absl::StrCat(", database ", given["dbname"]));
  return target;
}

std::string PostgresTarget::Redact(std::string text) const {
  for (const std::string& secret : secrets_) text = absl::StrReplaceAll(text, {{secret, "(password)"}});
  return text;
}

}  // namespace blink
