#include "tests/lib/table_node.h"

#include <cstddef>
#include <utility>

#include "base/clock.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "model/table/table_codec.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/rpc/connection_acceptor.h"
#include "server/rpc/frame_relay.h"
#include "server/rpc/services.h"
#include "server/rpc/table_handler.h"
#include "server/rpc/unix_socket.h"
#include "server/store/rocksdb_store.h"

namespace wavetune::testing {
namespace {

constexpr size_t kMostConnections = 100000;

void Ignore(const std::string&) {}

std::string PromoteIn(TableCatalog& catalog, const Table& table) {
  TableRecord record;
  record.key = {table.kernel, table.fingerprint, table.silicon_key,
                table.environment_key};
  return catalog.Promote(std::move(record), EncodeTable(table).value())
      .value()
      .digest;
}

}  // namespace

void SeedStore(const std::string& path, const std::vector<Table>& tables) {
  const auto store = RocksDbStore::Open({.path = path}).value();
  TableCatalog catalog(&store->tables(), Ignore);
  for (const Table& table : tables) PromoteIn(catalog, table);
}

struct TableNode::Parts {
  explicit Parts(const std::string& folder)
      : store(RocksDbStore::Open({.path = folder + "/store"}).value()),
        catalog(&store->tables(), Ignore),
        devices(&store->devices(), &clock),
        handler(store->store_id(), &catalog, &devices, &kernels),
        services(ReaderServices({.tables = &handler}, &streams)) {}

  std::unique_ptr<RocksDbStore> store;
  Clock& clock = SystemClock();
  TableCatalog catalog;
  AgentDirectory devices;
  FakeKernelCatalog kernels;
  TableHandler handler;
  StreamSet streams;
  Services services;
  // As in a daemon: who connects is accepted, and a relay reads what they say.
  std::unique_ptr<FrameRelay> relay;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<ConnectionAcceptor> acceptor;
};

TableNode::TableNode(const std::string& folder,
                     const std::vector<grpc::Service*>& others)
    : folder_(folder), parts_(std::make_unique<Parts>(folder)) {
  grpc::ServerBuilder builder;
  for (const auto& service : parts_->services) {
    builder.RegisterService(service.get());
  }
  for (grpc::Service* service : others) builder.RegisterService(service);
  parts_->server = builder.BuildAndStart();
  parts_->relay =
      FrameRelay::Start(
          {.serve = [server = parts_->server.get()](
                        int fd) { grpc::AddInsecureChannelFromFd(server, fd); },
           .warn = [](const auto&, const auto&) {}})
          .value();
  parts_->acceptor =
      ConnectionAcceptor::Start(
          ListeningSocket::Listen(socket_path(), 0600).value(),
          {.bounds = {kMostConnections, kMostConnections},
           .serve =
               [relay = parts_->relay.get()](AcceptedConnection connection) {
                 relay->Add(std::move(connection));
               },
           .warn = [](const auto&, const auto&) {},
           .give_up = Ignore})
          .value();
}

TableNode::~TableNode() {
  parts_->streams.EndAll(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "the node ends"));
  parts_->acceptor->Stop();
  parts_->server->Shutdown();
}

std::string TableNode::socket_path() const { return folder_ + "/reader.sock"; }

std::string TableNode::endpoint() const { return "unix:" + socket_path(); }

std::string TableNode::Promote(const Table& table) {
  return PromoteIn(parts_->catalog, table);
}

int TableNode::watchers() const { return parts_->handler.watchers(); }

}  // namespace wavetune::testing
