// Where a PostgreSQL database is, as a user tells it.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_TARGET_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

class PostgresTarget {
 public:
  // `uri` is one of libpq: postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?KEY=VALUE. What it does not say,
  // libpq takes from its environment variables and files. INVALID_ARGUMENT: libpq cannot read it, or would refuse
  // one of its values when it connects; the message repeats none of them, as they may hold a password.
  //
  // Unless `uri` says otherwise, a server that only reads is not connected to (target_session_attrs=read-write), which
  // finds the primary among several hosts, and a dead one is noticed within seconds.
  static absl::StatusOr<PostgresTarget> Parse(const std::string& uri);
  static bool IsUri(const std::string& text);

  // For libpq alone: with the password.
  const std::string& connection_text() const { return connection_text_; }
  // "PostgreSQL at HOST:PORT, database NAME", for logs and errors.
  const std::string& shown() const { return shown_; }
  // `text` without the password.
  std::string Redact(std::string text) const;

 private:
  PostgresTarget() = default;

  std::string connection_text_;
  std::string shown_;
  std::vector<std::string> secrets_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_TARGET_H_
