// What a request asks and what it is answered, without the connection that carries both.
#ifndef BLINK_AGGREGATOR_SERVER_HTTP_HTTP_MESSAGE_H_
#define BLINK_AGGREGATOR_SERVER_HTTP_HTTP_MESSAGE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace blink {

struct HttpRequest {
  std::string path;         // begins with / and has no query
  std::string host;         // the Host header; empty: there is none
  std::string fetch_site;   // the Sec-Fetch-Site header of a browser: who made it ask
  std::string certificate;  // the client's, PEM, verified in the handshake; empty without TLS
  std::string peer;         // address and port, for the log
};

// An answer that does not end: server-sent events. All its methods are called on the server's thread, which waits
// meanwhile.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // `wake` asks for a Take soon, `end` closes the connection. Both may be called from any thread, and for as long as
  // this object lives.
  virtual void Begin(std::function<void()> wake, std::function<void()> end) = 0;
  // What is to be written now; empty: nothing. Is not called while the peer has not taken what was written before, so
  // that whoever waits must be told in one piece what many changes came to.
  virtual std::string Take() = 0;
};

struct HttpResponse {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // further ones
  std::shared_ptr<HttpStream> stream;                        // in place of the body
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_HTTP_HTTP_MESSAGE_H_
