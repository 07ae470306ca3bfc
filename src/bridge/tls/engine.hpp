#pragma once
#include "bridge/tls/context.hpp"
#include "bridge/wire/engine.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct bio_st; // OpenSSL's BIO
struct ssl_st; // OpenSSL's SSL
struct x509_store_ctx_st;

namespace zklock::bridge {

/// Whom a server's certificate has to be for.
struct server_name {
    std::string host;     ///< a name (a dot at its end does not count), or an address without brackets
    bool numeric = false; ///< an address: the certificate has to list it as such, and the server is told no name (SNI)
};

/// The client's end of one TLS connection.
///
/// Where memory fails, the connection has failed. OpenSSL's queue of errors (which each thread has one of, and other
/// code of the process uses as well) is empty after each call that speaks TLS; put() and sent() do not look at it.
class tls_engine final : public engine {
public:
    /// If `name` is none that a certificate could be for, such as an address with a scope id, or if the user's context
    /// verifies nobody, the engine has failed from the beginning. Throws std::bad_alloc only.
    tls_engine(std::shared_ptr<const tls_context> context, const server_name& name);

    [[nodiscard]] state now_in() const noexcept override { return state_; }
    state advance() noexcept override;
    void put(std::span<const char> ciphertext) noexcept override;
    void no_more(std::string_view why) noexcept override;
    [[nodiscard]] std::span<const char> pending() const noexcept override { return pending_; }
    void sent(std::size_t) noexcept override;
    /// Encrypts it, in records of up to 16 KiB.
    bool write(std::span<const char> plain) noexcept override;
    std::size_t read(std::span<char> plain) noexcept override;
    /// By close_notify.
    void shut_down() noexcept override;
    /// With OpenSSL's own reason: `certificate verify failed: hostname mismatch`, …
    [[nodiscard]] const std::string& failure() const noexcept override { return failure_; }
    /// Until then a failure is one of TLS, since with TLS 1.3 a server refuses a client's certificate only after the
    /// client's handshake; from then on it is the loss of a connection.
    [[nodiscard]] bool heard() const noexcept override { return heard_; }

private:
    class call;

    void expect(const server_name&);
    [[nodiscard]] bool has_input() const noexcept;
    void look_for_output() noexcept;
    static int note_refusal(int preverified, x509_store_ctx_st*) noexcept;
    void follow(int result) noexcept; ///< what became of a call that did not do what it was to do
    template <class... Parts> void fail(const Parts&... parts) noexcept;
    template <class Say> void fail_by(Say) noexcept; ///< which says in failure_ why
    [[nodiscard]] std::string reason() const;

    const std::shared_ptr<const tls_context> context_;
    std::string expected_; ///< the server's name or address, as it is looked for in certificates
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_{nullptr, nullptr};
    bio_st* from_server_ = nullptr; ///< owned by ssl_, as is the other
    bio_st* to_server_ = nullptr;
    std::span<const char> pending_{}; ///< in to_server_
    state state_ = state::handshaking;
    bool heard_ = false;
    bool anything_came_ = false;
    bool speaks_tls_ = true;
    std::string refusal_; ///< why the server's certificate is not accepted
    std::string failure_;
};

} // namespace zklock::bridge
