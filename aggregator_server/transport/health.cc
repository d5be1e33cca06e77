#include "aggregator_server/transport/health.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// HealthCheckResponse with the status SERVING, its field 1.
constexpr char kServing[] = "\x08\x01";

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// gRPC reads the name of a socket as the path of a URI (RFC 3986).
std::string UriOf(const std::string& socket) {
  return absl::StrCat("unix:", absl::StrReplaceAll(socket, {{"%", "%25"}, {"?", "%3F"}, {"#", "%23"}}));
}

absl::Status CheckLength(const std::string& socket) {
  if (socket.size() < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(socket, " is too long for a socket: use a shorter --data"));
}

// Makes the socket and removes it, and before that the one that an earlier process left.
absl::Status TryToMake(const std::string& socket) {
  BLINK_RETURN_IF_ERROR(CheckLength(socket));
  struct stat info;
  if (::lstat(socket.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(socket, " is no socket: remove it"));
  }
  ::unlink(socket.c_str());
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, socket.data(), socket.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool made = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  const absl::Status status = made ? absl::OkStatus() : FileError(errno, "make the socket", socket);
  if (fd >= 0) ::close(fd);
  if (made) ::unlink(socket.c_str());
  return status;
}

}  // namespace

std::string HealthSocketIn(const std::string& data_folder) { return data_folder + "/health.sock"; }

void ServeHealth(const std::string& socket, grpc::ServerBuilder& builder) {
  // gRPC would start nothing at all where it cannot make the socket, and would not say why.
  if (const absl::Status possible = TryToMake(socket); !possible.ok()) {
    spdlog::warn("--check-health will get no answer: {}", std::string(possible.message()));
    return;
  }
  builder.AddListeningPort(UriOf(socket), grpc::InsecureServerCredentials());
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelToSocket(const std::string& socket) {
  BLINK_RETURN_IF_ERROR(CheckLength(socket));
  return grpc::CreateChannel(UriOf(socket), grpc::InsecureChannelCredentials());
}

absl::StatusOr<bool> AskHealth(const std::string& socket, absl::Duration timeout) {
  BLINK_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, ChannelToSocket(socket));
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);  // about the server as a whole
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool done = false;
  queue.Next(&tag, &done);
  if (status.ok()) return Flatten(response) == kServing;
  return absl::UnavailableError(
      absl::StrCat("the aggregator gives no good answer at ", socket, ": ", status.error_message()));
}

absl::Status CheckHealth(const std::string& socket, absl::Duration timeout) {
  BLINK_ASSIGN_OR_RETURN(const bool serves, AskHealth(socket, timeout));
  if (serves) return absl::OkStatus();
  constexpr char kNotServing[] =
      "it does not serve now, because it stops, drains (blink-aggregator drain --undo) or its store takes no write: "
      "see "
      "its log";
  return absl::UnavailableError(absl::StrCat("the aggregator gives no good answer at ", socket, ": ", kNotServing));
}

}  // namespace blink
