/* WaveTune in C: which configuration of a kernel for this problem, decided in
 * this process in nanoseconds.
 *
 *   #include <wavetune/wavetune.h>      // pkg-config: wavetune
 *
 *   wavetune_client* client = NULL;
 *   wavetune_tuner* gemm = NULL;
 *   if (wavetune_client_connect(NULL, &client) != WAVETUNE_OK ||
 *       wavetune_client_get_tuner(client, "gemm_f32", NULL, &gemm) !=
 *           WAVETUNE_OK) {
 *     fprintf(stderr, "%s\n", wavetune_last_error());
 *     return 1;
 *   }
 *   const int64_t problem[] = {m, n, k};
 *   wavetune_decision d;
 *   wavetune_tuner_resolve(gemm, problem, 3, &d);
 *   int64_t block_m =
 *       d.values[wavetune_tuner_parameter_index(gemm, "BLOCK_M")];
 *   ...
 *   wavetune_tuner_close(gemm);
 *   wavetune_client_close(client);
 *
 * Why beside the C++ library: C++ has no stable ABI. libwavetune.so needs no
 * compiler, flags or standard library in common with its caller, and exports
 * nothing but the declarations here.
 *
 * Errors: functions that can fail return a wavetune_status and leave their
 * outputs as they were; wavetune_last_error() then says what, which key and
 * what to do next. A NULL where none is allowed is WAVETUNE_INVALID_ARGUMENT
 * (or the documented nothing), never a crash. No exception crosses this header.
 *
 * Handles: opaque, closed once each, in any order: a tuner outlives its client.
 *
 * Thread safety: all functions on one handle may be called from any number of
 * threads, except that nothing may use a handle that is being closed.
 *
 * Forks: in a forked process tuners decide with what they had, and closing
 * handles ends at once. The parent's client asks the daemon there, but hears of
 * nothing new; a client that connects there works as any (docs/client.md).
 *
 * Versions: within one major version, which is also the SONAME's, programs
 * built with an older header run with a newer library. Option structs grow at
 * their end and say how large the caller's is (struct_size); wavetune_decision
 * never grows; functions and enumerators are added, never changed. Treat an
 * enumerator that you do not know like an unknown one, not like an error.
 */
#ifndef WAVETUNE_WAVETUNE_H_
#define WAVETUNE_WAVETUNE_H_

#include <stddef.h>
#include <stdint.h>

/* This header's; wavetune_c_api_version() says the library's. */
#define WAVETUNE_C_API_VERSION_MAJOR 1
#define WAVETUNE_C_API_VERSION_MINOR 2

#if defined(__GNUC__)
#define WAVETUNE_API __attribute__((visibility("default")))
#else
#define WAVETUNE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* NOLINTBEGIN(modernize-use-using): this is C, too. */

/* ---- Versions --------------------------------------------------------- */

/* Returns the library's C API version, major << 16 | minor. A program that
 * loads the library by itself (dlopen) compares the major with its header's. */
WAVETUNE_API uint32_t wavetune_c_api_version(void);

/* Returns the library's release, "0.1.0". Static storage. */
WAVETUNE_API const char* wavetune_version(void);

/* ---- Errors ----------------------------------------------------------- */

/* Numbers as in gRPC and Abseil. */
typedef enum wavetune_status {
  WAVETUNE_OK = 0,
  WAVETUNE_CANCELLED = 1,
  WAVETUNE_UNKNOWN = 2,
  WAVETUNE_INVALID_ARGUMENT = 3,
  WAVETUNE_DEADLINE_EXCEEDED = 4,
  WAVETUNE_NOT_FOUND = 5, /* The message lists known ones. */
  WAVETUNE_ALREADY_EXISTS = 6,
  WAVETUNE_PERMISSION_DENIED = 7,
  WAVETUNE_RESOURCE_EXHAUSTED = 8,  /* No memory, or a buffer too small. */
  WAVETUNE_FAILED_PRECONDITION = 9, /* Ambiguous: the message lists choices. */
  WAVETUNE_ABORTED = 10,
  WAVETUNE_OUT_OF_RANGE = 11,
  WAVETUNE_UNIMPLEMENTED = 12,
  WAVETUNE_INTERNAL = 13,
  WAVETUNE_UNAVAILABLE = 14, /* No daemon, and nothing else that answers. */
  WAVETUNE_DATA_LOSS = 15    /* A damaged table. */
} wavetune_status;

/* Returns the message of the last function that failed in this thread; "" where
 * none did. Never NULL; valid until the next failure in this thread. */
WAVETUNE_API const char* wavetune_last_error(void);

/* Returns "NOT_FOUND" for WAVETUNE_NOT_FOUND, and so on; "UNKNOWN" for any
 * other number. Static storage. */
WAVETUNE_API const char* wavetune_status_name(wavetune_status status);

/* ---- Client ----------------------------------------------------------- */

typedef struct wavetune_client wavetune_client;
typedef struct wavetune_tuner wavetune_tuner;

/* Where decisions come from. */
enum {
  WAVETUNE_MODE_UNSPECIFIED = 0,
  WAVETUNE_MODE_AUTO = 1,    /* The daemon, else local tables. */
  WAVETUNE_MODE_OFFLINE = 2, /* Local files only; nothing changes. */
  WAVETUNE_MODE_OFF = 3      /* The kernel's default, always. */
};

/* Every member may stay zero. Start from WAVETUNE_CLIENT_OPTIONS_INIT. */
typedef struct wavetune_client_options {
  size_t struct_size;     /* sizeof(wavetune_client_options) */
  const char* endpoint;   /* NULL or "": WAVETUNE_ENDPOINT, else the default. */
  const char* cache_dir;  /* For fetched tables. NULL: user's; "": none. */
  const char* table_file; /* A table, or a folder of them. NULL or "":
                             WAVETUNE_TABLE_FILE, else none. */
  const char* pin;  /* The table set to keep to: its digest, or "kernel=digest,
                       ...". NULL or "": WAVETUNE_PIN, else none. */
  double timeout_s; /* For one call to the daemon; 0: the default (2 s). */
  int32_t mode;     /* WAVETUNE_MODE_...; 0: WAVETUNE_MODE, else auto. */
  int32_t no_watch; /* Not 0: does not hear of new tables. */
  /* Since 1.1: */
  int32_t no_usage_feedback; /* Not 0: does not report what it is asked
                                (docs/usage.md). WAVETUNE_USAGE=off, too. */
  int32_t reserved;          /* 0 */
} wavetune_client_options;

#define WAVETUNE_CLIENT_OPTIONS_INIT \
  { sizeof(wavetune_client_options), NULL, NULL, NULL, NULL, 0.0, 0, 0, 0, 0 }

/* Makes a client; `options` may be NULL. A daemon that is down is no error:
 * tuners then come from the cache, a table file, or are the kernels' defaults
 * (docs/client.md).
 * Errors: INVALID_ARGUMENT for an endpoint, timeout, mode, table file or pin
 * that makes no sense, and for options of a newer header that this library
 * would have to ignore. NOT_FOUND for a pinned set that nobody knows. */
WAVETUNE_API wavetune_status wavetune_client_connect(
    const wavetune_client_options* options, wavetune_client** client);

/* Ends a client; its tuners live on. NULL does nothing. */
WAVETUNE_API void wavetune_client_close(wavetune_client* client);

/* When a new table takes over from the one that decides. */
enum {
  /* As soon as all its configurations are prepared
     (wavetune_tuner_set_prepared); until then by wavetune_tuner_activate. */
  WAVETUNE_ACTIVATION_AUTOMATIC = 0,
  WAVETUNE_ACTIVATION_STEP_BOUNDARY = 1, /* At ..._step_boundary. */
  WAVETUNE_ACTIVATION_EXPLICIT = 2,      /* By wavetune_tuner_activate only. */
  WAVETUNE_ACTIVATION_PINNED = 3         /* Never. */
};

/* Every member may stay zero. Start from WAVETUNE_TUNER_OPTIONS_INIT. NULL and
 * "" mean the same. */
typedef struct wavetune_tuner_options {
  size_t struct_size; /* sizeof(wavetune_tuner_options) */
  const char* device; /* UUID; where tables for several devices are known. */
  const char* fingerprint;    /* Hex prefix, 8 or more; several versions. */
  const char* specialisation; /* Where the kernel has more than one. */
  const char* digest;         /* Hex; pins a table by its identity. */
  const char* manifest; /* The kernel's folder or manifest: tells the default
                           where nobody else does; tables that answer what
                           it does not allow are refused. */
  int32_t activation;   /* WAVETUNE_ACTIVATION_... */
  int32_t prepares_on_demand; /* Not 0: every configuration can be launched, so
                                 that with AUTOMATIC every table takes over. */
  /* Since 1.1: what can be launched, as wavetune_tuner_set_prepared would
     declare it. */
  const int64_t* prepared;    /* Configurations, one after the other. */
  size_t prepared_count;      /* How many. */
  size_t prepared_parameters; /* Values of each: the kernel's parameters. */
} wavetune_tuner_options;

#define WAVETUNE_TUNER_OPTIONS_INIT                                           \
  {                                                                           \
    sizeof(wavetune_tuner_options), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, \
        0, 0                                                                  \
  }

/* Makes a tuner for a kernel; `options` may be NULL. Fetches its table, at most
 * once: a few calls to the daemon.
 * Errors: INVALID_ARGUMENT for a number that is no activation, and for
 * prepared configurations of another number of parameters than the kernel's,
 * or NULL with a count.
 * FAILED_PRECONDITION when the choice is ambiguous, or a pinned set has no
 * table of the kernel. NOT_FOUND for an unknown kernel, device or
 * specialisation. UNAVAILABLE when neither the daemon nor anything local knows
 * the kernel. DATA_LOSS for a damaged table. */
WAVETUNE_API wavetune_status wavetune_client_get_tuner(
    wavetune_client* client, const char* kernel,
    const wavetune_tuner_options* options, wavetune_tuner** tuner);

/* Ends a tuner. NULL does nothing. */
WAVETUNE_API void wavetune_tuner_close(wavetune_tuner* tuner);

/* ---- Decisions -------------------------------------------------------- */

/* Most parameters of a kernel. */
#define WAVETUNE_MAX_PARAMETERS 12

/* wavetune_decision.source: how good an answer is. */
enum {
  WAVETUNE_SOURCE_FITTED = 1,       /* Inside the measured range. */
  WAVETUNE_SOURCE_EXTRAPOLATED = 2, /* Beyond it. */
  WAVETUNE_SOURCE_STALE = 3,  /* For another environment, kernel or compiler. */
  WAVETUNE_SOURCE_DEFAULT = 4 /* No model, or not a legal problem: `reason`. */
};

/* wavetune_decision.reason: why the source is WAVETUNE_SOURCE_DEFAULT. */
enum {
  WAVETUNE_REASON_NONE = 0,
  WAVETUNE_REASON_NO_TABLE = 1,
  WAVETUNE_REASON_WRONG_DIMENSION_COUNT = 2,
  WAVETUNE_REASON_EXTENT_OUT_OF_RANGE = 3,
  WAVETUNE_REASON_NO_LEGAL_CANDIDATE = 4,
  WAVETUNE_REASON_UNKNOWN_SPECIALISATION = 5,
  /* The table's choices were shown to compute wrong results. */
  WAVETUNE_REASON_TABLE_WITHDRAWN = 6,
  /* The default is known not to work on the device: nothing to launch. */
  WAVETUNE_REASON_DEFAULT_UNUSABLE = 7,
  /* The problem breaks a precondition of the kernel. */
  WAVETUNE_REASON_PRECONDITION_BROKEN = 8
};

/* wavetune_decision.origin: where the table came from. */
enum {
  WAVETUNE_ORIGIN_DEFAULTS = 0, /* No table: the kernel's default. */
  WAVETUNE_ORIGIN_DAEMON = 1,   /* Fetched from a daemon by this process. */
  WAVETUNE_ORIGIN_CACHE = 2,    /* The local table cache had it. */
  WAVETUNE_ORIGIN_FILE = 3      /* A table file that the user named. */
};

/* An answer. Points into nothing; 136 bytes, the same in all of version 1. */
typedef struct wavetune_decision {
  int64_t values[WAVETUNE_MAX_PARAMETERS]; /* By parameter; unused ones 0. */
  int32_t value_count;                     /* wavetune_tuner_parameter_count */
  int32_t reserved;                        /* 0 */
  double latency_us;      /* Predicted device time of one launch; 0: default. */
  double relative_bound;  /* Half-width of the error, relative to latency_us. */
  uint64_t digest_prefix; /* First 8 bytes of the table's digest, big-endian;
                             0 without a table. */
  uint8_t source;         /* WAVETUNE_SOURCE_... */
  uint8_t reason;         /* WAVETUNE_REASON_... */
  uint8_t candidate;      /* Index into the portfolio; 255: the default. */
  uint8_t origin;         /* WAVETUNE_ORIGIN_... */
  uint8_t reserved_tail[4]; /* 0 */
} wavetune_decision;

/* Decides for `count` extents in the order of the kernel's dimensions. Writes
 * `*decision` also where the answer is the default: an illegal problem is an
 * answer with a reason, not an error.
 * Errors: INVALID_ARGUMENT for a NULL (`extents` may be NULL with count 0).
 * Cost: nanoseconds; no lock, allocation, system call or RPC. Not for signal
 * handlers. */
WAVETUNE_API wavetune_status
wavetune_tuner_resolve(const wavetune_tuner* tuner, const int64_t* extents,
                       size_t count, wavetune_decision* decision);

/* The same for a kernel with a repeated dimension (tokens per expert): its
 * elements are in `repeated`, its own slot of `extents` is ignored. */
WAVETUNE_API wavetune_status wavetune_tuner_resolve_repeated(
    const wavetune_tuner* tuner, const int64_t* extents, size_t count,
    const int64_t* repeated, size_t repeated_count,
    wavetune_decision* decision);

/* ---- What a tuner knows ----------------------------------------------- */

/* Returns the kernel's name. Lives as long as the tuner; "" for NULL. */
WAVETUNE_API const char* wavetune_tuner_kernel(const wavetune_tuner* tuner);

/* Parameters, in the order of wavetune_decision.values. Names live as long as
 * the tuner. Count is 0 for a NULL tuner; name is NULL and index -1 for what
 * there is not. */
WAVETUNE_API size_t wavetune_tuner_parameter_count(const wavetune_tuner* tuner);
WAVETUNE_API const char* wavetune_tuner_parameter_name(
    const wavetune_tuner* tuner, size_t index);
WAVETUNE_API int wavetune_tuner_parameter_index(const wavetune_tuner* tuner,
                                                const char* name);

/* Dimensions, in the order of a problem's extents; otherwise as parameters. */
WAVETUNE_API size_t wavetune_tuner_dimension_count(const wavetune_tuner* tuner);
WAVETUNE_API const char* wavetune_tuner_dimension_name(
    const wavetune_tuner* tuner, size_t index);
/* Returns the index of the repeated dimension, or -1. */
WAVETUNE_API int wavetune_tuner_repeated_dimension(const wavetune_tuner* tuner);
/* Writes the least and greatest legal extent of a dimension.
 * Errors: INVALID_ARGUMENT for a NULL; OUT_OF_RANGE for the index. */
WAVETUNE_API wavetune_status
wavetune_tuner_dimension_range(const wavetune_tuner* tuner, size_t index,
                               int64_t* minimum, int64_t* maximum);

/* Writes the portfolio, all configurations that decisions can answer, the
 * default included: compile them ahead of time. Configuration i is at
 * values[i * wavetune_tuner_parameter_count(tuner)]. `capacity` counts
 * configurations; `*count` becomes how many there are. With capacity 0,
 * `values` may be NULL.
 * Errors: INVALID_ARGUMENT for a NULL; RESOURCE_EXHAUSTED where there are more
 * than `capacity` > 0: `*count` is set all the same, `values` stays as it was.
 */
WAVETUNE_API wavetune_status
wavetune_tuner_configurations(const wavetune_tuner* tuner, int64_t* values,
                              size_t capacity, size_t* count);

/* Writes the configuration that the kernel's author declared: one value for
 * each parameter.
 * Errors: INVALID_ARGUMENT for a NULL; RESOURCE_EXHAUSTED for a `capacity`,
 * in values, that is too small. */
WAVETUNE_API wavetune_status wavetune_tuner_default_configuration(
    const wavetune_tuner* tuner, int64_t* values, size_t capacity);

/* Characters of a hex digest, with the 0 at its end. */
#define WAVETUNE_DIGEST_SIZE 65

/* Writes the hex digest of the table behind the decisions, "" without a table.
 * Errors: INVALID_ARGUMENT for a NULL; RESOURCE_EXHAUSTED for a `size`, in
 * bytes, below WAVETUNE_DIGEST_SIZE. */
WAVETUNE_API wavetune_status wavetune_tuner_digest(const wavetune_tuner* tuner,
                                                   char* digest, size_t size);

/* Returns WAVETUNE_ORIGIN_...; WAVETUNE_ORIGIN_DEFAULTS for NULL. */
WAVETUNE_API int wavetune_tuner_origin(const wavetune_tuner* tuner);

/* Returns 1 where the table was measured in another environment (driver,
 * runtime, power limit) than the present one, or for another version of the
 * kernel or compiler; else 0. */
WAVETUNE_API int wavetune_tuner_stale(const wavetune_tuner* tuner);

/* Writes what differs where the table is stale: "driver \"580\", now \"590\"";
 * "" where it is not. A longer text is cut to fit; its length without the 0 is
 * written to `*length` (which may be NULL). With size 0, `reason` may be NULL.
 * Since 1.2.
 * Errors: INVALID_ARGUMENT for a NULL. */
WAVETUNE_API wavetune_status wavetune_tuner_stale_reason(
    const wavetune_tuner* tuner, char* reason, size_t size, size_t* length);

/* ---- New tables ------------------------------------------------------- */

/* A new table never takes over in the middle of something: it is staged, and
 * takes over as the tuner's activation says. What a tuner knows (above) is
 * about the table that decides now. */

/* Declares the configurations that the application can launch, in place of
 * earlier ones: `count` of them, one after the other as in
 * wavetune_tuner_configurations.
 * Errors: INVALID_ARGUMENT for a NULL (`values` may be NULL with count 0). */
WAVETUNE_API wavetune_status wavetune_tuner_set_prepared(wavetune_tuner* tuner,
                                                         const int64_t* values,
                                                         size_t count);

/* Writes the hex digest of the table that waits to take over; "" where none
 * does. Errors: as wavetune_tuner_digest. */
WAVETUNE_API wavetune_status wavetune_tuner_staged_digest(
    const wavetune_tuner* tuner, char* digest, size_t size);

/* Writes those configurations of a staged table that are not declared prepared:
 * compile them, then activate it. Otherwise as wavetune_tuner_configurations.
 * Errors: as there; NOT_FOUND where that table is not staged (any more). */
WAVETUNE_API wavetune_status wavetune_tuner_staged_unprepared(
    const wavetune_tuner* tuner, const char* digest, int64_t* values,
    size_t capacity, size_t* count);

/* Lets the staged table take over, whatever the activation but PINNED; OK, too,
 * where it decides already.
 * Errors: NOT_FOUND where it is not staged; FAILED_PRECONDITION where the tuner
 * is pinned. The current table stays then. No RPC. */
WAVETUNE_API wavetune_status wavetune_tuner_activate(wavetune_tuner* tuner,
                                                     const char* digest);

/* With STEP_BOUNDARY, lets a staged table take over; nothing happens otherwise.
 * Return how many tables did: of the tuner, of all tuners of a client. 0 for
 * NULL. No RPC. */
WAVETUNE_API int wavetune_tuner_step_boundary(wavetune_tuner* tuner);
WAVETUNE_API int wavetune_client_step_boundary(wavetune_client* client);

/* ---- Ranks of one job (docs/rank-agreement.md) ------------------------ */

/* Writes the digest of the table set that decides now: the one value that ranks
 * compare.
 * Errors: as wavetune_tuner_digest; FAILED_PRECONDITION where two tuners of one
 * kernel decide with different tables. No RPC. */
WAVETUNE_API wavetune_status wavetune_client_table_set_digest(
    const wavetune_client* client, char* digest, size_t size);

/* Makes the set that decides now known by its digest, to the cache and the
 * daemons, and writes the digest: for rank 0.
 * Errors: as above; FAILED_PRECONDITION where a tuner has no table; UNAVAILABLE
 * where nobody took it. */
WAVETUNE_API wavetune_status wavetune_client_publish_table_set(
    wavetune_client* client, char* digest, size_t size);

/* Fetches a set by its digest, and stages its tables at the tuners in use, all
 * or nothing: for the other ranks.
 * Errors: INVALID_ARGUMENT for a NULL; NOT_FOUND where nobody knows it;
 * FAILED_PRECONDITION where a tuner refuses its table. */
WAVETUNE_API wavetune_status
wavetune_client_stage_table_set(wavetune_client* client, const char* digest);

/* Lets the staged tables of the set take over, all or none: at the same step of
 * every rank. Errors: INVALID_ARGUMENT for a NULL; FAILED_PRECONDITION where a
 * tuner neither has its table staged nor decides with it. No RPC. */
WAVETUNE_API wavetune_status
wavetune_client_activate_table_set(wavetune_client* client, const char* digest);

/* ---- What a client does ----------------------------------------------- */

/* Returns WAVETUNE_MODE_...; WAVETUNE_MODE_UNSPECIFIED for NULL. */
WAVETUNE_API int wavetune_client_mode(const wavetune_client* client);

/* Returns 1 where the client hears of new tables now, else 0. */
WAVETUNE_API int wavetune_client_watching(const wavetune_client* client);

/* Returns why a table was refused, is stale or the watch was cut off last, with
 * the message in wavetune_last_error(); WAVETUNE_OK where nothing was. */
WAVETUNE_API wavetune_status
wavetune_client_last_problem(const wavetune_client* client);

/* wavetune_event.kind */
enum {
  WAVETUNE_EVENT_STAGED = 0,    /* A new table waits to take over. */
  WAVETUNE_EVENT_ACTIVATED = 1, /* A table decides from now on. */
  /* A staged table was retired or replaced; or the one that decides was shown
   * to compute wrong results (`reason`), and the default decides. */
  WAVETUNE_EVENT_WITHDRAWN = 2,
  WAVETUNE_EVENT_REFUSED = 3,      /* A table was not taken: `reason`. */
  WAVETUNE_EVENT_CONNECTED = 4,    /* The client hears of new tables. */
  WAVETUNE_EVENT_DISCONNECTED = 5, /* It does not, and tries again: `reason`. */
  WAVETUNE_EVENT_STALE = 6, /* The table that decides is stale: `reason`. */
  WAVETUNE_EVENT_CACHE_PROBLEM = 7 /* The cache cannot be used: `reason`. */
};

/* What happened to a client's tables. It and its texts live as long as the call
 * that hands it out; a newer library's may have more members at the end. */
typedef struct wavetune_event {
  uint64_t number;     /* From 1, in order. */
  int64_t time_us;     /* Since the Unix epoch. */
  const char* kernel;  /* "" for what concerns the connection. */
  const char* digest;  /* Hex; may be "". */
  const char* reason;  /* "" but for 3, 5, 6 and 7. */
  int32_t kind;        /* WAVETUNE_EVENT_... */
  int32_t reason_code; /* WAVETUNE_NOT_FOUND and so on; 0 without a reason. */
} wavetune_event;

typedef void (*wavetune_event_visitor)(void* context,
                                       const wavetune_event* event);

/* Calls `visit` with each event whose number is above `after`, oldest first, in
 * this thread, before it returns. The client keeps the last 64: who asks now
 * and then gives the last number seen, and has missed something where numbers
 * are missing. `visit` may call every function of this header but the client's
 * wavetune_client_close. Since 1.1.
 * Errors: INVALID_ARGUMENT for a NULL (`context` may be). No RPC. */
WAVETUNE_API wavetune_status
wavetune_client_visit_events(const wavetune_client* client, uint64_t after,
                             wavetune_event_visitor visit, void* context);

/* NOLINTEND(modernize-use-using) */
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WAVETUNE_WAVETUNE_H_ */
