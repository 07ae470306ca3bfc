#pragma once
#include "support/temporary_directory.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace zklock::test {

/// What a certificate says, and how its key is kept.
struct certificate_wish {
    certificate_wish() = default; // gcc 12 destroys temporaries of aggregates twice around co_await

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

/// Makes certificates, by the command `openssl`, which the machine has to have. Its files live as long as it does.
class certificate_authority {
public:
    explicit certificate_authority(const std::string& name = "zklock test authority");

    /// Its own certificate: whoever trusts it trusts all that it makes.
    [[nodiscard]] std::string file() const;
    /// A new key and its certificate.
    certified certify(const certificate_wish& wish = certificate_wish());

private:
    void openssl(std::vector<std::string> arguments);

    temporary_directory directory_;
    std::size_t count_ = 0;
};

/// The one that the servers of a program, and their clients, trust unless a test says otherwise.
certificate_authority& usual_authority();

} // namespace zklock::test
