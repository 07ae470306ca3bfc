#pragma once
#include "bridge/sasl/mechanism.hpp"
#include "bridge/tls/secret.hpp"

#include <string>
#include <string_view>

namespace zklock::bridge {

/// DIGEST-MD5 (RFC 2831) with a first, empty token, the quality of protection `auth`, and the name of service that all
/// of ZooKeeper's clients give.
class digest_md5 final : public mechanism {
public:
    /// By what an answer is made, besides the challenge. The tests set it to that of the RFC's example.
    struct particulars {
        std::string uri = "zookeeper/zk-sasl-md5";
        std::string client_nonce{}; ///< empty: by chance
    };

    /// User and password are UTF-8.
    digest_md5(std::string user, std::string_view password, particulars);

    [[nodiscard]] const std::string& first() const noexcept override { return first_; }
    [[nodiscard]] sasl_step step(std::string_view challenge) override;
    [[nodiscard]] sasl_step refused() override;

    /// Empty if this machine's OpenSSL has MD5; else why not, in words.
    [[nodiscard]] static std::string missing();

private:
    [[nodiscard]] sasl_step answer(std::string_view challenge);

    const std::string first_;
    const std::string user_;
    secret password_;
    const particulars particulars_;
    std::string expected_; ///< what the server's last answer has to be
    bool answered_ = false;
};

} // namespace zklock::bridge
