#pragma once
#include "support/options_for.hpp"
#include "support/temporary_directory.hpp"
#include "tls/server_end.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too
using bridge::tls_engine;

/// An authority, and options that trust it.
struct tls_scene {
    const authority root{"root"};
    const temporary_directory folder;
    tls_options options;

    tls_scene()
    {
        options.enabled = true;
        options.ca_file = write("ca.pem", root.certificate());
    }

    [[nodiscard]] std::string path(const std::string& name) const { return folder.path() / name; }

    /// Writes a file, long ago as its time says, and returns its path.
    std::string write(const std::string& name, const std::string& text) const
    {
        const std::string at = path(name);
        std::ofstream(at, std::ios::trunc) << text;
        age(at);
        return at;
    }
    static void age(const std::string& at)
    {
        std::filesystem::last_write_time(at, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }

    /// Has the client show a certificate.
    void show(const identity& own)
    {
        options.certificate_file = write("client.pem", own.certificate);
        options.key_file = write("client.key", own.key);
    }

    [[nodiscard]] std::shared_ptr<const bridge::tls_context> load() const
    {
        auto loaded = bridge::load_tls(options, nullptr);
        INFO(loaded.why);
        REQUIRE(loaded.context);
        CHECK(loaded.why.empty());
        return std::move(loaded.context);
    }
    /// Why nothing can be loaded.
    [[nodiscard]] std::string refusal() const
    {
        const auto loaded = bridge::load_tls(options, nullptr);
        CHECK_FALSE(loaded.context);
        return loaded.why;
    }

    [[nodiscard]] server_settings server_of(const certificate_request& r, int version = TLS1_3_VERSION) const
    {
        server_settings s;
        s.own = root.issue(r);
        s.version = version;
        return s;
    }
    [[nodiscard]] server_settings server_named(const std::string& name, int version = TLS1_3_VERSION) const
    {
        return server_of(with(&certificate_request::names, {name}), version);
    }
    /// It wants a certificate of the client's, too.
    [[nodiscard]] server_settings asking_server(int version = TLS1_3_VERSION) const
    {
        server_settings s = server_named("DNS:zk1", version);
        s.client_authority = root.certificate();
        return s;
    }
};

inline std::string name_of(int version)
{
    return version == TLS1_3_VERSION ? "TLS 1.3" : "TLS 1.2";
}

/// So many bytes, in a pattern that begins again after 16 MB.
inline std::string patterned(std::size_t size)
{
    std::string text(size, '\0');
    for (std::size_t at = 0; at < size; ++at)
        text[at] = static_cast<char>(at * 7 + at / 251 + at / 64'256);
    return text;
}

/// What came of a client's handshake: `open`, or why it failed.
inline std::string outcome(const std::shared_ptr<const bridge::tls_context>& context, const server_settings& settings,
                           const bridge::server_name& name = {"zk1", false})
{
    tls_engine client(context, name);
    server_end server(settings);
    exchange(client, server);
    if (client.now_in() == tls_engine::state::open)
        return "open";
    CHECK(client.now_in() == tls_engine::state::failed);
    return client.failure();
}

} // namespace zklock::test
