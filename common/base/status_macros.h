// Macros that return early on a failed absl::Status. They have a prefix because LibTorch and gRPC define the names
// without one.
#ifndef BLINK_COMMON_BASE_STATUS_MACROS_H_
#define BLINK_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define BLINK_RETURN_IF_ERROR(expr)                \
  do {                                             \
    ::absl::Status blink_status_ = (expr);         \
    if (!blink_status_.ok()) return blink_status_; \
  } while (false)

#define BLINK_CONCAT_INNER_(a, b) a##b
#define BLINK_CONCAT_(a, b) BLINK_CONCAT_INNER_(a, b)

// BLINK_ASSIGN_OR_RETURN(auto value, MakeValue());
#define BLINK_ASSIGN_OR_RETURN(lhs, expr) BLINK_ASSIGN_OR_RETURN_(BLINK_CONCAT_(blink_statusor_, __LINE__), lhs, expr)
#define BLINK_ASSIGN_OR_RETURN_(statusor, lhs, expr) \
  auto statusor = (expr);                            \
  if (!statusor.ok()) return statusor.status();      \
  lhs = *std::move(statusor)

#endif  // BLINK_COMMON_BASE_STATUS_MACROS_H_
