#pragma once
// How the demonstration's programs are told to encrypt what they say to ZooKeeper, and as whom they say it.
#include <zklock/client_options.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>

namespace demo {

/// Adds --tls and what goes with it. `tls` has to live until the arguments are parsed.
inline void add_tls_arguments(CLI::App& app, zklock::tls_options& tls)
{
    auto* on = app.add_flag("--tls", tls.enabled, "connect to the servers' ports for TLS");
    const auto file = [&](const char* name, std::string& option, const char* what) {
        return app.add_option(name, option, what)->type_name("FILE")->needs(on);
    };
    file("--tls-ca", tls.ca_file, "the authorities that may have signed the servers' certificates; else the system's");
    auto* own = file("--tls-certificate", tls.certificate_file, "for servers that want one of their clients");
    file("--tls-key", tls.key_file, "its key, if that is another file")->needs(own);
}

/// Adds --sasl-user. The password is not for all who can list processes.
inline void add_sasl_arguments(CLI::App& app, zklock::sasl_options& sasl)
{
    app.add_option_function<std::string>(
           "--sasl-user",
           [&sasl](const std::string& name) {
               sasl.mechanism = zklock::sasl_mechanism::digest_md5;
               sasl.user = name;
               if (const char* const password = std::getenv("ZKLOCK_SASL_PASSWORD"))
                   sasl.password = password;
           },
           "who we are, by DIGEST-MD5; the password is in ZKLOCK_SASL_PASSWORD")
        ->type_name("NAME");
}

} // namespace demo
