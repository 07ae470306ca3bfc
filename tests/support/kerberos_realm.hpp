#pragma once
#include "support/child_process.hpp"
#include "support/port_lease.hpp"
#include "support/temporary_directory.hpp"

namespace zklock::test {

/// A Kerberos realm of the test's own, ZK.TEST, with a real KDC on a port of its own. As long as it lives, this process
/// and those that it starts know no other one, and no ticket but those that are made here. Make it on the test's main
/// thread, before there are others: it changes the environment.
class kerberos_realm {
public:
    /// Whether the machine has what it takes; it is packages_kerberos of .ci/packages.sh. Where the environment has
    /// ZKLOCK_TESTS_WITHOUT_KDC, it is taken for one that has not.
    [[nodiscard]] static bool installed();

    kerberos_realm();
    ~kerberos_realm() = default;
    kerberos_realm(const kerberos_realm&) = delete;
    kerberos_realm& operator=(const kerberos_realm&) = delete;

    /// krb5.conf
    [[nodiscard]] std::string configuration() const { return (directory_.path() / "krb5.conf").string(); }
    [[nodiscard]] std::uint16_t port() const { return port_.port(); }

    /// Makes a principal such as `zookeeper/localhost`, if there is none, and gives a file with its present key.
    std::string keytab(const std::string& principal);
    /// Gives a principal a new key: earlier keytabs do not fit any more.
    void change_key(const std::string& principal) { administrate("cpw -randkey " + principal); }
    void remove(const std::string& principal) { administrate("delprinc -force " + principal); }
    /// A cache with a ticket of a principal with a keytab, as `kinit` makes it. It is valid for so long.
    std::string tickets(const std::string& principal, const std::string& lifetime = "1h");
    /// Whether the ticket in a cache still counts, as `klist` finds.
    [[nodiscard]] bool is_valid(const std::string& cache);
    /// The cache that is the default here: it is not there, as long as nobody makes it.
    [[nodiscard]] std::string default_cache() const { return (directory_.path() / "cache").string(); }

    void stop() { kdc_.kill(); }   ///< its port is closed
    void start();                  ///< after stop()
    void pause() { kdc_.pause(); } ///< it takes connections, and does not answer
    void resume() { kdc_.resume(); }

private:
    void administrate(const std::string& query);
    void run(std::vector<std::string> command);
    [[nodiscard]] std::filesystem::path file(const std::string& kind);

    temporary_directory directory_;
    port_lease port_;
    child_process kdc_;
    unsigned files_ = 0;
};

} // namespace zklock::test
