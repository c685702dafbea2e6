#include "profiler_agent/agent_rounds.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/log.h"
#include "base/periodic_task.h"
#include "base/process_signals.h"
#include "base/service_notify.h"
#include "profiler_agent/link/agent_devices.h"
#include "profiler_agent/link/attach_client.h"
#include "profiler_agent/link/driver_mark.h"
#include "profiler_agent/link/driver_watch.h"
#include "profiler_agent/measure/program_trim.h"
#include "profiler_agent/measure/stop_wait.h"

namespace wavetune {
namespace {

using Hosts = std::vector<std::unique_ptr<DeviceHost>>;

std::string AgentName() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ":", getpid());
}

// What keeps telling the service manager that the agent lives: its threads run,
// and no device's lock is held for ever.
class Heart {
 public:
  void Start() {
    beats_.Start(kBeat, [this] { Beat(); });
  }
  // Looks at these while it lives.
  class Round {
   public:
    Round(Heart& heart, const Hosts& hosts) : heart_(heart) {
      heart_.Watch(&hosts);
    }
    ~Round() { heart_.Watch(nullptr); }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

   private:
    Heart& heart_;
  };

 private:
  static constexpr std::chrono::seconds kBeat{5};

  void Watch(const Hosts* hosts) {
    std::lock_guard lock(mutex_);
    hosts_ = hosts;
  }
  void Beat() {
    std::lock_guard lock(mutex_);
    if (hosts_ != nullptr) {
      for (const auto& host : *hosts_) host->problem();
    }
    NotifyAlive();
  }

  std::mutex mutex_;
  const Hosts* hosts_ = nullptr;  // Guarded by mutex_.
  PeriodicTask beats_;
};

// What signals, and other drivers, ask of an attached agent. Each time that it
// is attached is a round: a reload ends one, and another begins.
class Rounds {
 public:
  // Waits for signals from now on; until the first call they are those of a
  // start. An end that takes too long ends the process: workers end with it.
  std::stop_token Begin() {
    std::lock_guard lock(mutex_);
    if (ending_) return round_.get_token();
    round_ = std::stop_source();
    if (asked_) round_.request_stop();  // While devices were looked for.
    if (!std::exchange(listening_, true)) {
      ProcessSignals::Keep();
      std::thread([this] { Listen(); }).detach();
    }
    return round_.get_token();
  }
  // Ends this round, and so what runs; the next one looks for devices.
  void Reload() {
    std::lock_guard lock(mutex_);
    round_.request_stop();
  }
  bool ending() {
    std::lock_guard lock(mutex_);
    return ending_;
  }
  // Whether somebody asked for a reload since the last time.
  bool TakeAsked() {
    std::lock_guard lock(mutex_);
    return std::exchange(asked_, false);
  }

 private:
  void Listen() {
    while (ProcessSignals::Wait() == ProcessSignals::Asked::kReload) {
      Log(LogLevel::kInfo, "agent",
          "reloading; cancelling what runs, then looking for devices");
      NotifyReloading();
      Ask();
    }
    NotifyStopping();
    Log(LogLevel::kInfo, "agent", "ending; cancelling what runs");
    // Nothing is to be ended in order while devices are looked for.
    if (!EndAll()) End();
    SystemClock().Sleep(std::chrono::seconds(8));
    Log(LogLevel::kWarning, "agent", "a burst did not end in time; leaving");
    End();
  }
  [[noreturn]] static void End() {
    FlushLog();
    _exit(0);
  }
  void Ask() {
    std::lock_guard lock(mutex_);
    asked_ = true;
    round_.request_stop();
  }
  // Returns whether there was a round to end.
  bool EndAll() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    return round_.request_stop();
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  std::stop_source round_;
  bool listening_ = false;
  bool asked_ = false;
  bool ending_ = false;
};

// Why there is no device, and what to do about it.
std::string NoDevice(const Arguments& arguments, const DeviceList& list) {
  if (arguments.backend.cache_dir.empty()) {
    return "no usable device; there is no folder for programs, without which "
           "PoCL finds none: give a --cache-dir that this user can write";
  }
  if (!list.problems.empty()) {
    return absl::StrCat("no usable device: ",
                        absl::StrJoin(list.problems, "; "));
  }
  return "no usable device; install a driver (on a CPU: pocl-opencl-icd), or "
         "name other --backends";
}

// Tells of what went wrong when devices were listed once more.
void TellProblems(const DeviceList& list, ReportRelay& relay) {
  if (!relay.TellProblems(list.problems)) return;
  for (const std::string& problem : list.problems) {
    Log(LogLevel::kWarning, "agent", problem);
  }
  if (list.problems.empty()) {
    Log(LogLevel::kInfo, "agent", "drivers list their devices again");
  }
}

DriverPlaces Places(const Arguments& arguments) {
  DriverPlaces places = DriverPlaces::OfThisProcess();
  if (!arguments.backend.inject.empty()) {
    places.files.push_back(arguments.backend.inject);
  }
  return places;
}

DriverWatch WatchOf(const Arguments& arguments, const DriverPlaces& places,
                    std::string mark, DeviceList listed, const Hosts& hosts,
                    ReportRelay& relay) {
  return DriverWatch(
      {.mark = [places] { return DriverMark(places); },
       .list =
           [options = DevicesOptions(arguments), &relay] {
             DeviceList now = ListDevices(options);
             TellProblems(now, relay);
             return now;
           },
       .any_lost =
           [&hosts] {
             return std::any_of(
                 hosts.begin(), hosts.end(),
                 [](const auto& host) { return !host->problem().empty(); });
           },
       .let_go =
           [&hosts] {
             for (const auto& host : hosts) host->LetGo();
           }},
      std::move(listed), std::move(mark), SystemClock());
}

// Ends the round as soon as a device is another one.
void WatchDrivers(DriverWatch watch, Rounds& rounds,
                  const std::stop_token& stop) {
  while (!SleepOrStop(DriverWatch::kInterval, stop)) {
    const std::string change = watch.Look();
    if (change.empty() || stop.stop_requested()) continue;
    Log(LogLevel::kWarning, "agent",
        absl::StrCat(change,
                     ": cancelling what runs, then attaching with the devices "
                     "as they are now"));
    return rounds.Reload();
  }
}

void TrimCache(const Arguments& arguments, const std::stop_token& stop) {
  const TrimmedPrograms trimmed =
      TrimPrograms(arguments.backend.cache_dir, arguments.cache_limit_mib << 20,
                   SystemClock().NowUs(), stop);
  if (trimmed.removed == 0) return;
  Log(LogLevel::kInfo, "programs",
      absl::StrCat("removed the ", trimmed.removed,
                   " compiled programs that were used longest ago, ",
                   trimmed.removed_bytes >> 20, " of ", trimmed.bytes >> 20,
                   " MiB, to keep to --cache-limit-mib ",
                   arguments.cache_limit_mib));
}

// Trims the programs now, and each ten minutes in which there was work.
void KeepCacheSmall(const Arguments& arguments, const Hosts& hosts,
                    const std::stop_token& stop) {
  if (arguments.cache_limit_mib == 0 || arguments.backend.cache_dir.empty()) {
    return;
  }
  int64_t before = -1;
  do {
    int64_t batches = 0;
    for (const auto& host : hosts) batches += host->batches();
    if (std::exchange(before, batches) != batches) TrimCache(arguments, stop);
  } while (!SleepOrStop(std::chrono::minutes(10), stop));
}

// Waits until a driver changes, but half a minute at most.
void AwaitDevices(const DriverPlaces& places, const std::string& mark,
                  const std::stop_token& stop) {
  LogOfKind(LogLevel::kWarning, "agent", "no device any more",
            "no usable device any more; waiting for one");
  for (int looks = 0; looks < 15 && DriverMark(places) == mark; ++looks) {
    if (SleepOrStop(DriverWatch::kInterval, stop)) return;
  }
}

// Looks for devices and stays attached with them until a signal comes or a
// driver changes. Without devices the agent's first round fails, later ones
// wait: in the middle of an upgrade there are none.
int RunRound(const Arguments& arguments, bool first, Rounds& rounds,
             Heart& heart) {
  ReportRelay relay;
  const DriverPlaces places = Places(arguments);
  const std::string mark = DriverMark(places);
  const FoundDevices found = FindDevices(
      DevicesOptions(arguments),
      [&relay](const v1::AttachRequest& message) { relay.Report(message); });
  const Hosts& hosts = found.hosts;
  if (hosts.empty() && first) {
    Log(LogLevel::kError, "agent", NoDevice(arguments, found.list));
    return kExitNoDevice;
  }
  relay.TellProblems(found.list.problems);
  const std::stop_token stop = rounds.Begin();
  const Heart::Round beating(heart, hosts);
  NotifyReady(hosts.empty()
                  ? "waits for a device"
                  : absl::StrCat("has ", hosts.size(),
                                 hosts.size() == 1 ? " device" : " devices"));
  if (hosts.empty()) {
    AwaitDevices(places, mark, stop);
    return EXIT_SUCCESS;
  }
  const std::jthread watching(
      [&, watch = WatchOf(arguments, places, mark, found.list, hosts, relay)](
          const std::stop_token& ended) {
        WatchDrivers(watch, rounds, ended);
      });
  const std::jthread trimming([&](const std::stop_token& ended) {
    KeepCacheSmall(arguments, hosts, ended);
  });
  StayAttached({.endpoint = arguments.endpoint,
                .stream = {.agent_name = AgentName(),
                           .program_version = WAVETUNE_VERSION}},
               relay, hosts, stop);
  return EXIT_SUCCESS;
}

void TakeConfigAgain(const ReadAgain& read_again, Arguments& arguments) {
  const absl::StatusOr<Arguments> now = read_again();
  if (now.ok()) {
    arguments = *now;
    return;
  }
  Log(LogLevel::kError, "agent",
      absl::StrCat("the configuration stays as it was: ",
                   now.status().message()));
}

}  // namespace

int RunAgent(Arguments arguments, const ReadAgain& read_again) {
  // Pipes to every worker: 256 workers a device pass 1,024 files.
  const absl::Status enough = CheckDescriptorLimit(RaiseDescriptorLimit());
  if (!enough.ok()) {
    std::fprintf(stderr, "wavetune-agent: %s\n",
                 std::string(enough.message()).c_str());
    return EXIT_FAILURE;
  }
  ProcessSignals::Block();
  if (arguments.end_with_stdin) EndWithStdin();
  static Rounds rounds;  // Its thread may outlive this frame.
  Heart heart;
  heart.Start();
  for (bool first = true;; first = false) {
    if (rounds.TakeAsked()) TakeConfigAgain(read_again, arguments);
    const int code = RunRound(arguments, first, rounds, heart);
    if (code != EXIT_SUCCESS || rounds.ending()) return code;
  }
}

}  // namespace wavetune
