#include "tests/testing/postgres_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <pqxx/pqxx>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace blink::testing {
namespace {

constexpr char kPrograms[] = "/usr/lib/postgresql/15/bin/";
constexpr char kUser[] = "blink";
constexpr char kCodedPassword[] = "pass%27word%20of%20te%5Csts";

int FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();
  }
  ::close(fd);
  return ntohs(address.sin_port);
}

// PostgreSQL refuses root: then it runs as the user of Debian's package.
const passwd* UnprivilegedUser() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

pid_t Launch(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const passwd* const user = UnprivilegedUser();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  ::dup2(out, 1);
  ::dup2(out, 2);
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  ::setenv("PGPASSWORD", PostgresServer::kPassword, 1);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

void Must(const std::vector<std::string>& command, const std::string& log) {
  int status = 0;
  const pid_t pid = Launch(command, log);
  if (::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  std::fprintf(stderr, "%s failed: %s\n", command[0].c_str(), text.str().c_str());
  std::abort();
}

}  // namespace

std::string PostgresServer::WhatIsMissing() {
  if (::access(absl::StrCat(kPrograms, "postgres").c_str(), X_OK) != 0) {
    return "PostgreSQL 15 is not installed: scripts/install-deps brings it (Debian's postgresql-15)";
  }
  if (::geteuid() == 0 && UnprivilegedUser() == nullptr)
    return "there is no user postgres, and the server refuses root";
  return "";
}

PostgresServer::PostgresServer(Bare, std::vector<std::string> settings, const std::string& parent)
    : settings_(std::move(settings)), port_(FreePort()) {
  MakeFolder(parent);
}

PostgresServer::PostgresServer(std::vector<std::string> settings, const std::string& parent)
    : PostgresServer(Bare(), std::move(settings), parent) {
  const std::string password = folder_ + "/password";
  std::ofstream(password) << kPassword << "\n";
  Must({absl::StrCat(kPrograms, "initdb"), "--pgdata", folder_ + "/data", "--username", kUser, "--auth",
        "scram-sha-256", "--pwfile", password, "--no-sync", "--encoding", "UTF8", "--locale", "C"},
       folder_ + "/log");
  Start();
}

std::unique_ptr<PostgresServer> PostgresServer::StandbyOf(const PostgresServer& primary,
                                                          std::vector<std::string> settings) {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(Bare(), std::move(settings), "/tmp"));
  Must({absl::StrCat(kPrograms, "pg_basebackup"), "-h", "127.0.0.1", "-p", absl::StrCat(primary.port()), "-U", kUser,
        "-D", standby->folder_ + "/data", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"},
       standby->folder_ + "/log");
  standby->Start();
  return standby;
}

void PostgresServer::MakeFolder(const std::string& parent) {
  std::string pattern = parent + "/blink-postgres-XXXXXX";
  folder_ = ::mkdtemp(pattern.data());
  MakeFolderOfServer(folder_);
}

void PostgresServer::MakeFolderOfServer(const std::string& path) const {
  std::filesystem::create_directories(path);
  const passwd* const user = UnprivilegedUser();
  if (user != nullptr && ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) std::abort();
}

PostgresServer::~PostgresServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string PostgresServer::Uri(const std::string& database) const {
  return absl::StrCat("postgresql://", kUser, ":", kCodedPassword, "@127.0.0.1:", port_, "/", database);
}

std::string PostgresServer::MakeDatabase() {
  const std::string name = absl::StrCat("test", ++databases_);
  Sql("CREATE DATABASE " + name);
  return Uri(name);
}

std::string PostgresServer::Sql(const std::string& statement, const std::string& database) const {
  try {
    pqxx::connection connection(Uri(database));
    const pqxx::result rows = pqxx::nontransaction(connection).exec(statement);
    return rows.empty() || rows[0].size() == 0 ? "" : rows[0][0].as<std::string>("");
  } catch (const std::exception& error) {
    return error.what();
  }
}

void PostgresServer::Start() {
  std::vector<std::string> command = {absl::StrCat(kPrograms, "postgres"), "-D", folder_ + "/data"};
  std::vector<std::string> settings = {"listen_addresses=127.0.0.1",
                                       absl::StrCat("port=", port_),
                                       "unix_socket_directories=",
                                       "shared_buffers=32MB",
                                       "max_connections=60",
                                       "wal_level=replica",
                                       "max_wal_senders=4",
                                       "autovacuum=off",
                                       "dynamic_shared_memory_type=mmap"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    command.push_back("-c");
    command.push_back(setting);
  }
  pid_ = Launch(command, folder_ + "/log");
  for (int i = 0; i < 1200; ++i) {
    if (Sql("SELECT 'up'") == "up") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::fprintf(stderr, "PostgreSQL does not start: %s\n", Sql("SELECT 'up'").c_str());
  std::abort();
}

void PostgresServer::Signal(int signal) {
  if (pid_ == 0) return;
  ::kill(pid_, signal);
  if (signal == SIGKILL || signal == SIGINT || signal == SIGQUIT) {
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
}

void PostgresServer::Kill() { Signal(SIGQUIT); }  // its processes end at once, and nothing is flushed
void PostgresServer::Stop() { Signal(SIGINT); }

namespace {
void SignalFamily(pid_t parent, int signal) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    if (!std::getline(stat, line)) continue;
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    std::string state;
    pid_t of = 0;
    rest >> state >> of;
    if (of == parent) ::kill(std::atoi(entry.path().filename().c_str()), signal);
  }
  ::kill(parent, signal);
}
}  // namespace

void PostgresServer::Freeze() { SignalFamily(pid_, SIGSTOP); }
void PostgresServer::Thaw() { SignalFamily(pid_, SIGCONT); }

void PostgresServer::Promote() { Sql("SELECT pg_promote()"); }

}  // namespace blink::testing
