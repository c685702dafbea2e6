// The API's descriptors, as protoc writes them (a FileDescriptorSet): lite code
// has none. Defined in a file that the build writes.
#ifndef WAVETUNE_CLIENT_EMBEDDED_API_DESCRIPTORS_H_
#define WAVETUNE_CLIENT_EMBEDDED_API_DESCRIPTORS_H_

#include <cstddef>

namespace wavetune {

extern const unsigned char kApiDescriptors[];
extern const size_t kApiDescriptorsSize;

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_EMBEDDED_API_DESCRIPTORS_H_
