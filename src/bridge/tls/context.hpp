#pragma once
#include "bridge/tls/files.hpp"
#include "zklock/client_options.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

struct ssl_ctx_st; // OpenSSL's SSL_CTX

namespace zklock::bridge {

/// What all TLS connections of a client share: the authorities, the certificate and the key that `tls_options` name, or
/// the user's own context. It never changes once it is made: what changes on disk becomes another one. So any thread
/// may use it.
class tls_context {
public:
    /// `made_of` are the files as they were read.
    tls_context(std::shared_ptr<ssl_ctx_st> context, bool trusts_the_systems, std::vector<tls_file> made_of) noexcept
        : native_(std::move(context)), trusts_the_systems_(trusts_the_systems), made_of_(std::move(made_of))
    {
    }
    /// Uses the user's own context, and leaves it as it is.
    explicit tls_context(const std::shared_ptr<boost::asio::ssl::context>& of_user);

    [[nodiscard]] ssl_ctx_st* native() const noexcept { return native_.get(); }
    [[nodiscard]] const std::vector<tls_file>& made_of() const noexcept { return made_of_; }
    /// It has the system's authorities, because `tls_options::ca_file` is empty.
    [[nodiscard]] bool trusts_the_systems() const noexcept { return trusts_the_systems_; }
    [[nodiscard]] bool is_of_user() const noexcept { return is_of_user_; }

private:
    const std::shared_ptr<ssl_ctx_st> native_;
    const bool is_of_user_ = false;
    const bool trusts_the_systems_ = false;
    const std::vector<tls_file> made_of_;
};

/// Whether the user's context accepts no server without a certificate that it trusts. A new context accepts them all.
[[nodiscard]] bool verifies_servers(boost::asio::ssl::context& of_user);

/// What load_tls() found.
struct tls_loaded {
    std::shared_ptr<const tls_context> context; ///< none if nothing can be used
    std::string why; ///< in words: why there is none, or why it is still the one from before; empty if all is well
};

/// Makes a context of the files that `options` name. find_fault() has found nothing in these, and they have no context
/// of the user's. `before` is what the same options gave the last time, or nothing. It is returned itself where no file
/// has changed, and then only the files' times and sizes are looked at. It is also returned itself where something is
/// wrong with what has changed: a certificate and a key that do not belong together (their renewal is half done), or a
/// file that cannot be read. Then `why` tells.
///
/// It blocks: it reads files and parses them (some 20 ms for the system's authorities), so it is not called on an
/// executor. Several threads may call it at a time. It throws std::bad_alloc only. It never asks anybody for a
/// password.
[[nodiscard]] tls_loaded load_tls(const tls_options& options, const std::shared_ptr<const tls_context>& before);

} // namespace zklock::bridge
