/* A C99 program that asks WaveTune: prints what a tuner knows and one line for
 * each problem of a file. c_library_test compares its answers with C++'s.
 *
 *   wavetune_c99_program ENDPOINT CACHE_DIR KERNEL SPECIALISATION PROBLEMS
 *
 * A problem is a line of extents, the repeated dimension's elements after a
 * ':', for instance "0 4096 4096 : 17 0 3".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wavetune/wavetune.h"

enum { kMaxExtents = 16, kMaxRepeated = 1024 };

static int fail(const char* what, wavetune_status status) {
  fprintf(stderr, "%s: %s: %s\n", what, wavetune_status_name(status),
          wavetune_last_error());
  return 1;
}

/* Reads numbers until something else comes; returns how many. */
static size_t read_numbers(char** text, int64_t* numbers, size_t capacity) {
  size_t count = 0;
  while (count < capacity) {
    char* end = NULL;
    const long long number = strtoll(*text, &end, 10);
    if (end == *text) break;
    numbers[count++] = number;
    *text = end;
  }
  return count;
}

static void print_values(const int64_t* values, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) printf("%s%" PRId64, i > 0 ? "," : "", values[i]);
}

/* %a shows every bit of a double. */
static void print_decision(const wavetune_decision* d) {
  print_values(d->values, (size_t)d->value_count);
  printf(" %a %a %016" PRIx64 " %d %d %d %d\n", d->latency_us,
         d->relative_bound, d->digest_prefix, d->source, d->reason,
         d->candidate, d->origin);
}

static int print_portfolio(const wavetune_tuner* tuner) {
  const size_t parameters = wavetune_tuner_parameter_count(tuner);
  size_t count = 0;
  size_t i;
  int64_t* values;
  wavetune_status status =
      wavetune_tuner_configurations(tuner, NULL, 0, &count);
  if (status != WAVETUNE_OK) return fail("configurations", status);
  values = malloc(count * parameters * sizeof *values);
  if (values == NULL) return 1;
  status = wavetune_tuner_configurations(tuner, values, count, &count);
  if (status != WAVETUNE_OK) {
    free(values);
    return fail("configurations", status);
  }
  for (i = 0; i < count; ++i) {
    printf("configuration ");
    print_values(values + i * parameters, parameters);
    printf("\n");
  }
  free(values);
  return 0;
}

static int print_tuner(const wavetune_tuner* tuner) {
  char digest[WAVETUNE_DIGEST_SIZE];
  size_t i;
  const wavetune_status status =
      wavetune_tuner_digest(tuner, digest, sizeof digest);
  if (status != WAVETUNE_OK) return fail("digest", status);
  printf("kernel %s\n", wavetune_tuner_kernel(tuner));
  printf("digest %s\n", digest);
  for (i = 0; i < wavetune_tuner_parameter_count(tuner); ++i)
    printf("parameter %s\n", wavetune_tuner_parameter_name(tuner, i));
  for (i = 0; i < wavetune_tuner_dimension_count(tuner); ++i)
    printf("dimension %s\n", wavetune_tuner_dimension_name(tuner, i));
  return print_portfolio(tuner);
}

static int answer(const wavetune_tuner* tuner, char* line) {
  static int64_t repeated[kMaxRepeated];
  int64_t extents[kMaxExtents];
  wavetune_decision decision;
  wavetune_status status;
  const size_t count = read_numbers(&line, extents, kMaxExtents);
  char* colon = strchr(line, ':');
  if (colon == NULL) {
    status = wavetune_tuner_resolve(tuner, extents, count, &decision);
  } else {
    size_t elements;
    ++colon;
    elements = read_numbers(&colon, repeated, kMaxRepeated);
    status = wavetune_tuner_resolve_repeated(tuner, extents, count, repeated,
                                             elements, &decision);
  }
  if (status != WAVETUNE_OK) return fail("resolve", status);
  print_decision(&decision);
  return 0;
}

static int answer_all(const wavetune_tuner* tuner, const char* path) {
  static char line[16384];
  int result = 0;
  FILE* problems = fopen(path, "r");
  if (problems == NULL) {
    perror(path);
    return 1;
  }
  while (result == 0 && fgets(line, sizeof line, problems) != NULL)
    result = answer(tuner, line);
  fclose(problems);
  return result;
}

int main(int argc, char** argv) {
  wavetune_client_options client_options = WAVETUNE_CLIENT_OPTIONS_INIT;
  wavetune_tuner_options tuner_options = WAVETUNE_TUNER_OPTIONS_INIT;
  wavetune_client* client = NULL;
  wavetune_tuner* tuner = NULL;
  wavetune_status status;
  int result;
  if (argc != 6) {
    fprintf(stderr, "give ENDPOINT CACHE_DIR KERNEL SPECIALISATION PROBLEMS\n");
    return 2;
  }
  if (wavetune_c_api_version() >> 16 != WAVETUNE_C_API_VERSION_MAJOR) return 2;

  client_options.endpoint = argv[1];
  client_options.cache_dir = argv[2];
  status = wavetune_client_connect(&client_options, &client);
  if (status != WAVETUNE_OK) return fail("connect", status);
  tuner_options.specialisation = argv[4];
  status = wavetune_client_get_tuner(client, argv[3], &tuner_options, &tuner);
  wavetune_client_close(client); /* The tuner needs it no longer. */
  if (status != WAVETUNE_OK) return fail("get_tuner", status);

  result = print_tuner(tuner);
  if (result == 0) result = answer_all(tuner, argv[5]);
  wavetune_tuner_close(tuner);
  return result;
}
