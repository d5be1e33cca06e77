#include "aggregator_server/transport/connection_ledger.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <chrono>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/transport/handshake_log.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A ledger with a machine: descriptors are given as a system gives them, and a cut connection is gone after Close().
class Machine {
 public:
  explicit Machine(int descriptors)
      : limits(*ConnectionLimits::ForDescriptors(descriptors)), ledger(limits, [this](int fd) { cut.push_back(fd); }) {}

  // The id, or 0 when the connection is refused.
  uint64_t Connect(const std::string& host) {
    const int fd = free.empty() ? next : *free.begin();
    const absl::StatusOr<uint64_t> id = ledger.Arrive(host, fd);
    most_used = std::max(most_used, static_cast<int>(used.size()) + 1);
    if (!id.ok()) return 0;
    if (free.erase(fd) == 0) ++next;
    used[fd] = *id;
    fds[*id] = fd;
    return *id;
  }
  void Close(uint64_t id) {
    used.erase(fds[id]);
    free.insert(fds[id]);
    fds.erase(id);
    ledger.Leave(id);
  }
  // gRPC closes those that were cut.
  void CloseCut() {
    const std::vector<int> now = std::exchange(cut, {});
    for (const int fd : now) Close(used[fd]);
  }

  const ConnectionLimits limits;
  std::vector<int> cut;
  ConnectionLedger ledger;
  std::map<int, uint64_t> used;
  std::set<int> free;
  int next = 16;  // what the process itself has
  std::map<uint64_t, int> fds;
  int most_used = 0;
};

PeerAddress Six(const char* text) {
  sockaddr_storage storage{};
  auto* const six = reinterpret_cast<sockaddr_in6*>(&storage);
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(77);
  EXPECT_EQ(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
  return PeerAddress::Of(storage, sizeof(*six));
}

TEST(PeerAddress, AnAddressOfIpv6CountsWithItsNetwork) {
  EXPECT_EQ(Six("2001:db8:1:2:3:4:5:6").peer, "[2001:db8:1:2:3:4:5:6]:77");
  EXPECT_EQ(Six("2001:db8:1:2:3:4:5:6").host, "2001:db8:1:2::/64");
  EXPECT_EQ(Six("2001:db8:1:2:ffff:ffff:ffff:ffff").host, "2001:db8:1:2::/64");
  EXPECT_NE(Six("2001:db8:1:3:3:4:5:6").host, "2001:db8:1:2::/64");
}

TEST(PeerAddress, AnAddressOfIpv4CountsAloneWhateverTheSocket) {
  EXPECT_EQ(Six("::ffff:192.0.2.7").host, "192.0.2.7");
  EXPECT_EQ(Six("::ffff:192.0.2.7").peer, "192.0.2.7:77");
  EXPECT_EQ(Six("::ffff:192.0.2.8").host, "192.0.2.8");
}

const int kDescriptors[] = {64, 65, 100, 128, 256, 500, 768, 1024, 4096, 65'536};

TEST(ConnectionLimits, AreSharesOfWhateverTheLimitOfOpenFilesIs) {
  for (const int descriptors : kDescriptors) {
    const ConnectionLimits limits = *ConnectionLimits::ForDescriptors(descriptors);
    EXPECT_LE(limits.open + limits.leaving, descriptors - std::min(512, descriptors / 2)) << descriptors;
    EXPECT_LE(4 * limits.handshakes_per_host, descriptors) << descriptors;
    EXPECT_LE(2 * limits.handshakes_per_host, limits.handshakes) << descriptors;
    EXPECT_GE(limits.handshakes_per_host, 4) << descriptors;
    EXPECT_GE(limits.handshakes_kept, 2) << descriptors;
    EXPECT_GE(limits.operators_kept, 2) << descriptors;
    EXPECT_GE(limits.per_name, 2) << descriptors;
    EXPECT_LE(limits.per_name + limits.handshakes_kept + limits.operators_kept, limits.open) << descriptors;
  }
}

TEST(ConnectionLimits, TooFewDescriptorsAreRefusedWithTheRemedy) {
  for (const int descriptors : {0, 3, 63}) {
    const absl::Status refused = ConnectionLimits::ForDescriptors(descriptors).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("ulimit -n"));
  }
}

TEST(ConnectionLimits, NoLimitAtAllIsALimitToo) {
  EXPECT_TRUE(ConnectionLimits::ForDescriptors(std::numeric_limits<int64_t>::max()).ok());
}

TEST(ConnectionLedger, OneAddressGetsItsShareAndNoMore) {
  for (const int descriptors : kDescriptors) {
    Machine machine(descriptors);
    int taken = 0;
    for (int i = 0; i < descriptors; ++i) taken += machine.Connect("192.0.2.1") != 0;
    EXPECT_EQ(taken, machine.limits.handshakes_per_host) << descriptors;
    EXPECT_THAT(machine.cut, IsEmpty()) << descriptors;
    EXPECT_NE(machine.Connect("192.0.2.2"), 0u) << descriptors;
  }
}

TEST(ConnectionLedger, AFewAddressesTogetherCannotHoldAll) {
  for (const int descriptors : kDescriptors) {
    for (const int hosts : {2, 4, 300}) {
      Machine machine(descriptors);
      for (int i = 0; i < descriptors + 100; ++i) {
        machine.Connect(absl::StrCat("192.0.2.", i % hosts));
        machine.CloseCut();
      }
      EXPECT_LE(machine.ledger.open(), machine.limits.handshakes) << descriptors << " " << hosts;
      const uint64_t honest = machine.Connect("198.51.100.1");
      ASSERT_NE(honest, 0u) << descriptors << " " << hosts;
      machine.CloseCut();
      if (hosts > machine.limits.handshakes) continue;
      for (int i = 0; i < std::min(descriptors, 5000); ++i) {  // they go on while it shakes hands
        machine.Connect(absl::StrCat("192.0.2.", i % hosts));
        machine.CloseCut();
      }
      EXPECT_EQ(machine.ledger.unfinished("198.51.100.1"), 1) << descriptors << " " << hosts;
      EXPECT_TRUE(machine.ledger.Finish(honest, "blink://demo/node/1", false).ok()) << descriptors << " " << hosts;
      EXPECT_LE(machine.most_used, descriptors - std::min(512, descriptors / 2) + 1) << descriptors << " " << hosts;
    }
  }
}

// They are cut, but whoever drives them closes nothing: the descriptors are still counted.
TEST(ConnectionLedger, CutConnectionsCountUntilTheyAreClosed) {
  Machine machine(128);
  for (int i = 0; i < 10'000; ++i) machine.Connect(absl::StrCat("host ", i));
  EXPECT_LE(machine.used.size(), 64u);
  EXPECT_EQ(machine.cut.size(), 8u);
  machine.CloseCut();
  EXPECT_NE(machine.Connect("another"), 0u);
}

TEST(ConnectionLedger, ItIsTheOldestOfTheBusiestAddressThatMakesRoom) {
  Machine machine(64);  // 14 handshakes, 7 of one address
  std::vector<uint64_t> busy;
  for (int i = 0; i < 7; ++i) busy.push_back(machine.Connect("busy"));
  for (int i = 0; i < 7; ++i) ASSERT_NE(machine.Connect(absl::StrCat("quiet ", i)), 0u);
  const int fd = machine.fds[busy[0]];
  EXPECT_NE(machine.Connect("newcomer"), 0u);
  EXPECT_THAT(machine.cut, ElementsAre(fd));
  EXPECT_EQ(machine.Connect("busy"), 0u) << "it has the most itself";
}

TEST(ConnectionLedger, ADescriptorThatIsUsedAgainIsNotCutForItsFormerOwner) {
  Machine machine(64);
  std::vector<uint64_t> busy;
  for (int i = 0; i < 7; ++i) busy.push_back(machine.Connect("busy"));
  // gRPC has closed the first, and has not freed what belongs to it yet
  machine.free.insert(machine.fds[busy[0]]);
  for (int i = 0; i < 7; ++i) ASSERT_NE(machine.Connect(absl::StrCat("quiet ", i)), 0u);
  EXPECT_NE(machine.Connect("newcomer"), 0u);
  EXPECT_THAT(machine.cut, IsEmpty());
}

TEST(ConnectionLedger, OneCertificateCannotHoldAll) {
  for (const int descriptors : kDescriptors) {
    Machine machine(descriptors);
    int taken = 0;
    for (int i = 0; i < std::min(descriptors, 2000); ++i) {
      const uint64_t id = machine.Connect("192.0.2.1");
      ASSERT_NE(id, 0u);
      taken += machine.ledger.Finish(id, "blink://demo/node/1", false).ok();
      machine.CloseCut();
    }
    EXPECT_EQ(taken, machine.limits.per_name) << descriptors;
    EXPECT_EQ(machine.ledger.finished("blink://demo/node/1"), machine.limits.per_name) << descriptors;
    EXPECT_TRUE(machine.ledger.Finish(machine.Connect("192.0.2.1"), "blink://demo/node/2", false).ok());
  }
}

TEST(ConnectionLedger, NodesTogetherLeaveRoomForOperatorsAndHandshakes) {
  for (const int descriptors : kDescriptors) {
    Machine machine(descriptors);
    for (int i = 0; i < descriptors; ++i) {
      const uint64_t id = machine.Connect("192.0.2.1");
      ASSERT_NE(id, 0u) << descriptors;
      const bool taken = machine.ledger.Finish(id, absl::StrCat("blink://demo/node/", i), false).ok();
      EXPECT_TRUE(taken || i > machine.limits.open / 2) << "those that have finished it get half at least";
      machine.CloseCut();
    }
    for (int i = 0; i < machine.limits.operators_kept; ++i) {
      const std::string name = absl::StrCat("blink://demo/operator/ada-", i);
      EXPECT_TRUE(machine.ledger.Finish(machine.Connect("192.0.2.1"), name, true).ok()) << descriptors;
    }
    EXPECT_NE(machine.Connect("192.0.2.1"), 0u) << "somebody can always begin";
    EXPECT_LE(machine.most_used, descriptors - std::min(512, descriptors / 2)) << descriptors;
  }
}

TEST(ConnectionLedger, ARevokedCertificateLeavesItsNameToTheNextOne) {
  for (const int descriptors : kDescriptors) {
    Machine machine(descriptors);
    const std::string name = "blink://demo/node/1";
    const ConnectionLedger::Time now;
    std::vector<uint64_t> ids;
    for (int i = 0; i < machine.limits.per_name; ++i) {
      ids.push_back(machine.Connect("192.0.2.1"));
      ASSERT_TRUE(machine.ledger.Finish(ids.back(), name, false, "0a").ok());
    }
    const uint64_t other = machine.Connect("192.0.2.1");
    ASSERT_TRUE(machine.ledger.Finish(other, "blink://demo/node/2", false, "0b").ok());
    const auto is_revoked = [](const std::string& serial) { return serial == "0a"; };
    const auto disowned = machine.ledger.DisownAll(is_revoked, now);
    ASSERT_EQ(disowned.size(), 1u);
    EXPECT_EQ(disowned.at({name, "0a"}), machine.limits.per_name);
    EXPECT_THAT(machine.ledger.DisownAll(is_revoked, now), IsEmpty()) << "they are disowned already";
    EXPECT_EQ(machine.ledger.finished(name), 0) << descriptors;
    EXPECT_EQ(machine.ledger.unfinished("192.0.2.1"), machine.limits.per_name) << descriptors;
    EXPECT_TRUE(machine.ledger.Finish(machine.Connect("192.0.2.2"), name, false, "0c").ok()) << descriptors;
    machine.CloseCut();
    machine.ledger.CutDisowned(now + ConnectionLedger::kDisownedFor - std::chrono::milliseconds(1));
    EXPECT_THAT(machine.cut, IsEmpty()) << "their calls are still told why";
    machine.Close(ids[0]);
    while (machine.ledger.unfinished("192.0.2.1") > 0) {
      machine.ledger.CutDisowned(now + ConnectionLedger::kDisownedFor);
      ASSERT_FALSE(machine.cut.empty()) << descriptors;
      EXPECT_LE(static_cast<int>(machine.cut.size()), machine.limits.leaving) << descriptors;
      machine.CloseCut();
    }
    EXPECT_EQ(machine.ledger.open(), 2) << "of the new certificate, and of another name";
  }
}

TEST(ConnectionLedger, WhoseCertificateIsRevokedAlreadyIsNeverCountedWithItsName) {
  Machine machine(256);
  const ConnectionLedger::Time now;
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t id = machine.Connect("192.0.2.1");
    if (id != 0) machine.ledger.Disown(id, now);
    taken += id != 0;
  }
  EXPECT_EQ(taken, machine.limits.handshakes_per_host) << "an address has its share, whatever it shows";
  machine.ledger.CutDisowned(now + ConnectionLedger::kDisownedFor);
  EXPECT_FALSE(machine.cut.empty());
  machine.ledger.Disown(machine.used[machine.cut[0]], now);
  machine.ledger.Disown(123'456, now);
  EXPECT_EQ(machine.ledger.unfinished("192.0.2.1"), taken - static_cast<int>(machine.cut.size()));
}

TEST(ConnectionLedger, WhatLeavesMakesRoomAgain) {
  Machine machine(64);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t id = machine.Connect("192.0.2.1");
    ASSERT_NE(id, 0u) << i;
    ASSERT_TRUE(i % 3 == 0 || machine.ledger.Finish(id, "blink://demo/node/1", i % 3 == 1).ok()) << i;
    machine.Close(id);
    machine.ledger.Leave(id);  // a second time changes nothing
  }
  EXPECT_EQ(machine.ledger.open(), 0);
}

}  // namespace
}  // namespace blink
