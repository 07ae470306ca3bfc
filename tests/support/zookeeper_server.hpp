#pragma once
#include "support/child_process.hpp"
#include "support/port_lease.hpp"
#include "support/temporary_directory.hpp"

namespace zklock::test {

/// Of the servers, unless a test says otherwise: what clients with short sessions state as client_options::server_tick.
inline constexpr milliseconds usual_tick{500};

/// A port for TLS beside the plain one. Both are served by Netty then.
struct secure_port_options {
    /// With a certificate of usual_authority()'s, whom it trusts, too.
    secure_port_options();

    std::string key_store;            ///< PEM: the server's key and certificate
    std::string trust_store;          ///< PEM: whose certificates it takes from clients
    std::string client_auth = "none"; ///< or "want", or "need": whether it asks for them
    bool tls_1_3 = false;             ///< beside 1.2, which servers of 3.8 are content with by default
};

struct server_options {
    server_options() = default; // no aggregate: see src/README.md on gcc 12

    milliseconds tick_time = usual_tick;
    milliseconds min_session_timeout{500};
    milliseconds max_session_timeout{120'000};
    milliseconds container_check_interval{60'000};
    std::vector<std::string> config; ///< more lines of zoo.cfg
    std::vector<std::string> java;   ///< more arguments of the virtual machine
    std::string heap = "256m";
    std::string parent;                        ///< the folder that its directory is made in; empty: in memory
    std::optional<secure_port_options> secure; ///< without it there is no such port
};

/// A real ZooKeeper server with a directory and ports of its own. Make it on the test's main thread: it dies with the
/// thread that started it. If the test case fails, the end of its log is printed.
class zookeeper_server {
public:
    /// Starts a standalone server and returns when it serves.
    explicit zookeeper_server(server_options options = server_options());
    ~zookeeper_server();
    zookeeper_server(const zookeeper_server&) = delete;
    zookeeper_server& operator=(const zookeeper_server&) = delete;

    [[nodiscard]] std::uint16_t port() const { return client_port_->port(); }
    /// 127.0.0.1:port, as client_options::servers wants it.
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
    /// For TLS. Only with server_options::secure.
    [[nodiscard]] std::uint16_t secure_port() const { return secure_port_.value().port(); }
    [[nodiscard]] std::string secure_address(const std::string& host = "127.0.0.1") const
    {
        return host + ':' + std::to_string(secure_port());
    }
    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    [[nodiscard]] bool running() { return process_.running(); }

    void kill() { process_.kill(); } ///< SIGKILL; its data stay
    /// While it does not run: its data are lost.
    void wipe() { std::filesystem::remove_all(directory_.path() / "data" / "version-2"); }
    void back_up() { copy_data("data", "backup"); } ///< its data are copied as they are, whether it runs or not
    void restore() { copy_data("backup", "data"); } ///< while it does not run: to its data of back_up()
    /// SIGSTOP: its connections stay open and nothing answers. Waits until it has stopped.
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }
    [[nodiscard]] bool paused() const { return process_.paused(); }
    [[nodiscard]] server_options& options() { return options_; } ///< for the next start(); of `java` and `heap` alone
    void start();                                                ///< after kill(): same port, same data. Does not wait.
    void restart();                                              ///< kill(), start(), wait_serving()
    void wait_serving(milliseconds limit = default_limit);

    /// Its log, of all its starts.
    [[nodiscard]] std::filesystem::path log() const { return directory_.path() / "log"; }
    /// Its snapshots and transaction logs.
    [[nodiscard]] std::filesystem::path data() const { return directory_.path() / "data" / "version-2"; }

private:
    friend class zookeeper_ensemble;
    struct member {
        int id = 0;
        std::vector<std::string> lines; ///< server.N=… of all members
    };
    zookeeper_server(server_options options, std::optional<port_lease> client_port, member self);

    void write_configuration();
    void copy_data(const char* from, const char* to) const;

    server_options options_;
    std::optional<port_lease> client_port_, secure_port_;
    member self_;
    temporary_directory directory_;
    child_process process_;
};

} // namespace zklock::test
