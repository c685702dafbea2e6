// A signing key for tests, of RFC 8032, 7.1, test 2.
#ifndef WAVETUNE_TESTS_LIB_SIGNING_KEYS_H_
#define WAVETUNE_TESTS_LIB_SIGNING_KEYS_H_

namespace wavetune::testing {

// The secret key as PKCS #8, and its public key.
inline constexpr char kSigningKeyPem[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr char kSigningPublicKey[] =
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_SIGNING_KEYS_H_
