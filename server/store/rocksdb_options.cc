#include "server/store/rocksdb_options.h"

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "rocksdb/cache.h"
#include "rocksdb/table.h"

namespace wavetune {
namespace {

// RocksDB's own log, warnings and errors only, into the daemon's; so the store
// holds no LOG files.
class LogAdapter : public rocksdb::Logger {
 public:
  LogAdapter() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Write(LogLevel::kWarning, format, arguments);
  }
  void Logv(const rocksdb::InfoLogLevel level, const char* format,
            va_list arguments) override {
    if (level < GetInfoLogLevel() ||
        level == rocksdb::InfoLogLevel::HEADER_LEVEL) {
      return;
    }
    Write(level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? LogLevel::kError
                                                      : LogLevel::kWarning,
          format, arguments);
  }

 private:
  static void Write(LogLevel level, const char* format, va_list arguments) {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    // A file without an ID to compare is no fault: checksums say if it is
    // whole.
    if (absl::StrContains(text, "opened without unique ID")) return;
    Log(level, "rocksdb", text);
  }
};

}  // namespace

rocksdb::Options StoreOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  options.info_log = std::make_shared<LogAdapter>();
  options.create_if_missing = true;
  options.create_missing_column_families = true;

  // Memory: 4 MiB of unwritten data over all families, 8 MiB of cached blocks,
  // indexes included; table readers of few files.
  constexpr size_t kMiB = size_t{1} << 20;
  options.db_write_buffer_size = 4 * kMiB;
  options.write_buffer_size = 4 * kMiB;
  options.arena_block_size = 64 << 10;
  options.max_open_files = 64;
  options.max_background_jobs = 2;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 * kMiB, /*num_shard_bits=*/1);
  table.cache_index_and_filter_blocks = true;
  // What RocksDB 7 can read, whatever a later library would write by itself: so
  // that an older build can be gone back to.
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  // Disk: small logs, so that a nearly idle family cannot hold on to old ones.
  options.max_total_wal_size = 16 * kMiB;
  options.manifest_preallocation_size = 64 << 10;
  options.max_manifest_file_size = 4 * kMiB;

  // A torn last record is what a crash leaves; anything else that is wrong in a
  // log would lose acknowledged samples silently with the default mode.
  options.wal_recovery_mode =
      rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // A log that is gone although the manifest knows it refuses the start.
  options.track_and_verify_wals_in_manifest = true;
  // RocksDbDatabase recovers from failed writes, by opening the files anew:
  // RocksDB's own recovery takes a log that it could not write for sound when
  // nothing is to be flushed, and aborts at the next write to it.
  options.max_bgerror_resume_count = 0;
  // No thread that wakes up only to write statistics nobody reads.
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

}  // namespace wavetune
