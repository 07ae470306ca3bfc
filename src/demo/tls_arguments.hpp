#pragma once
// How the demonstration's programs are told to encrypt what they say to ZooKeeper.
#include <zklock/client_options.hpp>

#include <CLI/CLI.hpp>

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

} // namespace demo
