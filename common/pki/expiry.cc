#include "common/pki/expiry.h"

#include "absl/strings/str_cat.h"
#include "common/base/time_text.h"

namespace blink {

std::string ExpiryReminder::Remind(const std::string& what, absl::Time until, absl::Time now,
                                   const std::string& remedy) {
  if (until - now > kExpiryNotice) return "";
  const bool over = now > until;
  Said& said = said_[what];
  const bool new_fact = said.over != over || said.until != until;
  if (!new_fact && now - said.when < absl::Hours(24)) return "";
  said = {.when = now, .until = until, .over = over};
  if (over) return absl::StrCat(what, " expired on ", TimeText(until), ": ", remedy);
  const int64_t days = absl::ToInt64Hours(until - now) / 24;
  return absl::StrCat(what, " expires on ", TimeText(until), ", in ", days, days == 1 ? " day: " : " days: ", remedy);
}

}  // namespace blink
