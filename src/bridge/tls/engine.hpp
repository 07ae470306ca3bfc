#pragma once
#include "bridge/tls/context.hpp"

#include <cstddef>
#include <cstdint>
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

    friend bool operator==(const server_name&, const server_name&) = default;
};

/// The client's end of one TLS connection, without a socket: its owner, who has the socket, gives it what comes from
/// there by put(), and sends what is pending(). Each call that is not const may make something pending, read() too.
///
/// Not thread-safe: all calls come one after the other, each from any thread. No call blocks, throws or writes to a
/// descriptor; where memory fails, the connection has failed. OpenSSL's queue of errors (which each thread has one of,
/// and other code of the process uses as well) is empty after each call that speaks TLS; put() and sent() do not look
/// at it.
class tls_engine {
public:
    enum class state : std::uint8_t {
        handshaking,
        open,
        ended, ///< the server says that nothing more will come (close_notify): nothing can be read or written
        failed ///< failure() tells why; what is pending() is the alert that tells the server
    };

    /// If `name` is none that a certificate could be for, such as an address with a scope id, or if the user's context
    /// verifies nobody, the engine has failed from the beginning. Throws std::bad_alloc only.
    tls_engine(std::shared_ptr<const tls_context> context, const server_name& name);
    ~tls_engine();
    tls_engine(const tls_engine&) = delete;
    tls_engine& operator=(const tls_engine&) = delete;

    [[nodiscard]] state now_in() const noexcept { return state_; }

    /// Goes on with the handshake, as far as what was put() allows. The first call makes what begins it pending. It
    /// does nothing in other states.
    state advance() noexcept;

    /// Takes what came from the server. Nothing is decrypted yet: advance() or read() does that.
    void put(std::span<const char> ciphertext) noexcept;
    /// No more will come from the server: it has hung up (`why` is empty), or the socket says why in words. What was
    /// put() before should be read() before. Then the engine is `failed`, or still `ended`.
    void no_more(std::string_view why) noexcept;

    /// What is to be sent to the server now. It is valid until the next call that is not const.
    [[nodiscard]] std::span<const char> pending() const noexcept { return pending_; }
    /// The owner has sent so many bytes from the beginning of pending().
    void sent(std::size_t) noexcept;

    /// Encrypts all of it into what is pending(), in records of up to 16 KiB. Unless the engine is open, it does
    /// nothing, and returns false.
    bool write(std::span<const char> plain) noexcept;
    /// Decrypts what was put(), until `plain` is full or no whole record is left, and returns how many bytes it wrote
    /// there. If that is less than there is room for, now_in() tells whether more may come.
    std::size_t read(std::span<char> plain) noexcept;

    /// Tells the server that nothing more will come (close_notify, which becomes pending), if the engine is open.
    void shut_down() noexcept;

    /// Why it has failed, in one line with OpenSSL's own reason: `certificate verify failed: hostname mismatch`, …
    /// It is empty as long as nothing has failed, and if there was no memory for it.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Whether read() has returned something. Until then a failure is one of TLS, since with TLS 1.3 a server refuses a
    /// client's certificate only after the client's handshake; from then on it is the loss of a connection.
    [[nodiscard]] bool heard() const noexcept { return heard_; }

private:
    struct freed {
        void operator()(ssl_st*) const noexcept;
    };

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
    std::unique_ptr<ssl_st, freed> ssl_;
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
