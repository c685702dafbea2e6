// GIVE_FIELDS and TAKE_FIELDS copy the fields that a struct and a message call
// by the same names.
//
//   GIVE_FIELDS(record, stored, kernel, digest);
//   // stored.set_kernel(record.kernel); stored.set_digest(record.digest);
//   TAKE_FIELDS(stored, record, kernel, digest);
//   // record.kernel = stored.kernel(); record.digest = stored.digest();
//
// Where a record goes both ways, a macro lists its names once, so that no name
// is missing on one way. At most 60 names.
#ifndef WAVETUNE_BASE_COPY_FIELDS_H_
#define WAVETUNE_BASE_COPY_FIELDS_H_

#define GIVE_FIELDS(record, message, ...) \
  WAVETUNE_EACH_FIELD(WAVETUNE_GIVE_FIELD, record, message, __VA_ARGS__)
#define TAKE_FIELDS(message, record, ...) \
  WAVETUNE_EACH_FIELD(WAVETUNE_TAKE_FIELD, record, message, __VA_ARGS__)

#define WAVETUNE_GIVE_FIELD(record, message, field) \
  (message).set_##field((record).field);
#define WAVETUNE_TAKE_FIELD(record, message, field) \
  (record).field = (message).field();

// Expands `copy` for the first name, and leaves a call for the rest, which each
// further scan expands: a macro does not expand within itself.
#define WAVETUNE_EACH_FIELD(copy, record, message, ...) \
  WAVETUNE_SCAN(WAVETUNE_NEXT_FIELD(copy, record, message, __VA_ARGS__))
#define WAVETUNE_NEXT_FIELD(copy, record, message, field, ...) \
  copy(record, message, field) __VA_OPT__(                     \
      WAVETUNE_REST WAVETUNE_PARENTHESES(copy, record, message, __VA_ARGS__))
#define WAVETUNE_REST() WAVETUNE_NEXT_FIELD
#define WAVETUNE_PARENTHESES ()
#define WAVETUNE_SCAN(...) \
  WAVETUNE_SCAN_16(        \
      WAVETUNE_SCAN_16(WAVETUNE_SCAN_16(WAVETUNE_SCAN_16(__VA_ARGS__))))
#define WAVETUNE_SCAN_16(...) \
  WAVETUNE_SCAN_4(            \
      WAVETUNE_SCAN_4(WAVETUNE_SCAN_4(WAVETUNE_SCAN_4(__VA_ARGS__))))
#define WAVETUNE_SCAN_4(...) \
  WAVETUNE_SCAN_1(           \
      WAVETUNE_SCAN_1(WAVETUNE_SCAN_1(WAVETUNE_SCAN_1(__VA_ARGS__))))
#define WAVETUNE_SCAN_1(...) __VA_ARGS__

#endif  // WAVETUNE_BASE_COPY_FIELDS_H_
