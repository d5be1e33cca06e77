// What a service tells systemd, or another supervisor that speaks the protocol of sd_notify(3): datagrams to the socket
// that $NOTIFY_SOCKET names.
//
//   ServiceManager manager = ServiceManager::FromEnvironment();  // before there are threads
//   manager.TellReady("listening on port 7443");
//   for (;;) {
//     ... wait at most manager.watchdog_interval() for a signal ...
//     manager.TellAlive();
//   }
//   manager.TellStopping("signal 15");
//
// Where nobody listens, nothing happens. A datagram that cannot be sent is a warning in the log, once. Any user of the
// machine may read a status, so it holds nothing private. All methods may be called on any thread.
#ifndef BLINK_COMMON_BASE_SERVICE_MANAGER_H_
#define BLINK_COMMON_BASE_SERVICE_MANAGER_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace blink {

class ServiceManager {
 public:
  // Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID, and removes them, so that no child speaks for this process.
  static ServiceManager FromEnvironment();
  // `socket` is a path, or a name in the abstract namespace after "@"; empty: nobody listens. `watchdog` is the time
  // after which the supervisor takes a silent process for stuck.
  explicit ServiceManager(std::string socket, absl::Duration watchdog = absl::InfiniteDuration());

  void TellReady(absl::string_view status);
  void TellReloading();  // TellReady ends it
  void TellStopping(absl::string_view status);
  void TellAlive();

  // Half of the watchdog's time: a process that is well calls TellAlive this often. Infinite where nobody watches.
  absl::Duration watchdog_interval() const { return watchdog_ / 2; }

  // Sends one message: lines of KEY=VALUE. OK where nobody listens. INVALID_ARGUMENT: no socket can have such a name.
  // UNAVAILABLE: nobody takes the message.
  absl::Status Send(absl::string_view message) const;

 private:
  void Tell(absl::string_view message);

  std::string socket_;
  absl::Duration watchdog_;
  std::atomic<bool> warned_ = false;
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_SERVICE_MANAGER_H_
