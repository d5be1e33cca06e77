#include "node_client/account.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/program.h"
#include "common/base/time_text.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

Account::Spent CostOf(const PrivacyParameters& parameters) {
  const auto nano = static_cast<uint64_t>(std::ceil(parameters.achieved_epsilon() * 1e9));
  return {parameters.epsilon_micro(), std::min(nano, parameters.epsilon_micro() * 1000),
          parameters.epsilon_micro() * parameters.reports_of_pair()};
}

void Add(const Account::Spent& cost, Account::Spent* sum) {
  sum->promised_micro += cost.promised_micro;
  sum->achieved_nano += cost.achieved_nano;
  sum->link_micro += cost.link_micro;
}

void TakeLarger(const Account::Spent& spent, Account::Spent* largest) {
  largest->promised_micro = std::max(largest->promised_micro, spent.promised_micro);
  largest->achieved_nano = std::max(largest->achieved_nano, spent.achieved_nano);
  largest->link_micro = std::max(largest->link_micro, spent.link_micro);
}

std::string NanoText(uint64_t nano) {
  std::string text = absl::StrFormat("%d.%09d", nano / 1'000'000'000, nano % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string SpentLine(const std::string& name, uint64_t draws, const Account::Spent& spent) {
  return absl::StrFormat("%-10s %8d  %13s  %16s  %13s\n", name, draws, EpsilonText(spent.promised_micro),
                         NanoText(spent.achieved_nano), EpsilonText(spent.link_micro));
}

// Nothing of the mechanism that a policy allows without naming it.
std::string MechanismNote(const PrivacyParameters& parameters) {
  if (parameters.mechanism() == Mechanism::kBothEnds) return "";
  const uint32_t groups = parameters.question().count;
  return absl::StrCat(", ", MechanismName(parameters.mechanism()), groups > 0 ? absl::StrCat(" of ", groups) : "");
}

// Two questions of one epsilon differ in this alone; null: the round asked about no groups.
nlohmann::ordered_json GroupsJson(const GroupQuestion& question) {
  if (question.count == 0) return nullptr;
  return {{"count", question.count}, {"sha256", DigestToHex(question.map_sha256)}};
}

}  // namespace

Account MakeAccount(const KitConfig& kit, const NodePolicy& policy, const JournalIndex& journal,
                    std::optional<NodeIndex> node, bool anchor_checked) {
  Account account{.kit = kit, .policy = policy, .journal = journal.identity(), .node = node};
  account.anchor = !journal.anchored() ? "none" : anchor_checked ? "agrees" : "not checked";
  const NodeIndex first = node.value_or(account.journal.first_node), last = node.value_or(account.journal.last_node);
  for (const Ledger::Epoch& epoch : journal.epochs()) account.epochs.push_back({epoch.index, epoch.started});
  for (const JournalIndex::AnsweredRound& answered : journal.AnsweredRounds()) {
    Account::Round round{answered.round_id, answered.bound.epoch, answered.bound.parameters, answered.again, 0,
                         answered.over};
    for (NodeIndex i = first; i <= last; ++i) round.receipts += journal.HasReceipt(answered.round_id, i);
    account.receipts += round.receipts;
    account.rounds.push_back(std::move(round));
  }
  std::vector<Account::Spent> by_epoch;
  for (NodeIndex i = first; i <= last; ++i) {
    by_epoch.assign(account.epochs.size(), {});
    Account::Spent all;
    for (const JournalIndex::DrawKind& draw : journal.DrawsOf(i)) {
      const Account::Spent cost = CostOf(draw.parameters);
      Add(cost, &by_epoch[draw.epoch - 1]);
      Add(cost, &all);
      ++account.epochs[draw.epoch - 1].draws;
      ++account.draws;
    }
    for (size_t e = 0; e < by_epoch.size(); ++e) TakeLarger(by_epoch[e], &account.epochs[e].largest);
    TakeLarger(all, &account.largest);
  }
  return account;
}

std::string AccountToText(const Account& account) {
  std::string text = absl::StrCat(account.node.has_value() ? absl::StrCat("node ", *account.node, " of ") : "",
                                  account.kit.NodesName(), ", deployment ", account.kit.deployment, ", roster version ",
                                  account.journal.roster_version, " with n = ", account.journal.node_count, "\ndraws ",
                                  account.draws, ", receipts ", account.receipts, ", anchor: ", account.anchor, "\n");
  if (!account.rounds.empty()) {
    absl::StrAppendFormat(&text, "\n%-32s  %5s  %9s  %12s  receipts\n", "round", "epoch", "epsilon", "degree share");
  }
  for (const Account::Round& round : account.rounds) {
    absl::StrAppendFormat(&text, "%s  %5d  %9s  %12s  %d of %d%s%s%s\n", round.round_id, round.epoch,
                          EpsilonText(round.parameters.epsilon_micro()),
                          EpsilonText(round.parameters.degree_share_ppm()), round.receipts, account.nodes(),
                          MechanismNote(round.parameters), round.over ? ", over" : "",
                          round.again ? ", the bytes of an earlier round" : "");
  }
  absl::StrAppend(&text, "\nepsilon spent ", account.node.has_value() ? "by this node" : "by the node that spent most",
                  "\n");
  absl::StrAppendFormat(&text, "%-10s %8s  %13s  %16s  %13s\n", "", "draws", "a list entry", "(achieved)", "a link");
  for (const Account::Epoch& epoch : account.epochs) {
    text += SpentLine(absl::StrCat("epoch ", epoch.index), epoch.draws, epoch.largest);
    text.pop_back();
    absl::StrAppend(&text, "  begun ", IsoTimeText(epoch.started), "\n");
  }
  text += SpentLine("in all", account.draws, account.largest);
  absl::StrAppend(
      &text, "left: ", EpsilonText(account.left_micro()), " of ",
      EpsilonText(account.policy.epsilon_micro_lifetime_max),
      " for a list entry. An undirected link stands in two lists and costs twice that if both ends report.\n");
  return text;
}

std::string AccountToJson(const Account& account) {
  using Json = nlohmann::ordered_json;
  Json rounds = Json::array(), epochs = Json::array();
  for (const Account::Round& round : account.rounds) {
    rounds.push_back({{"round_id", round.round_id},
                      {"epoch", round.epoch},
                      {"epsilon_micro", round.parameters.epsilon_micro()},
                      {"epsilon_nano_achieved", CostOf(round.parameters).achieved_nano},
                      {"degree_share_ppm", round.parameters.degree_share_ppm()},
                      {"node_count", round.parameters.node_count()},
                      {"mechanism", MechanismName(round.parameters.mechanism())},
                      {"groups", GroupsJson(round.parameters.question())},
                      {"receipts", round.receipts},
                      {"again", round.again},
                      {"over", round.over}});
  }
  for (const Account::Epoch& epoch : account.epochs) {
    epochs.push_back({{"epoch", epoch.index},
                      {"started", IsoTimeText(epoch.started)},
                      {"draws", epoch.draws},
                      {"epsilon_micro_spent_max", epoch.largest.promised_micro},
                      {"epsilon_nano_achieved_max", epoch.largest.achieved_nano},
                      {"epsilon_micro_link_max", epoch.largest.link_micro}});
  }
  Json json = {{"program", {{"version", ProgramVersion()}, {"commit", ProgramCommit()}}},
               {"deployment", account.kit.deployment},
               {"first_node", account.node.value_or(account.journal.first_node)},
               {"last_node", account.node.value_or(account.journal.last_node)},
               {"nodes", account.nodes()},
               {"node_count", account.journal.node_count},
               {"roster_version", account.journal.roster_version},
               {"anchor", account.anchor},
               {"draws", account.draws},
               {"receipts", account.receipts},
               {"rounds", std::move(rounds)},
               {"epochs", std::move(epochs)},
               {"epsilon_micro_spent_max", account.largest.promised_micro},
               {"epsilon_nano_achieved_max", account.largest.achieved_nano},
               {"epsilon_micro_link_max", account.largest.link_micro},
               {"epsilon_micro_lifetime_max", account.policy.epsilon_micro_lifetime_max},
               {"epsilon_micro_left", account.left_micro()}};
  return json.dump();
}

}  // namespace blink
