#include "bridge/tls/secret.hpp"

#include <openssl/crypto.h>

namespace zklock::bridge {

void wipe(std::string& text) noexcept
{
    text.resize(text.capacity()); // allocates nothing
    OPENSSL_cleanse(text.data(), text.size());
    text.clear();
}

} // namespace zklock::bridge
