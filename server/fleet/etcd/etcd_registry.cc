#include "server/fleet/etcd/etcd_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/fleet/etcd/etcd_keys.h"
#include "server/fleet/fleet_writes.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {
namespace {

// How many entries are large is not known before: the first page is small.
constexpr int64_t kFirstPageEntries = 16;
constexpr int64_t kMostPageEntries = 500;
// About; of an answer that may have four times that (etcd_connection.cc).
constexpr size_t kPageBytes = size_t{1} << 20;
// Of a listing, with what is cut: etcd itself keeps 2 GiB as it is installed.
constexpr size_t kMostReadBytes = size_t{256} << 20;
// A key, and what etcd says of it.
constexpr size_t kEntryBytes = 64;

FleetEntry ToEntry(etcdserverpb::KeyValue&& kv, absl::string_view root) {
  return {.key = std::string(absl::StripPrefix(kv.key(), root)),
          .value = std::move(*kv.mutable_value()),
          .revision = kv.mod_revision(),
          .of_session = kv.lease() != 0};
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
               [this](const std::string& prefix, const FleetBounds& bounds) {
                 return List(prefix, bounds);
               }) {}

EtcdRegistry::~EtcdRegistry() { Stop(); }

void EtcdRegistry::Stop() {
  watches_.Stop();
  connection_->Shutdown();
}

absl::StatusOr<FleetEntry> EtcdRegistry::Get(absl::string_view key,
                                             size_t most_bytes) {
  etcdserverpb::RangeRequest request;
  request.set_key(absl::StrCat(root_, key));
  request.set_limit(1);
  ASSIGN_OR_RETURN(etcdserverpb::RangeResponse response, Page(request));
  if (response.kvs().empty())
    return absl::NotFoundError(absl::StrCat("the fleet has no ", key));
  FleetEntry entry = ToEntry(std::move(*response.mutable_kvs(0)), root_);
  if (entry.key != key) {
    return absl::UnavailableError(
        absl::StrCat("etcd answers with another key than ", key));
  }
  entry.cut = request.keys_only();
  CutEntry(most_bytes, entry);
  return entry;
}

absl::StatusOr<etcdserverpb::RangeResponse> EtcdRegistry::Page(
    etcdserverpb::RangeRequest& request) {
  while (true) {
    etcdserverpb::RangeResponse page;
    const absl::Status status = connection_->Call(
        EtcdConnection::Retry::kYes,
        [&](EtcdMember& member, grpc::ClientContext* context) {
          page.Clear();
          return member.Ask("/etcdserverpb.KV/Range", context, request, &page);
        });
    if (IsTooLarge(status) && !request.keys_only()) {
      request.set_keys_only(request.limit() == 1);
      request.set_limit(std::max<int64_t>(1, request.limit() / 8));
      continue;
    }
    // Its revision was compacted between two pages: another may succeed.
    if (absl::IsOutOfRange(status))
      return absl::UnavailableError(status.message());
    RETURN_IF_ERROR(status);
    return page;
  }
}

absl::StatusOr<int64_t> EtcdRegistry::Read(absl::string_view prefix,
                                           const FleetBounds& bounds,
                                           const Taker& take) {
  const std::string begin = absl::StrCat(root_, prefix);
  etcdserverpb::RangeRequest request;
  request.set_key(begin);
  request.set_range_end(EndOfPrefix(begin));
  request.set_limit(kFirstPageEntries);
  EntryBudget budget(std::string(prefix), bounds);
  const bool keys_only = bounds.entry_bytes == 0;
  size_t read = 0;
  while (true) {
    request.set_keys_only(keys_only);
    ASSIGN_OR_RETURN(etcdserverpb::RangeResponse page, Page(request));
    const bool cut = request.keys_only();
    size_t bytes = 0;
    bool advances = false;
    for (etcdserverpb::KeyValue& kv : *page.mutable_kvs()) {
      bytes += kv.ByteSizeLong() + kEntryBytes;
      if (kv.key() < request.key()) continue;
      advances = true;
      request.set_key(kv.key() + '\0');
      if (!absl::StartsWith(kv.key(), root_)) continue;
      FleetEntry entry = ToEntry(std::move(kv), root_);
      if (!budget.IsOurs(entry.key)) continue;
      entry.cut = cut;
      RETURN_IF_ERROR(budget.Take(entry));
      take(std::move(entry));
    }
    // All pages are of the first one's moment.
    if (request.revision() == 0) request.set_revision(page.header().revision());
    if (!page.more()) return request.revision();
    read += bytes;
    if (!advances || read > kMostReadBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "etcd's listing of ", prefix,
          " does not end: somebody fills it; delete what does not belong there "
          "(docs/fleet.md)"));
    }
    const auto entries = static_cast<size_t>(page.kvs_size());
    request.set_limit(std::clamp<int64_t>(
        static_cast<int64_t>(kPageBytes * entries / bytes), 1,
        std::min(2 * request.limit(), kMostPageEntries)));
  }
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
      EtcdConnection::Retry::kNo,
      [&](EtcdMember& member, grpc::ClientContext* context) {
        return member.Ask("/etcdserverpb.KV/Txn", context, request, &response);
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

std::unique_ptr<FleetRegistry::WatchHandle> EtcdRegistry::Watch(
    absl::string_view prefix, const FleetBounds& bounds, Listener listener) {
  return watches_.Add(std::string(prefix), bounds, std::move(listener));
}

absl::Status EtcdRegistry::Session() { return session_.status(); }

std::unique_ptr<FleetRegistry::WatchHandle> EtcdRegistry::OnSession(
    SessionListener listener) {
  return session_.OnBegin(std::move(listener));
}

}  // namespace wavetune
