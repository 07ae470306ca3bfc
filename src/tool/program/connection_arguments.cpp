#include "tool/program/connection_arguments.hpp"
#include "tool/program/tls_files.hpp"

#include <zklock/client_options.hpp>

#include <fmt/format.h>

#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>

namespace zklock::tool {
namespace {

/// `digest:ann:secret` is the scheme digest and the credential ann:secret.
credentials credentials_of(const std::string& text)
{
    const auto colon = text.find(':');
    if (colon == std::string::npos || colon == 0) // what it is, is secret
        throw usage_error("--auth takes SCHEME:CREDENTIAL, such as digest:user:password");
    return {text.substr(0, colon), text.substr(colon + 1)};
}

/// Of what a user types or makes with an editor, the end of the line is no part.
std::string password_in(const std::string& file)
{
    std::ifstream in(file);
    std::string line;
    if (!in || (!std::getline(in, line) && !in.eof()))
        throw usage_error(fmt::format("--sasl-password-file {}: {}", file, ::strerror(errno)));
    return line;
}

/// Passwords are no arguments: all who can list processes would see them.
void add_sasl_arguments(CLI::App& app, connection_arguments& to)
{
    const std::string group = "Connection";
    const std::map<std::string, sasl_mechanism> names{{"gssapi", sasl_mechanism::gssapi},
                                                      {"digest-md5", sasl_mechanism::digest_md5}};
    auto* on = app.add_option_function<std::string>(
                      "--sasl", [&to, names](const std::string& name) { to.sasl.mechanism = names.at(name); },
                      "identify ourselves by SASL: gssapi (Kerberos), digest-md5")
                   ->check(CLI::IsMember({"gssapi", "digest-md5"}))
                   ->type_name("MECHANISM")
                   ->group(group);
    const auto with = [&](const char* name, std::string& option, const char* type, const char* what) {
        app.add_option(name, option, what)->type_name(type)->needs(on)->group(group);
    };
    with("--sasl-user", to.sasl.user, "NAME", "of digest-md5; the password is in ZKLOCK_SASL_PASSWORD");
    with("--sasl-password-file", to.sasl_password_file, "FILE", "or is the first line in there");
    with("--sasl-service", to.sasl.server_principal, "PRINCIPAL",
         "of gssapi: the servers'; else zookeeper/ and the name of the server that is tried");
    with("--sasl-keytab", to.sasl.keytab, "FILE", "of gssapi: our own key; else there have to be tickets (kinit)");
}

} // namespace

std::chrono::milliseconds seconds(double value)
{
    constexpr double longest = 1e9; // 31 years, and far from an overflow
    return std::chrono::milliseconds(std::llround(std::min(value, longest) * 1000));
}

CLI::Validator is_seconds()
{
    return CLI::Validator(
        [](std::string& text) -> std::string {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (text.empty() || *end != 0 || !(value >= 0) || std::isinf(value))
                return "it takes seconds, such as 5 or 0.5";
            return {};
        },
        "SECS");
}

void add_connection_arguments(CLI::App& app, connection_arguments& to)
{
    const std::string group = "Connection";
    app.add_option("--servers", to.servers, "ZooKeeper's HOST:PORT[,HOST:PORT...][/CHROOT]")
        ->envname("ZKLOCK_SERVERS")
        ->type_name("LIST")
        ->capture_default_str()
        ->group(group);
    const auto duration = [&](const char* name, auto& option, const char* what) {
        return app.add_option(name, option, what)->check(is_seconds())->type_name("SECS")->group(group);
    };
    duration("--session-timeout", to.session_timeout,
             "what is asked of the servers: how long a dead holder keeps others out");
    duration("--server-tick", to.server_tick, "the servers' tickTime, or more")->capture_default_str();
    duration("--connect-timeout", to.connect_timeout,
             "how long to wait for the first connection and answer; 0: for ever")
        ->capture_default_str();
    app.add_option("--auth", to.auth, "an identity to show, such as digest:user:password; better in ZKLOCK_AUTH")
        ->envname("ZKLOCK_AUTH")
        ->type_name("SCHEME:CREDENTIAL")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option("--acl", to.acl, "who may use the nodes that are made: open, creator, creator-or-read")
        ->check(CLI::IsMember({"open", "creator", "creator-or-read"}))
        ->type_name("WHO")
        ->capture_default_str()
        ->group(group);
    app.add_option("--name", to.name, "who we are, for those who look at the queue; else HOST:PID")
        ->type_name("ID")
        ->group(group);
    auto* on = app.add_flag("--tls", to.tls.enabled, "connect to the servers' ports for TLS")->group(group);
    const auto file = [&](const char* name, std::string& option, const char* what) {
        return app.add_option(name, option, what)->type_name("FILE")->needs(on)->group(group);
    };
    file("--tls-ca", to.tls.ca_file,
         "the authorities that may have signed the servers' certificates; else the system's");
    auto* own = file("--tls-cert", to.tls.certificate_file, "a certificate of our own, if the servers want to see one");
    file("--tls-key", to.tls.key_file,
         "its key, if that is another file; what it is encrypted with is in ZKLOCK_TLS_KEY_PASSWORD")
        ->needs(own);
    add_sasl_arguments(app, to);
    app.add_flag("--json", to.json, "write JSON, one object a line");
}

client_options options_of(const connection_arguments& given)
{
    client_options options;
    options.servers = given.servers;
    if (given.session_timeout)
        options.session_timeout = seconds(*given.session_timeout);
    options.server_tick = seconds(given.server_tick);
    for (const std::string& each : given.auth)
        options.auth.push_back(credentials_of(each));
    options.access = given.acl == "creator"           ? acl::creator_all
                     : given.acl == "creator-or-read" ? acl::creator_all_or_read
                                                      : acl::open;
    options.identifier = given.name;
    options.tls = given.tls;
    if (const char* const password = std::getenv("ZKLOCK_TLS_KEY_PASSWORD"); password && given.tls.enabled)
        options.tls.key_password = password;
    options.sasl = given.sasl;
    if (!given.sasl_password_file.empty())
        options.sasl.password = password_in(given.sasl_password_file);
    else if (const char* const password = std::getenv("ZKLOCK_SASL_PASSWORD");
             password && given.sasl.mechanism == sasl_mechanism::digest_md5)
        options.sasl.password = password;
    return options;
}

std::string in_options(const std::string& text)
{
    // Those that a word of a sentence could be, such as `servers`, are the library's only in front of "is".
    static const std::pair<std::regex, const char*> words[]{
        {std::regex("\\bsession_timeout\\b"), "--session-timeout"},
        {std::regex("\\bserver_tick\\b"), "--server-tick"},
        {std::regex("\\bloss_notice\\b"), "--kill-after with its reserve"},
        {std::regex("\\blease_margin\\b"), "the lease's margin"},
        {std::regex("\\bclock_drift\\b"), "the clocks' drift"},
        {std::regex("\\btls\\.enabled is (true|false)\\b"), "--tls is $1"},
        {std::regex("\\btls\\.ca_file\\b"), "--tls-ca"},
        {std::regex("\\btls\\.certificate_file\\b"), "--tls-cert"},
        {std::regex("\\btls\\.key_file\\b"), "--tls-key"},
        {std::regex("\\btls\\.key_password\\b"), "ZKLOCK_TLS_KEY_PASSWORD"},
        {std::regex("\\bsasl\\.mechanism\\b"), "--sasl"},
        {std::regex("\\bdigest_md5\\b"), "digest-md5"},
        {std::regex("\\bsasl\\.user\\b"), "--sasl-user"},
        {std::regex("\\bsasl\\.password\\b"), "the password (ZKLOCK_SASL_PASSWORD, --sasl-password-file)"},
        {std::regex("\\bsasl\\.server_principal\\b"), "--sasl-service"},
        {std::regex("\\bsasl\\.keytab\\b"), "--sasl-keytab"},
        {std::regex("\\bhandoff\\.listen\\b"), "--handoff"},
        {std::regex("\\bhandoff\\.advertise\\b"), "--handoff-advertise"},
        {std::regex("\\bhandoff\\.peers\\b"), "--handoff-peers"},
        {std::regex("\\bclient_options::tls is off\\b"), "--tls is not given"},
        {std::regex("\\bclient_options::auth\\b"), "--auth"},
        {std::regex("\\bclient_options::access\\b"), "--acl"},
        {std::regex("^servers is "), "--servers is "},
        {std::regex("^auth is "), "--auth is "},
        {std::regex("^access is "), "--acl is "},
        {std::regex("\\bacl::creator_all\\b"), "creator"},
        {std::regex("\\bacl::creator_all_or_read\\b"), "creator-or-read"},
        {std::regex("\\bwithout auth where client_options has neither auth nor sasl nor "),
         "open where there is neither --auth nor --sasl nor "},
        {std::regex("^identifier is "), "--name is "}};
    std::string made = text;
    for (const auto& [word, option] : words)
        made = std::regex_replace(made, word, option);
    static const std::regex milliseconds("\\b(\\d{1,15}) ms\\b");
    std::string in_seconds;
    auto rest = made.cbegin();
    for (std::smatch at; std::regex_search(rest, made.cend(), at, milliseconds); rest = at[0].second) {
        in_seconds.append(rest, at[0].first);
        in_seconds += fmt::format("{} s", static_cast<double>(std::stoll(at[1].str())) / 1000);
    }
    return in_seconds.append(rest, made.cend());
}

void check(const client_options& options)
{
    if (const auto fault = find_fault(options))
        throw usage_error(in_options(to_string(*fault)));
#ifdef ZKLOCK_TOOL_TLS
    check_tls_files(options.tls);
#endif
    // A client would wait for it, as for that of a renewal.
    const std::string& keytab = options.sasl.keytab;
    if (!keytab.empty() && ::access(keytab.c_str(), R_OK) != 0)
        throw usage_error(fmt::format("--sasl-keytab {}: {}", keytab, ::strerror(errno)));
}

void check_path(const std::string& path)
{
    if (const auto fault = find_path_fault(path))
        throw usage_error("the path " + path + ": " + std::string(*fault));
}

} // namespace zklock::tool
