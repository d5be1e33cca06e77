// What a disk may hold after the power was cut, computed from a recording of what a program did (recorder.cc).
//
// The rules are those of POSIX, and no kinder:
//   - What was written to a file is there once the file was synced. Before that any part of it may be there, and the
//     file may have grown without its bytes, which are zeros then.
//   - A name in a folder is there, gone or another's once the folder was synced. Before that each change may have
//     happened or not; changes of one name keep their order, and a rename is one change.
//   - A sync of a file says nothing about its name, nor the other way round.
#ifndef BLINK_TESTS_POWER_CUT_DISK_H_
#define BLINK_TESTS_POWER_CUT_DISK_H_

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace blink::power_cut {

// One operation. Paths are relative to the recorded folder, which is "".
struct Operation {
  enum class Kind : char {
    kCreate = 'c',    // an empty file
    kWrite = 'w',     // `text` at byte `number`
    kTruncate = 't',  // to `number` bytes
    kGrow = 'g',      // to at least `number` bytes, with zeros
    kSync = 's',      // of the file or folder; `text`: who asked for it
    kSyncAll = 'S',
    kMakeFolder = 'm',
    kRemove = 'u',    // a file or an empty folder
    kRename = 'r',    // to `text`
    kExchange = 'x',  // with `text`
    kLink = 'l',      // a second name `text`
    kNote = 'n',      // what the scenario promises from here on
    kUnknown = 'X',   // something that the recorder does not understand
  };
  Kind kind;
  std::string path;
  uint64_t number = 0;
  std::string text;
};

std::vector<Operation> ReadRecording(const std::string& path);

// Who asked for a sync, the same for each time that the same line of code does. "": the operation is no sync.
std::string SiteOf(const Operation& operation);

// What becomes of that which was not synced.
struct Fate {
  enum class Names {
    kLost,
    kKept,
    kSome,  // those of the first so many changes, as with a file system that keeps a journal of them
    kAny,
  };
  enum class Bytes {
    kLost,
    kKept,
    kTorn,   // half of the last write is missing
    kZeros,  // the file has its size, and not its bytes
    kAny,    // each write one of these
  };
  Names names = Names::kLost;
  Bytes bytes = Bytes::kLost;
  uint32_t seed = 0;
  // Whether what is left of a file is a beginning of what was written, with zeros behind it at most. This is what
  // usual file systems leave of a file that was appended to.
  bool IsInOrder() const { return bytes != Bytes::kAny; }
};

// The content of a disk: path -> bytes. Paths of folders end with "/".
using Tree = std::map<std::string, std::string>;
void WriteTree(const Tree& tree, const std::string& folder);

class Disk {
 public:
  // Syncs of the site `without` are taken for not done.
  explicit Disk(const std::vector<Operation>& operations, const std::string& without = "");

  // After the first `cut` operations.
  Tree After(size_t cut, const Fate& fate) const;

 private:
  struct Data {
    size_t at;  // the operation
    const Operation* operation;
  };
  struct Inode {
    bool is_folder = false;
    std::vector<Data> data;
    std::vector<size_t> syncs;
  };
  struct Name {
    size_t folder;
    std::string name;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Change {
    size_t at;
    std::vector<std::pair<Name, size_t>> names;  // each with the inode that it has from now on; kNone: it is gone
  };
  static constexpr size_t kNone = SIZE_MAX;

  Name Resolve(const std::string& path) const;
  size_t InodeOf(const Name& name) const;
  void Apply(size_t at, const Operation& operation);
  void ChangeNames(size_t at, std::vector<std::pair<Name, size_t>> names);
  bool IsSynced(size_t inode, size_t after, size_t cut) const;
  std::map<Name, size_t> NamesAfter(size_t cut, Fate::Names fate, std::minstd_rand& random) const;
  std::string BytesAfter(const Inode& inode, size_t cut, Fate::Bytes fate, std::minstd_rand& random) const;

  std::vector<Inode> inodes_;
  std::vector<Change> changes_;
  std::map<Name, size_t> names_;  // as the program sees them, while the operations are gone through
};

}  // namespace blink::power_cut

#endif  // BLINK_TESTS_POWER_CUT_DISK_H_
