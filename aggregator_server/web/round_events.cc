#include "aggregator_server/web/round_events.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/web/round_json.h"
#include "common/base/status_macros.h"

namespace blink {

class RoundEvents::Stream final : public HttpStream {
 public:
  Stream(RoundEvents& events, std::string who) : events_(events), who_(std::move(who)) {}
  ~Stream() override {
    events_.authenticator_.CloseStream(guarded_);  // without the lock: the guard may be ending the stream
    events_.Leave(this);
  }

  absl::Status Guard(const HttpRequest& request) {
    BLINK_ASSIGN_OR_RETURN(
        guarded_, events_.authenticator_.OpenStream(request.certificate, absl::StrCat(request.peer, ", the web page"),
                                                    [this](const absl::Status&) { End(); }));
    return absl::OkStatus();
  }

  void Begin(std::function<void()> wake, std::function<void()> end) override {
    std::lock_guard<std::mutex> lock(mutex_);
    wake_ = std::move(wake);
    end_ = std::move(end);
    wake_();
    if (is_over_) end_();
  }

  std::string Take() override {
    std::set<std::string> changed;
    bool hello = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      changed.swap(changed_);
      hello = std::exchange(hello_, false);
    }
    if (hello) return "retry: 3000\nevent: hello\ndata: {}\n\n";
    Json rounds = Json::array();
    for (const std::string& id : changed) {
      if (const absl::StatusOr<v1::Round> round = events_.pipeline_.GetRound(id); round.ok()) {
        rounds.push_back(RoundSummary(*round));
      }
    }
    return rounds.empty() ? "" : absl::StrCat("event: rounds\ndata: ", blink::TextOf(rounds), "\n\n");
  }

  void Note(const std::set<std::string>& round_ids) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!hello_) changed_.insert(round_ids.begin(), round_ids.end());
    if (changed_.size() > kRoundsKeptMax) {
      changed_.clear();
      hello_ = true;
    }
    if (wake_) wake_();
  }

  const std::string& who() const { return who_; }

 private:
  void End() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    if (end_) end_();
  }

  RoundEvents& events_;
  const std::string who_;
  uint64_t guarded_ = 0;
  std::mutex mutex_;
  std::function<void()> wake_, end_;
  bool hello_ = true, is_over_ = false;
  std::set<std::string> changed_;
};

RoundEvents::RoundEvents(Pipeline& pipeline, const Authenticator& authenticator)
    : pipeline_(pipeline), authenticator_(authenticator) {
  watch_ = pipeline_.WatchAny([this](const std::set<std::string>& round_ids) { Tell(round_ids); });
}

RoundEvents::~RoundEvents() { pipeline_.Unwatch(watch_); }

absl::StatusOr<std::shared_ptr<HttpStream>> RoundEvents::Open(const HttpRequest& request, const std::string& who) {
  auto stream = std::make_shared<Stream>(*this, who);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    int& count = streams_of_[who];
    if (count >= kStreamsOfOneMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this operator has ", kStreamsOfOneMax, " open pages already: close one"));
    }
    ++count;
    streams_.insert(stream.get());
  }
  BLINK_RETURN_IF_ERROR(stream->Guard(request));
  return stream;
}

void RoundEvents::Tell(const std::set<std::string>& round_ids) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Stream* const stream : streams_) stream->Note(round_ids);
}

void RoundEvents::Leave(Stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (streams_.erase(stream) == 0) return;
  if (const auto count = streams_of_.find(stream->who()); --count->second == 0) streams_of_.erase(count);
}

}  // namespace blink
