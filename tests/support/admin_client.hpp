#pragma once
#include "support/tcp_socket.hpp"
#include "support/wire.hpp"

#include <optional>

namespace zklock::test {

/// The server's answer to a request that failed, with ZooKeeper's number for it (-101: no such node, -112: expired).
class zookeeper_error : public std::runtime_error {
public:
    zookeeper_error(std::int32_t code, const std::string& what)
        : std::runtime_error(what + ": ZooKeeper error " + std::to_string(code)), code_(code)
    {
    }
    [[nodiscard]] std::int32_t code() const noexcept { return code_; }

private:
    std::int32_t code_;
};

/// What one needs to take over a session.
struct session_credentials {
    std::int64_t id = 0;
    std::string password;
};

struct stat {
    std::int64_t czxid = 0, mzxid = 0, ctime = 0, mtime = 0;
    std::int32_t version = 0, cversion = 0, aversion = 0;
    std::int64_t ephemeral_owner = 0;
    std::int32_t data_length = 0, num_children = 0;
    std::int64_t pzxid = 0;
};

enum class create_mode : std::int32_t {
    persistent = 0,
    ephemeral = 1,
    persistent_sequential = 2,
    ephemeral_sequential = 3,
    container = 4
};

struct access_rule {
    std::int32_t permissions = 31; ///< read 1, write 2, create 4, delete 8, admin 16
    std::string scheme = "world";
    std::string id = "anyone";
};

/// A second, independent client for tests: an administrator, or a foreign program that shares the path. It shares no
/// code with the library under test, blocks, and belongs to one thread.
///
/// Its session ends with it. Between calls nothing keeps the session alive; a call that comes too late for it gets a
/// new one, so call keep_alive() where its ephemeral nodes must live on.
class admin_client {
public:
    /// With credentials it takes over that session instead of opening one; throws when it has expired.
    explicit admin_client(std::uint16_t port, milliseconds session_timeout = milliseconds{60'000},
                          session_credentials session = session_credentials());
    ~admin_client();
    admin_client(const admin_client&) = delete;
    admin_client& operator=(const admin_client&) = delete;

    /// Returns the path that was made, with the number if the mode is sequential.
    std::string create(std::string_view path, std::string_view data = {}, create_mode mode = create_mode::persistent,
                       const std::vector<access_rule>& rules = {access_rule()});
    /// The node and its parents, where missing.
    void create_all(const std::string& path);
    /// False when there was none.
    bool remove(std::string_view path, std::int32_t version = -1);
    /// The node with all below it.
    void remove_all(const std::string& path);
    [[nodiscard]] std::optional<stat> exists(std::string_view path);
    [[nodiscard]] std::string get(std::string_view path);
    void set(std::string_view path, std::string_view data, std::int32_t version = -1);
    void set_access(std::string_view path, const std::vector<access_rule>& rules);
    /// Names relative to the path, sorted; empty when there is no such node.
    [[nodiscard]] std::vector<std::string> children(std::string_view path);
    /// The server catches up with the leader.
    void sync(std::string_view path);
    void authenticate(std::string_view scheme, std::string_view secret);
    void keep_alive();

    [[nodiscard]] const session_credentials& session() const noexcept { return session_; }
    /// Ends the session. Later calls open a new one.
    void close();
    /// Drops the connection and leaves the session to its time-out, as a crash does.
    void abandon() noexcept { socket_.close(); }

private:
    void connect();
    void ready();
    std::string call(opcode op, wire_writer body, std::string_view what, std::int32_t xid = 0);

    std::uint16_t port_;
    milliseconds timeout_;
    session_credentials session_;
    tcp_socket socket_;
    std::int32_t last_xid_ = 0;
    steady_clock::time_point last_answer_;
    std::vector<std::pair<std::string, std::string>> identities_;
};

/// Ends the session of another client, at once and for good, by taking it over.
void close_session(std::uint16_t port, const session_credentials& session);

} // namespace zklock::test
