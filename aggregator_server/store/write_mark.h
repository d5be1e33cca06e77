// How much the store has acknowledged, in a small file beside RocksDB's own: STORE/acknowledged. With it a store that
// lost the end of its log is found, which RocksDB takes for one that never had more.
//
// The mark is written after the log is synced and before anybody is told. It is not synced itself, which would cost as
// much as the log: the system does so within half a minute. So a mark never says more than the disk holds, and after a
// power cut it may say less, or nothing.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_WRITE_MARK_H_
#define BLINK_AGGREGATOR_SERVER_STORE_WRITE_MARK_H_

#include <cstdint>
#include <optional>
#include <string>

namespace blink {

struct Acknowledged {
  uint64_t sequence = 0;  // RocksDB's number of the last change
  uint64_t rounds = 0;
  uint64_t reports = 0;  // of all rounds
};

// "blink-store-mark 1 <sequence> <rounds> <reports> <SHA-256 of what is before>\n"
std::string MarkToText(const Acknowledged& acknowledged);

class WriteMark {
 public:
  // Of the store in `folder`. A mark that cannot be written is missed by nobody but the next start.
  explicit WriteMark(const std::string& folder);
  ~WriteMark();
  WriteMark(const WriteMark&) = delete;
  WriteMark& operator=(const WriteMark&) = delete;

  // nullopt: there is none, or it cannot be read.
  static std::optional<Acknowledged> Read(const std::string& folder);
  void Set(const Acknowledged& acknowledged);

 private:
  int fd_ = -1;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_WRITE_MARK_H_
