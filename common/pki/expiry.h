// When to say that something expires: from 30 days before on, once a day, and again once a day when it is over.
#ifndef BLINK_COMMON_PKI_EXPIRY_H_
#define BLINK_COMMON_PKI_EXPIRY_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace blink {

inline constexpr absl::Duration kExpiryNotice = absl::Hours(24 * 30);

class ExpiryReminder {
 public:
  // The sentence to log now about `what` that is good until `until`, or "" when there is nothing to say now. `remedy`
  // is its end. Asking often costs nothing. Not from two threads at a time.
  std::string Remind(const std::string& what, absl::Time until, absl::Time now, const std::string& remedy);

 private:
  struct Said {
    absl::Time when = absl::InfinitePast();
    absl::Time until;
    bool over = false;
  };
  std::map<std::string, Said> said_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PKI_EXPIRY_H_
