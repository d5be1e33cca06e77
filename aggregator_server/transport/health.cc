#include "aggregator_server/transport/health.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/un.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"

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

}  // namespace

std::string HealthSocketIn(const std::string& data_folder) { return data_folder + "/health.sock"; }

void ServeHealth(const std::string& socket, grpc::ServerBuilder& builder) {
  if (socket.size() >= sizeof(sockaddr_un::sun_path)) {
    spdlog::warn("{} is too long for a socket, so that --check-health gets no answer: use a shorter --data", socket);
    return;
  }
  grpc::EnableDefaultHealthCheckService(true);
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
}

absl::Status CheckHealth(const std::string& socket, absl::Duration timeout) {
  grpc::GenericStub stub(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
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
  if (status.ok() && Flatten(response) == kServing) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the aggregator gives no good answer at ", socket, ": ",
                                             status.ok() ? "it does not serve" : status.error_message()));
}

}  // namespace blink
