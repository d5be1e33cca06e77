// What a round's budget means: the flip probability, the scale of the degree noise, and the real cost of a report.
//
//   epsilon        = epsilon_micro / 10^6
//   s              = degree_share_ppm / 10^6             the degree share
//   epsilon_degree = s * epsilon                         the degree noise has scale 1 / epsilon_degree
//   epsilon_list   = (1 - s) * epsilon
//   p              = 1 / (1 + e^epsilon_list)            Algorithm 1 (LinkLDP) of Blink
//   p'             = flip_numerator / 2^64               the flip probability that is used
//
// What a node reports of its list is decided by the mechanism:
//
//   kBothEnds       a bit for every entry, and the number of entries. Both ends of a pair report it
//   kOneEnd         a bit for every own pair (own_pairs.h), and the number of links among them. One end reports it
//   kGroupDegrees   for each of k groups of nodes the number of entries in it, and no bits. It takes the whole epsilon,
//                   so s = 0
//
// All but p are exact rationals. flip_numerator is 2^64 p, rounded up (flip_numerator.h says how exactly). So p' >= p,
// and ln((1 - p') / p') <= epsilon_list. No floating-point number decides a probability.
#ifndef BLINK_COMMON_PRIVACY_PARAMETERS_H_
#define BLINK_COMMON_PRIVACY_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/privacy/bit_row.h"

namespace blink {

// The numbers are those of the protocol and of a report's digest.
enum class Mechanism : uint32_t { kBothEnds = 1, kOneEnd = 2, kGroupDegrees = 3 };

const char* MechanismName(Mechanism mechanism);                   // "both-ends", "one-end", "group-degrees"
std::optional<Mechanism> MechanismNumbered(uint32_t number);      // nothing: it is not known
std::optional<Mechanism> MechanismNamed(absl::string_view name);  // likewise

// What Mechanism::kGroupDegrees asks about. The digest is that of the map from nodes to groups
// (common/wire/groups_codec.h), so that equal parameters are about the same groups. No probability depends on it.
struct GroupQuestion {
  uint32_t count = 0;  // groups
  std::array<uint8_t, 32> map_sha256{};
  friend bool operator==(const GroupQuestion&, const GroupQuestion&) = default;
};

class PrivacyParameters {
 public:
  // Returns INVALID_ARGUMENT, naming the parameter and its range, unless
  //   epsilon_micro     is in 1 .. 50,000,000,
  //   degree_share_ppm  is in 0 .. 1,000,000,
  //   node_count        is in 3 .. 10,000,000, and
  //   mechanism         is not kGroupDegrees, which needs a question.
  static absl::StatusOr<PrivacyParameters> Create(uint64_t epsilon_micro, uint32_t degree_share_ppm,
                                                  uint32_t node_count, Mechanism mechanism = Mechanism::kBothEnds);
  // Of kGroupDegrees. Also INVALID_ARGUMENT unless question.count is in 1 .. node_count.
  static absl::StatusOr<PrivacyParameters> CreateForGroups(uint64_t epsilon_micro, uint32_t node_count,
                                                           const GroupQuestion& question);

  uint64_t epsilon_micro() const { return epsilon_micro_; }
  uint32_t degree_share_ppm() const { return degree_share_ppm_; }
  uint32_t node_count() const { return node_count_; }
  Mechanism mechanism() const { return mechanism_; }
  const GroupQuestion& question() const { return question_; }  // of kGroupDegrees; otherwise without groups

  // How many reports are about a pair: 2 or 1. So many times what an entry costs is what an undirected link costs.
  int reports_of_pair() const { return mechanism_ == Mechanism::kOneEnd ? 1 : 2; }
  // Of the report of node `self`, which is below node_count(): how many bits it has, where it has bits, and how many
  // pairs these are about. With kBothEnds the node's own bit is about none.
  uint32_t row_bits(NodeIndex self) const;
  uint32_t pairs_of_report(NodeIndex self) const;

  bool sends_bits() const { return degree_share_ppm_ < 1'000'000 && !sends_group_degrees(); }
  bool sends_degree() const { return degree_share_ppm_ > 0; }
  bool sends_group_degrees() const { return mechanism_ == Mechanism::kGroupDegrees; }

  // p' = flip_numerator() / 2^64, in [p, 1/2]; 1/2 when !sends_bits().
  uint64_t flip_numerator() const { return flip_numerator_; }
  // epsilon_list = list_epsilon_numerator() / 10^12. Meaningful only when sends_bits().
  uint64_t list_epsilon_numerator() const { return epsilon_micro_ * (1'000'000 - degree_share_ppm_); }
  // epsilon_degree = degree_epsilon_numerator() / 10^12. Meaningful only when sends_degree().
  uint64_t degree_epsilon_numerator() const { return epsilon_micro_ * degree_share_ppm_; }

  // Rounded numbers, for people and for estimation. No random decision uses them.
  double epsilon() const { return static_cast<double>(epsilon_micro_) / 1e6; }
  double degree_share() const { return static_cast<double>(degree_share_ppm_) / 1e6; }
  double epsilon_degree() const { return static_cast<double>(degree_epsilon_numerator()) / 1e12; }
  double epsilon_list() const;
  double flip_probability() const;  // p' as the nearest double
  double bit_log_odds() const;      // ln((1 - p') / p'): the weight of one received bit; 0 when !sends_bits()
  // ln((1 - p') / p') + epsilon_degree: the real cost of one report for one entry of one list. Never above epsilon(),
  // and epsilon() itself for kGroupDegrees.
  double achieved_epsilon() const;

  friend bool operator==(const PrivacyParameters&, const PrivacyParameters&) = default;

 private:
  PrivacyParameters() = default;
  uint64_t epsilon_micro_ = 0;
  uint32_t degree_share_ppm_ = 0;
  uint32_t node_count_ = 0;
  uint64_t flip_numerator_ = 0;
  Mechanism mechanism_ = Mechanism::kBothEnds;
  GroupQuestion question_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_PARAMETERS_H_
