#include "server/fleet/fleet_orders.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/copy_fields.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/registry_bounds.h"
#include "server/fleet/signed_content.h"

namespace wavetune {
namespace {

constexpr int32_t kFreezeFormat = 1;
constexpr char kWithdrawalPurpose[] = "withdrawal";
constexpr char kFreeze[] = "freeze/";
constexpr char kWithdrawn[] = "withdrawn/";

}  // namespace

std::string OrdersPrefix(absl::string_view fleet_class) {
  return absl::StrCat("orders/", fleet_class, "/");
}

std::string FreezeKey(absl::string_view fleet_class, absl::string_view kernel) {
  return absl::StrCat(OrdersPrefix(fleet_class), kFreeze, kernel);
}

std::string WithdrawalKey(const ProfileKey& key, absl::string_view digest) {
  return absl::StrCat(OrdersPrefix(FleetClass(key)), kWithdrawn, key.kernel,
                      "/", digest);
}

absl::StatusOr<FleetOrderPlace> OrderPlaceOf(absl::string_view fleet_class,
                                             absl::string_view key) {
  absl::string_view rest = key;
  absl::ConsumePrefix(&rest, OrdersPrefix(fleet_class));
  if (absl::ConsumePrefix(&rest, kFreeze) && !rest.empty())
    return FleetOrderPlace{std::string(rest), ""};
  if (absl::ConsumePrefix(&rest, kWithdrawn)) {
    const size_t slash = rest.rfind('/');
    if (slash != rest.npos && IsSha256Hex(rest.substr(slash + 1))) {
      return FleetOrderPlace{std::string(rest.substr(0, slash)),
                             std::string(rest.substr(slash + 1))};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(key, " is no order"));
}

FleetWrite FreezeAbsent(absl::string_view fleet_class,
                        absl::string_view kernel) {
  return {.key = FreezeKey(fleet_class, kernel), .expected = 0};
}

std::string EncodeFreeze(const FleetFreeze& freeze) {
  v1::FleetFreeze message;
  message.set_format(kFreezeFormat);
  GIVE_FIELDS(freeze, message, by, node, why, at_us);
  return message.SerializeAsString();
}

FleetFreeze DecodeFreeze(absl::string_view bytes) {
  v1::FleetFreeze message;
  if (!ParseEntry("a freeze", bytes, kMostParsedBytes, &message).ok() ||
      message.format() != kFreezeFormat) {
    return {.by = "somebody",
            .node = "(unknown)",
            .why = "this node cannot read who and why"};
  }
  FleetFreeze freeze;
  TAKE_FIELDS(message, freeze, by, node, why, at_us);
  return freeze;
}

std::string TextOf(const FleetFreeze& freeze) {
  return absl::StrCat("frozen by ", freeze.by, " on node ", freeze.node,
                      freeze.why.empty() ? "" : ": ", freeze.why);
}

std::string TextOf(const FleetWithdrawal& withdrawal) {
  return absl::StrCat("node ", withdrawal.node,
                      " found it wrong: ", withdrawal.why);
}

std::string SignWithdrawal(const FleetWithdrawal& withdrawal,
                           const SigningKey& key) {
  v1::FleetWithdrawalContent content;
  GIVE_FIELDS(withdrawal, content, fleet, digest, node, why, at_us);
  GIVE_FIELDS(withdrawal.key, content, kernel, fingerprint, silicon_key,
              environment_key);
  return SignContent(kWithdrawalPurpose, content.SerializeAsString(), key);
}

absl::StatusOr<SignedWithdrawal> ReadWithdrawal(absl::string_view key,
                                                absl::string_view bytes) {
  ASSIGN_OR_RETURN(const SignedContent read,
                   ReadSignedContent(kWithdrawalPurpose, key, bytes));
  v1::FleetWithdrawalContent content;
  if (!ParseEntry(key, read.content, kMostParsedBytes, &content).ok()) {
    return absl::DataLossError(
        absl::StrCat("what is at ", key, " is no withdrawal"));
  }
  SignedWithdrawal signed_withdrawal{
      {.fleet = content.fleet(),
       .key = {content.kernel(), content.fingerprint(), content.silicon_key(),
               content.environment_key()},
       .digest = content.digest(),
       .node = content.node(),
       .why = content.why(),
       .at_us = content.at_us()},
      read.public_key};
  const FleetWithdrawal& withdrawal = signed_withdrawal.withdrawal;
  if (WithdrawalKey(withdrawal.key, withdrawal.digest) != key) {
    return absl::DataLossError(
        absl::StrCat("the withdrawal at ", key, " is of another table"));
  }
  return signed_withdrawal;
}

}  // namespace wavetune
