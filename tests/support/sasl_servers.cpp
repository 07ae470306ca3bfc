#include "support/sasl_servers.hpp"

#include <fstream>

namespace zklock::test {

sasl_servers::sasl_servers(const std::map<std::string, std::string>& users)
{
    set_users(users);
}

sasl_servers::sasl_servers(kerberos_realm& realm, const std::string& principal)
    : kerberos_configuration_(realm.configuration())
{
    set_key(realm, principal);
}

void sasl_servers::set_key(kerberos_realm& realm, const std::string& principal) const
{
    std::ofstream{file()} << "Server {\n"
                             "  com.sun.security.auth.module.Krb5LoginModule required\n"
                             "  useKeyTab=true storeKey=true useTicketCache=false isInitiator=false\n"
                             "  principal=\""
                          << principal << "@ZK.TEST\" keyTab=\"" << realm.keytab(principal) << "\";\n};\n";
}

void sasl_servers::set_users(const std::map<std::string, std::string>& users) const
{
    std::ofstream text{file()};
    text << "Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required";
    for (const auto& [name, password] : users)
        text << "\n  \"user_" << name << "\"=\"" << password << '"';
    text << ";\n};\n";
}

void sasl_servers::add_to(server_options& options) const
{
    options.config.push_back("authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider");
    options.java.push_back("-Djava.security.auth.login.config=" + file());
    options.java.push_back("-Dfile.encoding=UTF-8"); // in which that file is
    if (!kerberos_configuration_.empty())
        options.java.push_back("-Djava.security.krb5.conf=" + kerberos_configuration_);
}

void enforce_sasl(server_options& options)
{
    options.config.insert(options.config.end(), {"enforce.auth.enabled=true", "enforce.auth.schemes=sasl"});
}

} // namespace zklock::test
