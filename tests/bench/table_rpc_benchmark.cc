// How many tables a second the daemon serves, beside an empty RPC on the same
// server.
//
//   build/ci/bin/table_rpc_benchmark [--pairs=7] [--ms=1000] [--connections=4]
//       [--calls_at_once=4] [--write=FILE]
//
// Why ratios: calls a second are the machine's; how much of an empty call's
// rate is left once a table is in the answer is ours. Each pair runs one beside
// the other, in turns, on the same connections, so that whatever else the
// machine does falls on both; the median of the pairs counts.
//
// Rows: GetTable by the kernel's name, as clients do; and the floor, a method
// that does nothing but answer with a slice of as many bytes that was made
// before: what is between it and 100 % is gRPC's and the socket's. "parsed":
// the client makes a message of each answer, as ours do. "one call": one call
// at a time on one connection, as a process that starts.
//
// A main of its own: Google Benchmark knows no pairs. Its options that
// scripts/soak.sh passes are ignored. The server is a process of its own.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/empty.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/server_callback.h"
#include "model/table/table_codec.h"
#include "nlohmann/json.hpp"
#include "proto/wavetune/v1/table_service.pb.h"
#include "tests/lib/random_table.h"
#include "tests/lib/table_node.h"

namespace wavetune {
namespace {

using Clock = std::chrono::steady_clock;
using google::protobuf::Empty;
using grpc::ByteBuffer;

constexpr size_t kSizes[] = {size_t{16} << 10, size_t{64} << 10};

// Of the time of a pair.
constexpr int kSlices = 20;

constexpr char kEmptyMethod[] = "/wavetune.bench.Service/Empty";
constexpr char kTableMethod[] = "/wavetune.v1.TableService/GetTable";

std::string SliceMethod(size_t size) {
  return absl::StrCat("/wavetune.bench.Service/Slice", size);
}

std::string KernelOf(size_t size) { return absl::StrCat("gemm_", size); }

// Returns a table whose payload has that size, or a little less: one sub-table
// under as many names as fit.
Table TableOf(size_t size) {
  testing::Lcg random(1);
  Table table =
      RandomTable(random, testing::TableKind::kGemm, /*portfolio=*/24);
  table.kernel = KernelOf(size);
  const SubTable model = table.sub_tables.front();
  Table smaller = table;
  for (int i = 0;; ++i) {
    SubTable& sub = i == 0 ? table.sub_tables.front()
                           : table.sub_tables.emplace_back(model);
    char name[16];
    std::snprintf(name, sizeof name, "s%04d", i);
    sub.specialisation = name;
    const auto payload = EncodeTable(table);
    if (!payload.ok() || payload->size() > size) return smaller;
    smaller = table;
  }
}

// The test-only service: an empty RPC as generated code has it, and slices of
// bytes that are there already.
class BenchService final : public grpc::Service {
 public:
  BenchService() {
    Add(kEmptyMethod,
        new grpc::internal::CallbackUnaryHandler<Empty, Empty>(
            [](grpc::CallbackServerContext* context, const Empty*, Empty*) {
              grpc::ServerUnaryReactor* const reactor =
                  context->DefaultReactor();
              reactor->Finish(grpc::Status::OK);
              return reactor;
            }));
    for (const size_t size : kSizes) {
      const grpc::Slice bytes(std::string(size, 'x'));
      Add(SliceMethod(size),
          new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
              [bytes](grpc::CallbackServerContext* context, const ByteBuffer*,
                      ByteBuffer* out) {
                *out = ByteBuffer(&bytes, 1);
                grpc::ServerUnaryReactor* const reactor =
                    context->DefaultReactor();
                reactor->Finish(grpc::Status::OK);
                return reactor;
              }));
    }
  }

 private:
  void Add(const std::string& name, grpc::internal::MethodHandler* handler) {
    names_.push_back(std::make_unique<std::string>(name));
    AddMethod(new grpc::internal::RpcServiceMethod(
        names_.back()->c_str(), grpc::internal::RpcMethod::NORMAL_RPC,
        nullptr));
    MarkMethodCallback(static_cast<int>(names_.size()) - 1, handler);
  }

  std::vector<std::unique_ptr<std::string>> names_;  // gRPC keeps pointers.
};

// The server, in a child that ends with its orders.
class NodeProcess {
 public:
  explicit NodeProcess(const std::string& folder) : folder_(folder) {
    if (pipe(orders_) != 0 || pipe(answers_) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) Serve();
    char ready = 0;
    if (read(answers_[0], &ready, 1) != 1) std::abort();
  }
  ~NodeProcess() {
    close(orders_[1]);
    waitpid(pid_, nullptr, 0);
  }
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  std::string endpoint() const { return "unix:" + folder_ + "/reader.sock"; }

  // Processor time of the server so far.
  double CpuSeconds() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) != 0 ||
        clock_gettime(clock, &time) != 0) {
      std::abort();
    }
    return static_cast<double>(time.tv_sec) +
           1e-9 * static_cast<double>(time.tv_nsec);
  }

 private:
  [[noreturn]] void Serve() {
    close(orders_[1]);
    BenchService service;
    testing::TableNode node(folder_, {&service});
    for (const size_t size : kSizes) node.Promote(TableOf(size));
    char byte = 'r';
    if (write(answers_[1], &byte, 1) == 1 && read(orders_[0], &byte, 1) < 0)
      std::abort();
    _exit(0);
  }

  const std::string folder_;
  int orders_[2];
  int answers_[2];
  pid_t pid_ = 0;
};

template <typename Message>
ByteBuffer ToBytes(const Message& message) {
  ByteBuffer bytes;
  bool own = false;
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

// What is called again and again.
struct Kind {
  std::string name;
  std::string method;
  ByteBuffer request;
  // Looks at an answer; false: it is none.
  std::function<bool(ByteBuffer&)> take;
};

template <typename Message>
bool Parse(ByteBuffer& bytes) {
  Message message;
  return grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok();
}

Kind EmptyKind(bool parsed) {
  return {"Empty", kEmptyMethod, ToBytes(Empty()), [parsed](ByteBuffer& bytes) {
            return !parsed || Parse<Empty>(bytes);
          }};
}

Kind TableKind(size_t size, bool parsed) {
  v1::GetTableRequest request;
  request.set_kernel(KernelOf(size));
  return {"GetTable", kTableMethod, ToBytes(request),
          [size, parsed](ByteBuffer& bytes) {
            return bytes.Length() > size * 9 / 10 &&
                   (!parsed || Parse<v1::GetTableResponse>(bytes));
          }};
}

Kind SliceKind(size_t size) {
  return {"slice", SliceMethod(size), ToBytes(Empty()),
          [size](ByteBuffer& bytes) { return bytes.Length() == size; }};
}

// Keeps calls on their way and counts what is answered.
class Load {
 public:
  Load(const NodeProcess* node, int connections, int calls_at_once)
      : node_(node), calls_at_once_(calls_at_once) {
    for (int i = 0; i < connections; ++i) {
      grpc::ChannelArguments own_connection;
      own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(
          std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
              node->endpoint(), grpc::InsecureChannelCredentials(),
              own_connection)));
    }
  }

  struct Ran {
    double calls = 0;
    double seconds = 0;
    double server_cpu_s = 0;

    double rate() const { return calls / seconds; }
  };
  // Ends the program where a call fails.
  Ran Run(const Kind& kind, std::chrono::milliseconds time) {
    const double cpu_before_s = node_->CpuSeconds();
    const auto start = Clock::now();
    const auto deadline = start + time;
    size_t running = 0;
    for (const auto& stub : stubs_) {
      for (int i = 0; i < calls_at_once_; ++i, ++running)
        Begin(kind, stub.get());
    }
    double done = 0;
    while (running > 0) {
      const std::unique_ptr<Call> call = Next(kind);
      ++done;
      --running;
      if (Clock::now() >= deadline) continue;
      Begin(kind, call->stub);
      ++running;
    }
    return {done, std::chrono::duration<double>(Clock::now() - start).count(),
            node_->CpuSeconds() - cpu_before_s};
  }

 private:
  struct Call {
    grpc::GenericStub* stub = nullptr;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    ByteBuffer answer;
    grpc::Status status;
  };

  void Begin(const Kind& kind, grpc::GenericStub* stub) {
    auto call = std::make_unique<Call>();
    call->stub = stub;
    call->reader = stub->PrepareUnaryCall(&call->context, kind.method,
                                          kind.request, &queue_);
    call->reader->StartCall();
    Call* const tag = call.release();  // Next has it back.
    tag->reader->Finish(&tag->answer, &tag->status, tag);
  }

  std::unique_ptr<Call> Next(const Kind& kind) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok)) std::abort();
    std::unique_ptr<Call> call(static_cast<Call*>(tag));
    if (!call->status.ok() || !kind.take(call->answer)) {
      std::fprintf(stderr, "%s failed: %s\n", kind.name.c_str(),
                   call->status.error_message().c_str());
      std::exit(1);
    }
    return call;
  }

  const NodeProcess* const node_;
  const int calls_at_once_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

// Runs each kind for `time`, in slices by turns: whatever else the machine does
// falls on all.
std::vector<Load::Ran> RunByTurns(Load& load, const std::vector<Kind>& kinds,
                                  std::chrono::milliseconds time) {
  std::vector<Load::Ran> sums(kinds.size());
  for (int slice = 0; slice < kSlices; ++slice) {
    for (size_t i = 0; i < kinds.size(); ++i) {
      const size_t at = slice % 2 == 0 ? i : kinds.size() - 1 - i;
      const Load::Ran ran = load.Run(kinds[at], time / kSlices);
      sums[at].calls += ran.calls;
      sums[at].seconds += ran.seconds;
      sums[at].server_cpu_s += ran.server_cpu_s;
    }
  }
  return sums;
}

// Of one kind, in each pair.
struct Compared {
  std::vector<double> rates;
  std::vector<double> ratios;     // To the rate of the first kind.
  std::vector<double> server_us;  // Of the server's processor, for a call.
};

std::vector<Compared> Compare(Load& load, const std::vector<Kind>& kinds,
                              int pairs, std::chrono::milliseconds time) {
  RunByTurns(load, kinds, time / 4);  // Connects, warms up.
  std::vector<Compared> compared(kinds.size());
  for (int pair = 0; pair < pairs; ++pair) {
    const std::vector<Load::Ran> ran = RunByTurns(load, kinds, time);
    for (size_t i = 0; i < kinds.size(); ++i) {
      compared[i].rates.push_back(ran[i].rate());
      compared[i].ratios.push_back(ran[i].rate() / ran[0].rate());
      compared[i].server_us.push_back(1e6 * ran[i].server_cpu_s / ran[i].calls);
    }
  }
  return compared;
}

struct Options {
  int pairs = 7;
  int ms = 1000;
  int connections = 4;
  int calls_at_once = 4;
  std::string write;
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  const std::vector<std::pair<const char*, int*>> numbers = {
      {"--pairs=", &options.pairs},
      {"--ms=", &options.ms},
      {"--connections=", &options.connections},
      {"--calls_at_once=", &options.calls_at_once}};
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (absl::ConsumePrefix(&text, "--write="))
      options.write = std::string(text);
    for (const auto& [name, value] : numbers) {
      absl::string_view rest = argv[i];
      if (absl::ConsumePrefix(&rest, name) &&
          (!absl::SimpleAtoi(rest, value) || *value < 1)) {
        std::fprintf(stderr, "%s: not a number above 0\n", argv[i]);
        std::exit(2);
      }
    }
  }
  return options;
}

nlohmann::json Report(const std::string& name, size_t size,
                      const std::vector<Kind>& kinds,
                      const std::vector<Compared>& compared) {
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Compared& of_kind = compared[i];
    const auto [low, high] =
        std::minmax_element(of_kind.ratios.begin(), of_kind.ratios.end());
    std::printf(
        "%-12s %3zu KiB  %-9s %7.0f calls/s  %5.1f %% (%.1f to %.1f %%)  "
        "server %5.1f us\n",
        name.c_str(), size >> 10, kinds[i].name.c_str(), Median(of_kind.rates),
        100 * Median(of_kind.ratios), 100 * *low, 100 * *high,
        Median(of_kind.server_us));
    rows.push_back({{"load", name},
                    {"method", kinds[i].name},
                    {"table_kib", size >> 10},
                    {"calls_per_s", Median(of_kind.rates)},
                    {"ratio", Median(of_kind.ratios)},
                    {"ratios", of_kind.ratios},
                    {"server_us", Median(of_kind.server_us)}});
  }
  std::fflush(stdout);
  return rows;
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  char folder[] = "/tmp/wavetune-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  nlohmann::json rows = nlohmann::json::array();
  {
    NodeProcess node(folder);  // Before gRPC starts here: it forks.
    Load many(&node, options.connections, options.calls_at_once);
    Load one(&node, 1, 1);
    const auto measure = [&](const std::string& name, Load& load, size_t size,
                             const std::vector<Kind>& kinds) {
      const nlohmann::json more =
          Report(name, size, kinds,
                 Compare(load, kinds, options.pairs,
                         std::chrono::milliseconds(options.ms)));
      rows.insert(rows.end(), more.begin(), more.end());
    };
    for (const size_t size : kSizes) {
      measure("many", many, size,
              {EmptyKind(false), TableKind(size, false), SliceKind(size)});
      measure("many, parsed", many, size,
              {EmptyKind(true), TableKind(size, true)});
      measure("one call", one, size,
              {EmptyKind(false), TableKind(size, false), SliceKind(size)});
    }
  }
  std::filesystem::remove_all(folder);
  if (!options.write.empty()) {
    std::ofstream(options.write) << rows.dump(2) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace wavetune

int main(int argc, char** argv) { return wavetune::Main(argc, argv); }
