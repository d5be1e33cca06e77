// Answers GET and HEAD over HTTP, for probes and scrapers that have no certificate: few paths, small requests, answers
// from memory.
//
//   const auto server = HttpServer::Listen("127.0.0.1:9464");
//   (*server)->Start([](const std::string& path) { return HttpResponse{.code = 404, .body = "no such path\n"}; });
//
// With Boost.Beast. One thread serves all connections and waits for none of them. A connection carries one request and
// is closed after its answer. Everything about it has a limit (HttpLimits). When there are too many connections, the
// oldest is closed: so peers that send nothing, or read nothing, cannot keep others out. Nothing that a peer does is
// logged.
//
//   400 not a request   404 the handler's   405 another method   408 too slow   431 too long   505 another version
//
// Every answer may be read by anybody who reaches the address. There is no TLS here.
#ifndef BLINK_AGGREGATOR_SERVER_TELEMETRY_HTTP_SERVER_H_
#define BLINK_AGGREGATOR_SERVER_TELEMETRY_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace blink {

struct HttpResponse {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpLimits {
  size_t connections_max = 32;
  size_t request_bytes_max = 8 << 10;            // request line and headers
  absl::Duration time_max = absl::Seconds(5);    // from the connection to the last byte of the answer
  absl::Duration linger_max = absl::Seconds(1);  // for a peer that still sends when it has been refused
};

class HttpServer {
 public:
  // `path` begins with / and has no query. Called on the server's thread: the others wait meanwhile.
  using Handler = std::function<HttpResponse(const std::string& path)>;

  // Binds HOST:PORT and listens; nobody is answered before Start. Without HOST only this machine gets in. The errors
  // are those of ListenOn.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const std::string& address, const HttpLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  void Start(Handler handler);
  void Stop();  // closes everything

 private:
  class Connection;
  struct State;

  HttpServer(std::unique_ptr<State> state, int port);

  const std::unique_ptr<State> state_;
  const int port_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TELEMETRY_HTTP_SERVER_H_
