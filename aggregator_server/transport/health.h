// Whether an aggregator serves, for health checks that have no certificate.
//
// The server answers gRPC's own health protocol (grpc.health.v1) on its port, to those with a certificate, and on a
// socket in its data folder, which only its own user may open. The answer comes from the threads that answer the nodes,
// so that a frozen process gives none. ServerOptions::can_serve decides whether it is SERVING.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_HEALTH_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_HEALTH_H_

#include <grpcpp/channel.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace blink {

std::string HealthSocketIn(const std::string& data_folder);

// Lets the server answer at `socket`. Call this before anything else of the builder. Where no socket can be made (the
// path is too long, something else is there, the file system knows none), the log says so, and then nothing answers.
void ServeHealth(const std::string& socket, grpc::ServerBuilder& builder);

// A channel to the server at `socket`, which only its own user may open. UNAVAILABLE: no socket can have this path.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelToSocket(const std::string& socket);

// Asks the server at `socket` whether it serves. Returns UNAVAILABLE, with the reason, when it does not answer within
// `timeout`.
absl::StatusOr<bool> AskHealth(const std::string& socket, absl::Duration timeout);

// The same, where "no" is UNAVAILABLE too.
absl::Status CheckHealth(const std::string& socket, absl::Duration timeout);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_HEALTH_H_
