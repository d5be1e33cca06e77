#include "node_client/journal_index.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "node_client/journal_format.h"
#include "node_client/policy_file.h"

namespace blink {

namespace fmt_ = journal_format;

namespace {

absl::Status NoSense(absl::string_view what) { return absl::DataLossError(what); }

}  // namespace

absl::Status JournalIndex::ApplyRecord(absl::string_view payload, uint64_t offset) {
  fmt_::Fields fields(payload);
  const auto type = fields.Get<uint8_t>();
  if (initialised_ != (type != fmt_::kInit)) return NoSense("records are out of order");
  switch (type) {
    case fmt_::kInit:
      return ApplyInit(fields.rest());
    case fmt_::kRoster:
      return ApplyRoster(fields.rest());
    case fmt_::kEpoch:
      return ApplyEpoch(fields.rest());
    case fmt_::kDraw:
      return ApplyDraw(fields.rest(), offset + 1);
    case fmt_::kRound:
      return ApplyRound(fields.rest());
    case fmt_::kReceipt:
      return ApplyReceipt(fields.rest());
    case fmt_::kRoundOver: {
      const auto it = rounds_.find(std::string(fields.GetText()));
      if (!fields.Finished() || it == rounds_.end()) return NoSense("the record of a round's end makes no sense");
      it->second.over = true;
      return absl::OkStatus();
    }
    case fmt_::kClock: {
      const absl::Time now = absl::FromUnixMillis(fields.Get<int64_t>());
      if (!fields.Finished()) return NoSense("a clock's record makes no sense");
      clock_ = std::max(clock_, now);
      return absl::OkStatus();
    }
    case fmt_::kAnchored:
      if (!fields.Finished()) return NoSense("an anchor's record makes no sense");
      anchored_ = true;
      return absl::OkStatus();
    default:
      return NoSense("a record of unknown type; use the program that wrote it");
  }
}

absl::Status JournalIndex::ApplyInit(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  identity_.deployment = std::string(fields.GetText());
  identity_.first_node = fields.Get<uint32_t>();
  identity_.last_node = fields.Get<uint32_t>();
  identity_.node_count = fields.Get<uint32_t>();
  identity_.roster_version = fields.Get<uint64_t>();
  const absl::string_view id = fields.GetBytes(id_.size());
  std::copy(id.begin(), id.end(), id_.begin());
  const auto anchored = fields.Get<uint8_t>();
  // The limit on n comes before anything is allocated by the size of the range.
  if (!fields.Finished() || anchored > 1 || identity_.last_node < identity_.first_node ||
      identity_.last_node >= identity_.node_count || identity_.node_count > kNodesMax) {
    return NoSense("its first record makes no sense");
  }
  anchored_ = anchored == 1;
  spent_micro_.assign(identity_.hosted(), 0);
  initialised_ = true;
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyRoster(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  const auto version = fields.Get<uint64_t>();
  const auto node_count = fields.Get<uint32_t>();
  if (!fields.Finished() || version <= identity_.roster_version || node_count < identity_.node_count ||
      node_count > kNodesMax) {
    return NoSense("a roster's record makes no sense");
  }
  identity_.roster_version = version;
  identity_.node_count = node_count;
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyEpoch(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  Epoch epoch;
  epoch.index = fields.Get<uint32_t>();
  epoch.started = absl::FromUnixMillis(fields.Get<int64_t>());
  AdjacencyLists lists;
  lists.first = identity_.first_node;
  lists.offsets.assign(identity_.hosted() + 1, 0);
  bool sound = epoch.index == epochs_.size() + 1;
  lists.neighbours.reserve(bytes.size() / 4);
  for (uint32_t i = 0; sound && i < identity_.hosted(); ++i) {
    const NodeIndex self = identity_.first_node + i;
    const auto degree = fields.Get<uint32_t>();
    sound = fields.ok() && degree < identity_.node_count;
    for (uint32_t k = 0; sound && k < degree; ++k) {
      const auto neighbour = fields.Get<uint32_t>();
      sound = fields.ok() && neighbour < identity_.node_count && neighbour != self &&
              (k == 0 || neighbour > lists.neighbours.back());
      lists.neighbours.push_back(neighbour);
    }
    lists.offsets[i + 1] = lists.neighbours.size();
  }
  if (!sound || !fields.Finished()) return NoSense("an epoch's record makes no sense");
  lists.neighbours.shrink_to_fit();
  epochs_.push_back(epoch);
  snapshot_ = std::move(lists);
  clock_ = std::max(clock_, epoch.started);
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyDraw(absl::string_view bytes, uint64_t offset) {
  fmt_::Fields fields(bytes);
  const auto epoch = fields.Get<uint32_t>();
  const auto node = fields.Get<uint32_t>();
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, fmt_::GetParameters(fields));
  Draw draw;
  const auto presence = fields.Get<uint8_t>();
  draw.has_degree = presence == 1;
  draw.noisy_degree = fields.Get<int64_t>();
  const absl::string_view digest = fields.GetBytes(32);
  draw.coded_bytes = fields.Get<uint32_t>();
  if (!fields.ok() || presence > 1 || fields.rest().size() != draw.coded_bytes || epochs_.empty() ||
      epoch != epochs_.size() || !Hosts(node) || parameters.node_count() != identity_.node_count) {
    return NoSense("a draw's record makes no sense");
  }
  BLINK_ASSIGN_OR_RETURN(draw.digest, DigestFromBytes(digest));
  draw.coded_offset = offset + (bytes.size() - draw.coded_bytes);
  uint64_t& spent = spent_micro_[node - identity_.first_node];
  if (spent > kEpsilonMicroLifetimeMax - parameters.epsilon_micro())
    return NoSense("a node spent more than any policy allows");
  DrawSet* set = FindSet(epoch, parameters);
  if (set == nullptr) {
    sets_.push_back(DrawSet{epoch, parameters, 0, std::vector<Draw>(identity_.hosted())});
    set = &sets_.back();
  }
  Draw& slot = set->draws[node - identity_.first_node];
  if (slot.coded_offset != 0) return NoSense("a node has two draws for one epoch and parameters");
  slot = draw;
  ++set->drawn;
  ++draws_;
  spent += parameters.epsilon_micro();
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyRound(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  const std::string round_id(fields.GetText());
  const auto epoch = fields.Get<uint32_t>();
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, fmt_::GetParameters(fields));
  const DrawSet* set = FindSet(epoch, parameters);
  if (!fields.Finished() || set == nullptr || set->drawn != identity_.hosted() || rounds_.contains(round_id)) {
    return NoSense("a round's record makes no sense");
  }
  rounds_.emplace(round_id, RoundRecord{{epoch, parameters}, rounds_.size(), {}, false});
  return absl::OkStatus();
}

absl::Status JournalIndex::ApplyReceipt(absl::string_view bytes) {
  fmt_::Fields fields(bytes);
  const std::string round_id(fields.GetText());
  const auto node = fields.Get<uint32_t>();
  fields.GetBytes(32);
  fields.Get<int64_t>();
  const auto it = rounds_.find(round_id);
  if (!fields.Finished() || it == rounds_.end() || !Hosts(node)) return NoSense("a receipt's record makes no sense");
  it->second.receipted.resize(identity_.hosted());
  auto receipted = it->second.receipted[node - identity_.first_node];
  if (!receipted) ++receipts_;
  receipted = true;
  return absl::OkStatus();
}

JournalIndex::DrawSet* JournalIndex::FindSet(uint32_t epoch, const PrivacyParameters& parameters) const {
  for (auto it = sets_.rbegin(); it != sets_.rend(); ++it) {
    if (it->epoch == epoch && it->parameters == parameters) return &*it;
  }
  return nullptr;
}

const JournalIndex::Draw* JournalIndex::DrawAt(uint32_t epoch, const PrivacyParameters& parameters,
                                               NodeIndex node) const {
  const DrawSet* set = FindSet(epoch, parameters);
  if (set == nullptr || set->draws[node - identity_.first_node].coded_offset == 0) return nullptr;
  return &set->draws[node - identity_.first_node];
}

std::optional<Ledger::Epoch> JournalIndex::epoch() const {
  if (epochs_.empty()) return std::nullopt;
  return epochs_.back();
}

std::optional<Ledger::BoundRound> JournalIndex::RoundBinding(const std::string& round_id) const {
  const auto it = rounds_.find(round_id);
  if (it == rounds_.end()) return std::nullopt;
  return it->second.bound;
}

std::vector<std::string> JournalIndex::UnfinishedRounds() const {
  std::vector<std::string> result;
  for (const auto& [id, round] : rounds_) {
    if (!round.over) result.push_back(id);
  }
  return result;
}

bool JournalIndex::RoundIsOver(const std::string& round_id) const {
  const auto it = rounds_.find(round_id);
  return it != rounds_.end() && it->second.over;
}

uint32_t JournalIndex::RoundsOfEpoch(uint32_t epoch) const {
  return static_cast<uint32_t>(std::count_if(rounds_.begin(), rounds_.end(),
                                             [epoch](const auto& entry) { return entry.second.bound.epoch == epoch; }));
}

uint32_t JournalIndex::OtherParametersOfEpoch(uint32_t epoch, const PrivacyParameters& parameters) const {
  return static_cast<uint32_t>(std::count_if(sets_.begin(), sets_.end(), [&](const DrawSet& set) {
    return set.epoch == epoch && set.parameters != parameters;
  }));
}

std::optional<uint64_t> JournalIndex::SpentMicroMaxWithoutDraw(uint32_t epoch,
                                                               const PrivacyParameters& parameters) const {
  const DrawSet* set = FindSet(epoch, parameters);
  std::optional<uint64_t> result;
  for (uint32_t i = 0; i < identity_.hosted(); ++i) {
    if (set != nullptr && set->draws[i].coded_offset != 0) continue;
    result = std::max(result.value_or(0), spent_micro_[i]);
  }
  return result;
}

uint64_t JournalIndex::SpentMicroMax() const { return *std::max_element(spent_micro_.begin(), spent_micro_.end()); }

std::optional<Digest> JournalIndex::FindDraw(uint32_t epoch, const PrivacyParameters& parameters,
                                             NodeIndex node) const {
  const Draw* draw = DrawAt(epoch, parameters, node);
  if (draw == nullptr) return std::nullopt;
  return draw->digest;
}

bool JournalIndex::HasReceipt(const std::string& round_id, NodeIndex node) const {
  const auto it = rounds_.find(round_id);
  return it != rounds_.end() && !it->second.receipted.empty() && it->second.receipted[node - identity_.first_node];
}

std::vector<JournalIndex::AnsweredRound> JournalIndex::AnsweredRounds() const {
  std::vector<std::pair<uint64_t, AnsweredRound>> numbered;
  for (const auto& [id, round] : rounds_) numbered.push_back({round.number, {id, round.bound, false, round.over}});
  std::sort(numbered.begin(), numbered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<AnsweredRound> result;
  std::set<std::tuple<uint32_t, uint64_t, uint32_t, uint32_t, Mechanism, uint32_t, Digest>> seen;
  for (auto& [number, round] : numbered) {
    const PrivacyParameters& asked = round.bound.parameters;
    round.again = !seen.emplace(round.bound.epoch, asked.epsilon_micro(), asked.degree_share_ppm(), asked.node_count(),
                                asked.mechanism(), asked.question().count, asked.question().map_sha256)
                       .second;
    result.push_back(std::move(round));
  }
  return result;
}

std::vector<JournalIndex::DrawKind> JournalIndex::DrawsOf(NodeIndex node) const {
  std::vector<DrawKind> result;
  for (const DrawSet& set : sets_) {
    if (set.draws[node - identity_.first_node].coded_offset != 0) result.push_back({set.epoch, set.parameters});
  }
  return result;
}

}  // namespace blink
