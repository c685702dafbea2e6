// wavetune.h: what a client does, and what happened to its tables.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/c/api_error.h"
#include "client/c/handles.h"
#include "wavetune/client_event.h"
#include "wavetune/client_options.h"
#include "wavetune/wavetune.h"

namespace {

using wavetune::ClientEvent;
using wavetune::ClientMode;
using wavetune::c_api::CodeOf;
using wavetune::c_api::Guarded;
using wavetune::c_api::IsNull;

constexpr bool Same(int ours, ClientEvent::Kind theirs) {
  return ours == static_cast<int>(theirs);
}
static_assert(Same(WAVETUNE_EVENT_STAGED, ClientEvent::Kind::kStaged) &&
              Same(WAVETUNE_EVENT_ACTIVATED, ClientEvent::Kind::kActivated) &&
              Same(WAVETUNE_EVENT_WITHDRAWN, ClientEvent::Kind::kWithdrawn) &&
              Same(WAVETUNE_EVENT_REFUSED, ClientEvent::Kind::kRefused) &&
              Same(WAVETUNE_EVENT_CONNECTED, ClientEvent::Kind::kConnected) &&
              Same(WAVETUNE_EVENT_DISCONNECTED,
                   ClientEvent::Kind::kDisconnected) &&
              Same(WAVETUNE_EVENT_STALE, ClientEvent::Kind::kStale) &&
              Same(WAVETUNE_EVENT_CACHE_PROBLEM,
                   ClientEvent::Kind::kCacheProblem));

// The ABI, as far as version 1.1 has it; members are only added.
static_assert(offsetof(wavetune_event, number) == 0);
static_assert(offsetof(wavetune_event, time_us) == 8);
static_assert(offsetof(wavetune_event, kernel) == 16);
static_assert(offsetof(wavetune_event, digest) == 24);
static_assert(offsetof(wavetune_event, reason) == 32);
static_assert(offsetof(wavetune_event, kind) == 40);
static_assert(offsetof(wavetune_event, reason_code) == 44);

void Visit(const ClientEvent& event, wavetune_event_visitor visit,
           void* context) {
  const std::string reason(event.reason.message());
  const wavetune_event shown = {.number = event.number,
                                .time_us = event.time_us,
                                .kernel = event.kernel.c_str(),
                                .digest = event.digest.c_str(),
                                .reason = reason.c_str(),
                                .kind = static_cast<int32_t>(event.kind),
                                .reason_code = CodeOf(event.reason)};
  visit(context, &shown);
}

absl::Status VisitEvents(const wavetune_client* client, uint64_t after,
                         wavetune_event_visitor visit, void* context) {
  if (client == nullptr) return IsNull("client");
  if (visit == nullptr) return IsNull("visit");
  // A copy: no lock is held while the caller's function runs.
  for (const ClientEvent& event : client->client->events()) {
    if (event.number > after) Visit(event, visit, context);
  }
  return absl::OkStatus();
}

}  // namespace

int wavetune_client_mode(const wavetune_client* client) {
  if (client == nullptr) return WAVETUNE_MODE_UNSPECIFIED;
  switch (client->client->mode()) {
    case ClientMode::kAuto:
      return WAVETUNE_MODE_AUTO;
    case ClientMode::kOffline:
      return WAVETUNE_MODE_OFFLINE;
    case ClientMode::kOff:
      return WAVETUNE_MODE_OFF;
  }
  return WAVETUNE_MODE_UNSPECIFIED;
}

int wavetune_client_watching(const wavetune_client* client) {
  return client != nullptr && client->client->watching() ? 1 : 0;
}

wavetune_status wavetune_client_last_problem(const wavetune_client* client) {
  return Guarded([&]() -> absl::Status {
    if (client == nullptr) return IsNull("client");
    return client->client->last_problem();
  });
}

wavetune_status wavetune_client_visit_events(const wavetune_client* client,
                                             uint64_t after,
                                             wavetune_event_visitor visit,
                                             void* context) {
  return Guarded([&] { return VisitEvents(client, after, visit, context); });
}
