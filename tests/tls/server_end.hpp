#pragma once
#include "bridge/tls/engine.hpp"
#include "support/authority.hpp"

namespace zklock::test {

/// What a server is and what it wants.
struct server_settings {
    identity own;
    int version = TLS1_3_VERSION;
    std::string client_authority; ///< as PEM; empty: it wants no certificate
    bool client_needed = true;    ///< and refuses a client without
    std::string ciphers;          ///< as OpenSSL names them; empty: the usual ones
};

/// A server's end of a TLS connection, in memory.
class server_end {
public:
    explicit server_end(const server_settings&);

    void put(std::string_view ciphertext);
    /// What is to be sent to the client; it is not there any more.
    [[nodiscard]] std::string take();
    /// Goes on with the handshake, and reads what there is.
    void work();
    void write(std::string_view plain);
    void update_keys(bool the_clients_too);
    void shut_down() { SSL_shutdown(ssl_.get()); }

    [[nodiscard]] bool open() const { return open_; }
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }
    [[nodiscard]] bool client_has_ended() const { return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }
    [[nodiscard]] std::string name_wanted() const; ///< SNI; empty: none
    [[nodiscard]] std::string client_name() const; ///< the subject of its certificate; empty: it has none
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    [[nodiscard]] int version() const { return SSL_version(ssl_.get()); }

private:
    bridge::owned_context context_;
    std::unique_ptr<SSL, bridge::freed_by<&SSL_free>> ssl_;
    bool open_ = false;
    std::string heard_, failure_;
};

/// Carries all that one of the two has to say to the other, until neither has anything more. What the client reads
/// meanwhile is appended to `heard`, if there is one.
void exchange(bridge::tls_engine& client, server_end& server, std::string* heard = nullptr);

} // namespace zklock::test
