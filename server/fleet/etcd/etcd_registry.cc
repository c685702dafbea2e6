#include "server/fleet/etcd/etcd_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/fleet/etcd/etcd_keys.h"
#include "server/fleet/fleet_writes.h"

namespace wavetune {
namespace {

using Retry = EtcdConnection::Retry;

constexpr int64_t kPageEntries = 500;

FleetEntry ToEntry(const mvccpb::KeyValue& kv, absl::string_view root) {
  return {std::string(absl::StripPrefix(kv.key(), root)), kv.value(),
          kv.mod_revision()};
}

// Whether gRPC refused an answer for its size.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         absl::StrContains(status.message(), "larger than max");
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdRegistry>> EtcdRegistry::Create(
    const EtcdOptions& options) {
  ASSIGN_OR_RETURN(auto connection, EtcdConnection::Create(options));
  return std::unique_ptr<EtcdRegistry>(
      new EtcdRegistry(options, std::move(connection)));
}

EtcdRegistry::EtcdRegistry(const EtcdOptions& options,
                           std::unique_ptr<EtcdConnection> connection)
    : root_(options.prefix),
      connection_(std::move(connection)),
      session_(connection_.get(), options.session_ttl),
      watches_(connection_.get(), root_,
               [this](const std::string& prefix) { return List(prefix); }) {}

EtcdRegistry::~EtcdRegistry() { Stop(); }

void EtcdRegistry::Stop() {
  watches_.Stop();
  connection_->Shutdown();
}

absl::StatusOr<FleetEntry> EtcdRegistry::Get(absl::string_view key) {
  etcdserverpb::RangeRequest request;
  request.set_key(absl::StrCat(root_, key));
  etcdserverpb::RangeResponse response;
  RETURN_IF_ERROR(connection_->Call(
      Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Range(context, request, &response);
      }));
  if (response.kvs().empty())
    return absl::NotFoundError(absl::StrCat("the fleet has no ", key));
  return ToEntry(response.kvs(0), root_);
}

absl::StatusOr<FleetListing> EtcdRegistry::List(absl::string_view prefix) {
  const std::string begin = absl::StrCat(root_, prefix);
  etcdserverpb::RangeRequest request;
  request.set_key(begin);
  request.set_range_end(EndOfPrefix(begin));
  request.set_limit(kPageEntries);
  FleetListing listing;
  etcdserverpb::RangeResponse page;
  do {
    const absl::Status status = connection_->Call(
        Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
          return stubs.kv->Range(context, request, &page);
        });
    if (IsTooLarge(status) && request.limit() > 1) {
      request.set_limit(std::max<int64_t>(1, request.limit() / 8));
      page.set_more(true);
      continue;
    }
    // Its revision was compacted between two pages: another may succeed.
    if (absl::IsOutOfRange(status))
      return absl::UnavailableError(status.message());
    RETURN_IF_ERROR(status);
    for (const mvccpb::KeyValue& kv : page.kvs())
      listing.entries.push_back(ToEntry(kv, root_));
    // All pages are of the first one's moment.
    if (listing.revision == 0) listing.revision = page.header().revision();
    request.set_revision(listing.revision);
    if (page.kvs_size() > 0)
      request.set_key(page.kvs(page.kvs_size() - 1).key() + '\0');
  } while (page.more());
  return listing;
}

absl::StatusOr<int64_t> EtcdRegistry::Commit(
    const std::vector<FleetWrite>& writes) {
  RETURN_IF_ERROR(CheckFleetWrites(writes));
  etcdserverpb::TxnRequest request;
  for (const FleetWrite& write : writes) {
    const std::string key = root_ + write.key;
    if (write.expected) {
      auto& compare = *request.add_compare();
      compare.set_key(key);
      compare.set_target(etcdserverpb::Compare::MOD);
      compare.set_result(etcdserverpb::Compare::EQUAL);
      compare.set_mod_revision(*write.expected);
    }
    if (!write.value) {
      request.add_success()->mutable_request_delete_range()->set_key(key);
      continue;
    }
    auto& put = *request.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(*write.value);
    if (!write.of_session) continue;
    put.set_lease(session_.lease());
    if (put.lease() == 0) {
      return absl::FailedPreconditionError(
          "this node has no session in etcd just now");
    }
  }
  etcdserverpb::TxnResponse response;
  const absl::Status status = connection_->Call(
      Retry::kNo, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->Txn(context, request, &response);
      });
  // Its lease has ended, and nobody knew yet.
  if (absl::IsNotFound(status))
    return absl::FailedPreconditionError(status.message());
  RETURN_IF_ERROR(status);
  if (!response.succeeded()) {
    for (const FleetWrite& write : writes) {
      if (write.expected) return FleetEntryChanged(write.key);
    }
  }
  return response.header().revision();
}

absl::StatusOr<int64_t> EtcdRegistry::DeleteBelow(absl::string_view prefix) {
  const std::string begin = absl::StrCat(root_, prefix);
  etcdserverpb::DeleteRangeRequest request;
  request.set_key(begin);
  request.set_range_end(EndOfPrefix(begin));
  etcdserverpb::DeleteRangeResponse response;
  RETURN_IF_ERROR(connection_->Call(
      Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* context) {
        return stubs.kv->DeleteRange(context, request, &response);
      }));
  return response.deleted();
}

std::unique_ptr<FleetRegistry::WatchHandle> EtcdRegistry::Watch(
    absl::string_view prefix, Listener listener) {
  return watches_.Add(std::string(prefix), std::move(listener));
}

bool EtcdRegistry::HasSession() { return session_.lease() != 0; }

std::unique_ptr<FleetRegistry::WatchHandle> EtcdRegistry::OnSession(
    SessionListener listener) {
  return session_.OnBegin(std::move(listener));
}

}  // namespace wavetune
