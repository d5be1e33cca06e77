#include "tests/unit/store/store_places.h"

#include <utility>

#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/postgres_store.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/status_macros.h"
#include "tests/simulation/shared_store.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/temp_folder.h"

namespace blink::testing {
namespace {

class RocksDbPlace final : public StorePlace {
 public:
  absl::StatusOr<std::unique_ptr<ReportStore>> Open() override { return OpenRocksDbStore(folder_ / "store"); }

 private:
  TempFolder folder_;
};

class PostgresPlace final : public StorePlace {
 public:
  std::string WhatIsMissing() override { return PostgresServer::WhatIsMissing(); }
  absl::StatusOr<std::unique_ptr<ReportStore>> Open() override {
    static PostgresServer server({"fsync=off"});  // of all tests of this process
    if (uri_.empty()) uri_ = server.MakeDatabase();
    BLINK_ASSIGN_OR_RETURN(const PostgresTarget target, PostgresTarget::Parse(uri_));
    return OpenPostgresStore(target);
  }

 private:
  std::string uri_;
};

// Of another place, with a data key.
class EncryptedPlace final : public StorePlace {
 public:
  explicit EncryptedPlace(std::unique_ptr<StorePlace> place) : place_(std::move(place)) {}
  std::string WhatIsMissing() override { return place_->WhatIsMissing(); }
  absl::StatusOr<std::unique_ptr<ReportStore>> Open() override {
    BLINK_ASSIGN_OR_RETURN(std::unique_ptr<ReportStore> store, place_->Open());
    return OpenEncryptedStore(std::move(store), {.current = SecretKey::FromBytes(std::string(32, 'k')).value()});
  }

 private:
  const std::unique_ptr<StorePlace> place_;
};

// The one of the simulation (tests/simulation/).
class SimulatedPlace final : public StorePlace {
 public:
  absl::StatusOr<std::unique_ptr<ReportStore>> Open() override {
    return std::make_unique<simulation::SharedStore>(database_);
  }

 private:
  simulation::SharedDatabase database_{SystemClock()};
};

}  // namespace

std::vector<std::string> StorePlaceNames() {
  return {"RocksDb", "Postgres", "EncryptedRocksDb", "EncryptedPostgres", "Simulated"};
}

std::unique_ptr<StorePlace> MakeStorePlace(const std::string& name) {
  if (name == "EncryptedRocksDb") return std::make_unique<EncryptedPlace>(MakeStorePlace("RocksDb"));
  if (name == "EncryptedPostgres") return std::make_unique<EncryptedPlace>(MakeStorePlace("Postgres"));
  if (name == "Postgres") return std::make_unique<PostgresPlace>();
  if (name == "Simulated") return std::make_unique<SimulatedPlace>();
  return std::make_unique<RocksDbPlace>();
}

}  // namespace blink::testing
