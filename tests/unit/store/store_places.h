// Where the conformance tests keep a store: one place for each implementation.
#ifndef BLINK_TESTS_UNIT_STORE_STORE_PLACES_H_
#define BLINK_TESTS_UNIT_STORE_STORE_PLACES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/store/report_store.h"

namespace blink::testing {

// An empty place. Everything in it goes away with it.
class StorePlace {
 public:
  virtual ~StorePlace() = default;
  // Why nothing can be kept here on this machine; empty: it can.
  virtual std::string WhatIsMissing() { return ""; }
  // Opens the store that is there, or makes it.
  virtual absl::StatusOr<std::unique_ptr<ReportStore>> Open() = 0;
};

std::vector<std::string> StorePlaceNames();
std::unique_ptr<StorePlace> MakeStorePlace(const std::string& name);

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_STORE_STORE_PLACES_H_
