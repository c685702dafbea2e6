// Fetches a kernel's table every 10 ms, and listens to promotions, until
// SIGTERM or SIGINT; prints one JSON object a line. What a drill
// (scripts/driver-upgrade-drill.sh) and drift_test know of clients from.
//
//   fetch_poller unix:/run/wavetune/reader.sock gemm_f32
//   {"event":"promoted","epoch":2,"digest":"…","notice_ms":3.1,…}
//   {"event":"summary","fetches":812,"failed":0,"longest_ms":4.2,…}
//
// notice_ms: from TableInfo.promoted_at_us, which the daemon sets before it
// stores the table, until the notice is here: both by this machine's clock.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "nlohmann/json.hpp"
#include "proto/wavetune/v1/table_service.grpc.pb.h"

namespace wavetune {
namespace {

using nlohmann::json;

constexpr timespec kInterval{.tv_sec = 0, .tv_nsec = 10'000'000};
constexpr std::chrono::seconds kPatience{5};

void Print(const json& line) {
  static std::mutex& mutex = *new std::mutex();
  const std::lock_guard lock(mutex);
  std::cout << line.dump() << std::endl;
}

// Prints each promotion of the kernel until the stream ends.
void Listen(v1::TableService::Stub& stub, grpc::ClientContext& context,
            const std::string& kernel) {
  const auto stream = stub.WatchTables(&context, v1::WatchTablesRequest());
  v1::WatchTablesResponse notice;
  while (stream->Read(&notice)) {
    const v1::TableInfo& table = notice.table();
    if (notice.kind() != v1::WatchTablesResponse::PROMOTED ||
        table.kernel() != kernel) {
      continue;
    }
    const int64_t now_us = SystemClock().NowUs();
    Print({{"event", "promoted"},
           {"epoch", table.epoch()},
           {"digest", table.digest()},
           {"carried_to", table.carried_to()},
           {"at_us", now_us},
           {"notice_ms",
            static_cast<double>(now_us - table.promoted_at_us()) * 1e-3}});
  }
}

// What fetching was like.
class Fetches {
 public:
  void Fetch(v1::TableService::Stub& stub, const v1::GetTableRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::GetTableResponse response;
    const auto begin = std::chrono::steady_clock::now();
    const grpc::Status status = stub.GetTable(&context, request, &response);
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    longest_ms_ = std::max(longest_ms_, took.count());
    ++fetches_;
    if (status.ok() && !response.payload().empty()) return;
    if (failed_++ == 0) first_failure_ = status.error_message();
  }

  json Summary() const {
    return {{"event", "summary"},
            {"fetches", fetches_},
            {"failed", failed_},
            {"longest_ms", longest_ms_},
            {"first_failure", first_failure_}};
  }

 private:
  int64_t fetches_ = 0;
  int64_t failed_ = 0;
  double longest_ms_ = 0;
  std::string first_failure_;
};

int Run(const std::string& endpoint, const std::string& kernel) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const auto stub = v1::TableService::NewStub(
      grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()));
  grpc::ClientContext watch;
  std::thread listener([&] { Listen(*stub, watch, kernel); });
  v1::GetTableRequest request;
  request.set_kernel(kernel);
  Fetches fetches;
  do {
    fetches.Fetch(*stub, request);
  } while (sigtimedwait(&ends, nullptr, &kInterval) < 0);
  watch.TryCancel();
  listener.join();
  Print(fetches.Summary());
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fetch_poller ENDPOINT KERNEL\n";
    return 2;
  }
  return wavetune::Run(argv[1], argv[2]);
}
