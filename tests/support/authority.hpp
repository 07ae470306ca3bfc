#pragma once
#include "bridge/tls/openssl.hpp"

#include <vector>

namespace zklock::test {

/// What a certificate says.
struct certificate_request {
    certificate_request() = default; // no aggregate: see src/README.md on gcc 12

    std::string common_name = "zk";
    std::vector<std::string> names;   ///< such as `DNS:zk1` and `IP:127.0.0.1`
    int from = -3'600, until = 3'600; ///< s from now
    std::string key_type = "P-256";   ///< or RSA
};

/// Certificate and key, as text in the form of PEM.
struct identity {
    std::string certificate;
    std::string key;
};

/// The key encrypted: it can only be read with the password.
[[nodiscard]] std::string encrypted(const std::string& key, const std::string& password);

/// Signs certificates, in memory. certificate_authority.hpp writes them to files.
class authority {
public:
    explicit authority(const std::string& name);

    /// Its own certificate, as PEM.
    [[nodiscard]] const std::string& certificate() const noexcept { return text_; }
    [[nodiscard]] identity issue(const certificate_request&) const;
    /// An authority whose certificate this one has signed.
    [[nodiscard]] authority between(const std::string& name) const;

private:
    authority() = default;

    bridge::owned_key key_;
    bridge::owned_certificate certificate_;
    std::string text_;
};

} // namespace zklock::test
