#pragma once
#include "support/temporary_directory.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace zklock::test {

class authority;

/// What a certificate says, and how its key is kept.
struct certificate_wish {
    certificate_wish() = default; // no aggregate: see src/README.md on gcc 12

    std::string common_name = "zklock test";
    /// Alternative names, as openssl writes them. Without any, only the common name is there.
    std::vector<std::string> names{"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
    bool expired = false;
    std::string key_password = {}; ///< with one, the key is encrypted
};

/// Where a certificate and its key are. All files are PEM.
struct certified {
    std::string certificate;
    std::string key;
    std::string store; ///< both in one file, as a server's ssl.keyStore.location
};

/// Makes certificates, as files, which live as long as it does.
class certificate_authority {
public:
    explicit certificate_authority(const std::string& name = "zklock test authority");
    ~certificate_authority();
    certificate_authority(const certificate_authority&) = delete;
    certificate_authority& operator=(const certificate_authority&) = delete;

    /// Its own certificate: whoever trusts it trusts all that it makes.
    [[nodiscard]] std::string file() const { return directory_.path() / "ca.pem"; }
    /// A new key and its certificate.
    certified certify(const certificate_wish& wish = certificate_wish());

private:
    std::unique_ptr<const authority> signs_;
    temporary_directory directory_;
    std::size_t count_ = 0;
};

/// The one that the servers of a program, and their clients, trust unless a test says otherwise.
certificate_authority& usual_authority();

} // namespace zklock::test
