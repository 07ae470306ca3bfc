#pragma once
#include "support/kerberos_realm.hpp"
#include "support/zookeeper_server.hpp"

#include <map>

namespace zklock::test {

/// What makes servers identify their clients by SASL. It has to live as long as they may be started.
class sasl_servers {
public:
    /// By DIGEST-MD5: the users' passwords, in UTF-8, without quotation marks.
    explicit sasl_servers(const std::map<std::string, std::string>& users);
    /// By Kerberos, as that principal, with its present key.
    explicit sasl_servers(kerberos_realm&, const std::string& principal = "zookeeper/localhost");

    /// Changes the options of a server, or of all of an ensemble.
    void add_to(server_options&) const;
    [[nodiscard]] server_options options() const
    {
        server_options made;
        add_to(made);
        return made;
    }

    /// Writes the users anew, or the principal's present key, for servers that are started from then on.
    void set_users(const std::map<std::string, std::string>& users) const;
    void set_key(kerberos_realm&, const std::string& principal) const;

private:
    [[nodiscard]] std::string file() const { return (directory_.path() / "jaas").string(); }

    temporary_directory directory_;
    std::string kerberos_configuration_; ///< empty: DIGEST-MD5
};

/// Nobody may do anything that has not identified itself by SASL.
void enforce_sasl(server_options&);

} // namespace zklock::test
