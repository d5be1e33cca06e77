// Tells browsers which rounds have changed, as server-sent events.
//
//   event: hello        once, at the beginning: whatever the page knows is old
//   event: rounds       data: [summary of each round that has changed, ..]
//
// A browser is told of many changes at once (HttpStream::Take): what changes while it reads is told as it is then. So
// what is kept for a browser are at most kRoundsKeptMax round ids; beyond that it is told hello again.
#ifndef BLINK_AGGREGATOR_SERVER_WEB_ROUND_EVENTS_H_
#define BLINK_AGGREGATOR_SERVER_WEB_ROUND_EVENTS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/http/http_message.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/transport/authenticator.h"

namespace blink {

class RoundEvents {
 public:
  static constexpr size_t kRoundsKeptMax = 256;
  static constexpr int kStreamsOfOneMax = 6;  // of one operator

  // Both outlive this, and this outlives its streams.
  RoundEvents(Pipeline& pipeline, const Authenticator& authenticator);
  ~RoundEvents();
  RoundEvents(const RoundEvents&) = delete;
  RoundEvents& operator=(const RoundEvents&) = delete;

  // The stream of `who`, which ends when the certificate of the request becomes bad. RESOURCE_EXHAUSTED: `who` has
  // kStreamsOfOneMax already. UNAUTHENTICATED: the certificate is bad.
  absl::StatusOr<std::shared_ptr<HttpStream>> Open(const HttpRequest& request, const std::string& who);

 private:
  class Stream;
  void Tell(const std::set<std::string>& round_ids);
  void Leave(Stream* stream);

  Pipeline& pipeline_;
  const Authenticator& authenticator_;
  uint64_t watch_ = 0;
  std::mutex mutex_;
  std::set<Stream*> streams_;
  std::map<std::string, int> streams_of_;  // by who
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WEB_ROUND_EVENTS_H_
