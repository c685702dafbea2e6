// wavetune events.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/json.h"

namespace wavetune::cli {
namespace {

struct EventsOptions {
  std::string kernel;
  std::string device;
  std::string kind;
  std::string since;
  int32_t limit = 50;
  bool follow = false;
};

// "table-stale".
std::string KindName(v1::Event::Kind kind) {
  if (kind == v1::Event::KIND_UNSPECIFIED) return "unknown";
  return absl::StrReplaceAll(absl::AsciiStrToLower(v1::Event::Kind_Name(kind)),
                             {{"_", "-"}});
}

absl::StatusOr<v1::Event::Kind> ParseKind(const std::string& text) {
  if (text.empty()) return v1::Event::KIND_UNSPECIFIED;
  std::vector<std::string> names;
  for (int i = v1::Event::Kind_MIN + 1; i <= v1::Event::Kind_MAX; ++i) {
    const auto kind = static_cast<v1::Event::Kind>(i);
    if (KindName(kind) == text) return kind;
    names.push_back(KindName(kind));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no kind of events \"", text, "\"; there are ",
                   absl::StrJoin(names, ", ")));
}

// "90s", "15m", "2h", "7d": seconds.
absl::StatusOr<int64_t> ParseAge(const std::string& text) {
  int64_t number = 0;
  const std::string digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  if (absl::SimpleAtoi(digits, &number) && number > 0 && number <= 1'000'000) {
    switch (text.back()) {
      case 's':
        return number;
      case 'm':
        return number * 60;
      case 'h':
        return number * 3600;
      case 'd':
        return number * 86400;
      default:
        break;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--since takes a number with s, m, h or d, as 90s, 2h or "
                   "7d, not \"",
                   text, "\""));
}

void PrintEvent(CommandContext& context, const v1::Event& event) {
  if (context.json) {
    *context.out << ToJson(event).dump(-1, ' ', false,
                                       Json::error_handler_t::replace)
                 << "\n";
  } else {
    *context.out << FormatTime(event.at_us()) << "  "
                 << (event.warning() ? "! " : "  ") << KindName(event.kind())
                 << "  " << event.text();
    if (!event.by().empty())
      *context.out << " [" << UserText(event.by()) << "]";
    *context.out << "\n";
  }
  context.out->Flush();
}

absl::StatusOr<v1::ListEventsRequest> RequestOf(const EventsOptions& options) {
  v1::ListEventsRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  ASSIGN_OR_RETURN(const v1::Event::Kind kind, ParseKind(options.kind));
  request.set_kind(kind);
  request.set_limit(options.limit);
  if (!options.since.empty()) {
    ASSIGN_OR_RETURN(const int64_t age_s, ParseAge(options.since));
    request.set_since_us(SystemClock().NowUs() - age_s * 1'000'000);
  }
  return request;
}

bool IsAskedFor(const v1::ListEventsRequest& request, const v1::Event& event) {
  return (request.kernel().empty() || request.kernel() == event.kernel()) &&
         (request.device_uuid().empty() ||
          request.device_uuid() == event.device_uuid()) &&
         (request.kind() == v1::Event::KIND_UNSPECIFIED ||
          request.kind() == event.kind());
}

// Returns the id that new events are above of. What nobody asked for counts,
// too: else a list without an event would begin with what is long past, or
// leave out what happens between two calls. Ids start at 1.
absl::StatusOr<uint64_t> NewestId(Daemon& daemon) {
  v1::ListEventsRequest request;
  request.set_limit(1);
  ASSIGN_OR_RETURN(const v1::ListEventsResponse newest,
                   daemon.Ask<v1::ListEventsResponse>(request));
  return newest.events().empty() ? 1 : newest.events(0).id();
}

absl::Status RunEvents(CommandContext& context, const EventsOptions& options) {
  ASSIGN_OR_RETURN(const v1::ListEventsRequest request, RequestOf(options));
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  uint64_t after_id = 0;
  if (options.follow) {
    ASSIGN_OR_RETURN(after_id, NewestId(*daemon));
  }
  ASSIGN_OR_RETURN(const v1::ListEventsResponse list,
                   daemon->Ask<v1::ListEventsResponse>(request));
  // Oldest first, as what follows.
  for (int i = list.events_size() - 1; i >= 0; --i) {
    PrintEvent(context, list.events(i));
  }
  if (!options.follow) {
    if (list.events().empty() && !context.json) {
      *context.out << "no events\n";
    }
    return absl::OkStatus();
  }
  v1::WatchEventsRequest watch;
  // What came between the two lists was listed.
  watch.set_after_id(list.events().empty()
                         ? after_id
                         : std::max(after_id, list.events(0).id()));
  absl::Status status = daemon->Follow<v1::WatchEventsResponse>(
      watch, [&](const v1::WatchEventsResponse& response) {
        if (response.has_event() && IsAskedFor(request, response.event()))
          PrintEvent(context, response.event());
      });
  if (!absl::IsCancelled(status)) return status;
  // The user has seen enough: there is nothing to say.
  return InterruptRequested() ? absl::CancelledError() : absl::OkStatus();
}

}  // namespace

void AddEventsCommand(CommandRegistry& registry) {
  auto options = std::make_shared<EventsOptions>();
  CLI::App* events = registry.Add(
      registry.root(), "events",
      "Lists what happened: promotions, refusals, jobs, devices, drivers; '!' "
      "marks what somebody should look at. With --json one object a line.",
      {"wavetune events", "wavetune events --follow",
       "wavetune events --since 2h --kind promoted --kernel gemm_f32"},
      [options](CommandContext& context) {
        return RunEvents(context, *options);
      });
  events->add_flag("--follow", options->follow,
                   "Print what happens from now on, too, until Ctrl-C (exit "
                   "code 130)");
  events->add_option("--since", options->since,
                     "Only what is not older: 90s, 15m, 2h, 7d");
  events->add_option("--kind", options->kind,
                     "Only this kind: promoted, refused, driver-changed, ...");
  events->add_option("--kernel", options->kernel, "Only this kernel's");
  events->add_option("--device", options->device, "Only this device's (UUID)");
  events
      ->add_option("--limit", options->limit, "Most events of the past to list")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

}  // namespace wavetune::cli
