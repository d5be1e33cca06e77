// PostgreSQL servers of Debian's package for tests: each in a folder of its own, on a free port of loopback.
#ifndef BLINK_TESTS_TESTING_POSTGRES_SERVER_H_
#define BLINK_TESTS_TESTING_POSTGRES_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace blink::testing {

class PostgresServer {
 public:
  static constexpr char kPassword[] = "pass'word of te\\sts";

  // Why there can be none on this machine; empty: there can.
  static std::string WhatIsMissing();

  // Makes a cluster and starts it. `settings` are of postgresql.conf. Ends the program where that fails.
  explicit PostgresServer(std::vector<std::string> settings = {}, const std::string& parent = "/tmp");
  // A standby of `primary`, by streaming, with its whole content.
  static std::unique_ptr<PostgresServer> StandbyOf(const PostgresServer& primary,
                                                   std::vector<std::string> settings = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;

  int port() const { return port_; }
  // A libpq URI, with the password.
  std::string Uri(const std::string& database = "postgres") const;
  std::string MakeDatabase();  // a fresh one; its URI
  // Runs one statement as the superuser and returns the first field of its first row, or the error.
  std::string Sql(const std::string& statement, const std::string& database = "postgres") const;

  void Start();
  void Kill();    // at once, as by a power cut
  void Stop();    // in order
  void Freeze();  // all of its processes
  void Thaw();
  void Promote();
  void MakeFolderOfServer(const std::string& path) const;  // that it may write to
  const std::string& folder() const { return folder_; }

 private:
  struct Bare {};
  PostgresServer(Bare, std::vector<std::string> settings, const std::string& parent);
  void MakeFolder(const std::string& parent);
  void Signal(int signal);

  std::vector<std::string> settings_;
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = 0;
  int databases_ = 0;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_POSTGRES_SERVER_H_
