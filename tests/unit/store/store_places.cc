#include "tests/unit/store/store_places.h"

#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/temp_folder.h"

namespace blink::testing {
namespace {

class RocksDbPlace final : public StorePlace {
 public:
  absl::StatusOr<std::unique_ptr<ReportStore>> Open() override { return OpenRocksDbStore(folder_ / "store"); }

 private:
  TempFolder folder_;
};

}  // namespace

std::vector<std::string> StorePlaceNames() { return {"RocksDb"}; }

std::unique_ptr<StorePlace> MakeStorePlace(const std::string& name) { return std::make_unique<RocksDbPlace>(); }

}  // namespace blink::testing
