#include "tests/power_cut/disk.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace blink::power_cut {
namespace {

std::string Take(const std::string& bytes, size_t& at) {
  uint64_t size = 0;
  std::memcpy(&size, bytes.data() + at, sizeof(size));
  at += sizeof(size) + size;
  return bytes.substr(at - size, size);
}

void WriteAt(std::string& bytes, uint64_t at, const std::string& text) {
  if (bytes.size() < at + text.size()) bytes.resize(at + text.size());
  bytes.replace(at, text.size(), text);
}

// Of RocksDB the kind of file, since it syncs all kinds by the same code.
std::string KindOfFile(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  for (const char* suffix : {".log", ".sst", ".dbtmp"}) {
    if (absl::EndsWith(name, suffix)) return suffix;
  }
  for (const char* prefix : {"MANIFEST", "OPTIONS"}) {
    if (absl::StartsWith(name, prefix)) return prefix;
  }
  return "folder";
}

}  // namespace

std::vector<Operation> ReadRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<Operation> operations;
  for (size_t at = 0; at < bytes.size();) {
    const std::string record = Take(bytes, at);
    Operation operation{static_cast<Operation::Kind>(record[0])};
    size_t in = 1;
    operation.path = Take(record, in);
    std::memcpy(&operation.number, record.data() + in, sizeof(operation.number));
    in += sizeof(operation.number);
    operation.text = Take(record, in);
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string SiteOf(const Operation& operation) {
  if (operation.kind == Operation::Kind::kSyncAll) return operation.text;
  if (operation.kind != Operation::Kind::kSync) return "";
  return operation.text == "rocksdb" ? absl::StrCat("rocksdb ", KindOfFile(operation.path)) : operation.text;
}

void WriteTree(const Tree& tree, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [path, bytes] : tree) {  // a folder comes before what it holds
    if (absl::EndsWith(path, "/")) {
      std::filesystem::create_directory(absl::StrCat(folder, "/", path));
    } else {
      std::ofstream(absl::StrCat(folder, "/", path), std::ios::binary) << bytes;
    }
  }
}

Disk::Disk(const std::vector<Operation>& operations, const std::string& without) {
  inodes_.push_back({.is_folder = true});
  for (size_t at = 0; at < operations.size(); ++at) {
    const std::string site = SiteOf(operations[at]);
    if (site.empty() || site != without) Apply(at, operations[at]);
  }
}

Disk::Name Disk::Resolve(const std::string& path) const {
  Name name{0, ""};
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    if (!name.name.empty()) name.folder = InodeOf(name);
    name.name = part.string();
  }
  return name;
}

size_t Disk::InodeOf(const Name& name) const {
  if (name.name.empty()) return 0;
  const auto found = names_.find(name);
  if (found == names_.end()) throw std::runtime_error(absl::StrCat("the recording names an unknown ", name.name));
  return found->second;
}

void Disk::ChangeNames(size_t at, std::vector<std::pair<Name, size_t>> names) {
  for (const auto& [name, inode] : names) {
    if (inode == kNone) {
      names_.erase(name);
    } else {
      names_[name] = inode;
    }
  }
  changes_.push_back({at, std::move(names)});
}

void Disk::Apply(size_t at, const Operation& operation) {
  const Name name = Resolve(operation.path);
  switch (operation.kind) {
    case Operation::Kind::kCreate:
    case Operation::Kind::kMakeFolder:
      inodes_.push_back({.is_folder = operation.kind == Operation::Kind::kMakeFolder});
      return ChangeNames(at, {{name, inodes_.size() - 1}});
    case Operation::Kind::kWrite:
    case Operation::Kind::kTruncate:
    case Operation::Kind::kGrow:
      return inodes_[InodeOf(name)].data.push_back({at, &operation});
    case Operation::Kind::kSync:
      return inodes_[InodeOf(name)].syncs.push_back(at);
    case Operation::Kind::kSyncAll:
      for (Inode& inode : inodes_) inode.syncs.push_back(at);
      return;
    case Operation::Kind::kRemove:
      return ChangeNames(at, {{name, kNone}});
    case Operation::Kind::kRename:
      return ChangeNames(at, {{name, kNone}, {Resolve(operation.text), InodeOf(name)}});
    case Operation::Kind::kExchange: {
      const Name other = Resolve(operation.text);
      return ChangeNames(at, {{name, InodeOf(other)}, {other, InodeOf(name)}});
    }
    case Operation::Kind::kLink:
      return ChangeNames(at, {{Resolve(operation.text), InodeOf(name)}});
    case Operation::Kind::kNote:
      return;
    case Operation::Kind::kUnknown:
      throw std::runtime_error(
          absl::StrCat("the recorder does not understand ", operation.text, " on ", operation.path));
  }
}

bool Disk::IsSynced(size_t inode, size_t after, size_t cut) const {
  const std::vector<size_t>& syncs = inodes_[inode].syncs;
  const auto next = std::upper_bound(syncs.begin(), syncs.end(), after);
  return next != syncs.end() && *next < cut;
}

std::map<Disk::Name, size_t> Disk::NamesAfter(size_t cut, Fate::Names fate, std::minstd_rand& random) const {
  std::map<Name, size_t> names;
  std::set<Name> dropped;
  const size_t last = cut > 0 ? random() % cut : 0;
  for (const Change& change : changes_) {
    if (change.at >= cut) break;
    const bool is_durable = std::any_of(change.names.begin(), change.names.end(), [&](const auto& changed) {
      return IsSynced(changed.first.folder, change.at, cut);
    });
    const bool follows_dropped = std::any_of(change.names.begin(), change.names.end(),
                                             [&](const auto& changed) { return dropped.count(changed.first) > 0; });
    const bool is_kept = is_durable || (!follows_dropped && (fate == Fate::Names::kKept ||
                                                             (fate == Fate::Names::kSome && change.at < last) ||
                                                             (fate == Fate::Names::kAny && random() % 2 == 0)));
    for (const auto& [name, inode] : change.names) {
      if (!is_kept) {
        dropped.insert(name);
      } else if (inode == kNone) {
        names.erase(name);
      } else {
        names[name] = inode;
      }
    }
  }
  return names;
}

std::string Disk::BytesAfter(const Inode& inode, size_t cut, Fate::Bytes fate, std::minstd_rand& random) const {
  std::string bytes;
  const size_t index = &inode - inodes_.data();
  for (size_t i = 0; i < inode.data.size() && inode.data[i].at < cut; ++i) {
    const Operation& operation = *inode.data[i].operation;
    Fate::Bytes own = fate;
    if (IsSynced(index, inode.data[i].at, cut)) {
      own = Fate::Bytes::kKept;
    } else if (fate == Fate::Bytes::kAny) {
      own = static_cast<Fate::Bytes>(random() % 4);
    } else if (fate == Fate::Bytes::kTorn && i + 1 < inode.data.size() && inode.data[i + 1].at < cut) {
      own = Fate::Bytes::kKept;
    }
    if (own == Fate::Bytes::kLost) continue;
    if (operation.kind == Operation::Kind::kTruncate) {
      bytes.resize(operation.number);
    } else if (operation.kind == Operation::Kind::kGrow) {
      bytes.resize(std::max<size_t>(bytes.size(), operation.number));
    } else if (own == Fate::Bytes::kZeros) {
      bytes.resize(std::max<size_t>(bytes.size(), operation.number + operation.text.size()));
    } else {
      const size_t kept = own == Fate::Bytes::kTorn ? operation.text.size() / 2 : operation.text.size();
      WriteAt(bytes, operation.number, operation.text.substr(0, kept));
    }
  }
  return bytes;
}

Tree Disk::After(size_t cut, const Fate& fate) const {
  std::minstd_rand random(fate.seed * 7919 + cut + 1);
  const std::map<Name, size_t> names = NamesAfter(cut, fate.names, random);
  Tree tree;
  std::vector<std::pair<size_t, std::string>> folders = {{0, ""}};
  while (!folders.empty()) {
    const auto [folder, path] = folders.back();
    folders.pop_back();
    for (auto name = names.lower_bound({folder, ""}); name != names.end() && name->first.folder == folder; ++name) {
      const Inode& inode = inodes_[name->second];
      const std::string whole = path + name->first.name;
      if (inode.is_folder) {
        tree[whole + "/"] = "";
        folders.emplace_back(name->second, whole + "/");
      } else {
        tree[whole] = BytesAfter(inode, cut, fate.bytes, random);
      }
    }
  }
  return tree;
}

}  // namespace blink::power_cut
