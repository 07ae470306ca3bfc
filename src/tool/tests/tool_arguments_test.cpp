// Options and the variables of the environment that have their defaults, for each subcommand.
#include "tool/tests/tool_scene.hpp"

#include "support/proxy.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

using namespace zklock::test;

namespace {

/// An option that has a variable. No server is there, so what can be used ends with 122, and what cannot with 120.
struct option_with_variable {
    std::string option, variable, good, bad;
    bool needs_handoff = false; ///< the option is heeded beside --handoff only
};

const std::vector<option_with_variable> of_all{{"--servers", "ZKLOCK_SERVERS", "127.0.0.1:1", "127.0.0.1:1,,"},
                                               {"--auth", "ZKLOCK_AUTH", "digest:ann:secret", "nonsense"}};
const std::vector<option_with_variable> of_run{
    {"--handoff", "ZKLOCK_HANDOFF", "127.0.0.1:0", "nonsense"},
    {"--handoff-advertise", "ZKLOCK_HANDOFF_ADVERTISE", "127.0.0.2:9", "::::", true},
    {"--handoff-peers", "ZKLOCK_HANDOFF_PEERS", "10.0.0.0/8", "nonsense", true}};

const int usable = 122;
const int unusable = 120;

struct subcommand {
    std::string name, behind_the_options;
    bool hands_over = false;
};
const std::vector<subcommand> subcommands{
    {"run", "/x true", true}, {"lead", "/x true", true}, {"ls", "/x"},    {"top", "/x"},
    {"revoke", "/x"},         {"break", "--yes /x 1"},   {"doctor", "/x"}};

ended_tool run_with(tool_scene& scene, const subcommand& sub, const option_with_variable& each,
                    const std::string& variable, const std::string& option)
{
    std::string line = "ZKLOCK_SERVERS=127.0.0.1:1 " + each.variable + "='" + variable + "' " + tool_scene::program() +
                       ' ' + sub.name + " --connect-timeout 0.1";
    if (each.needs_handoff)
        line += " --handoff 127.0.0.1:0";
    if (!option.empty())
        line += ' ' + each.option + " '" + option + '\'';
    return scene.run_command({"sh", "-c", line + ' ' + sub.behind_the_options});
}

void check_option(tool_scene& scene, const subcommand& sub, const option_with_variable& each)
{
    const auto check = [&](const std::string& variable, const std::string& option, int status) {
        const ended_tool ended = run_with(scene, sub, each, variable, option);
        INFO(sub.name, ' ', each.option, " '", option, "' and ", each.variable, " '", variable, "': ", ended.text);
        CHECK(ended.status == status);
    };
    check(each.bad, each.good, usable);
    check(each.good, each.bad, unusable);
    check(each.good, "", usable);
    check(each.bad, "", unusable);
}

} // namespace

TEST_CASE("an option that is given counts, and else its variable, for each subcommand")
{
    tool_scene scene;
    for (const subcommand& sub : subcommands) {
        for (const option_with_variable& each : of_all)
            check_option(scene, sub, each);
        if (sub.hands_over)
            for (const option_with_variable& each : of_run)
                check_option(scene, sub, each);
    }
}

TEST_CASE("the variables that a subcommand's help tells of are those that are compared above")
{
    tool_scene scene;
    for (const subcommand& sub : subcommands) {
        std::set<std::string> known{"ZKLOCK_TLS_KEY_PASSWORD", "ZKLOCK_SASL_PASSWORD"}; // which have no option
        for (const option_with_variable& each : of_all)
            known.insert(each.variable);
        if (sub.hands_over)
            for (const option_with_variable& each : of_run)
                known.insert(each.variable);
        const std::string help = scene.run_command({tool_scene::program(), sub.name, "--help"}).text;
        std::set<std::string> told;
        const std::regex variable("ZKLOCK_[A-Z_]+");
        for (std::sregex_iterator at(help.begin(), help.end(), variable), end; at != end; ++at)
            told.insert(at->str());
        CAPTURE(sub.name);
        CHECK(told == known);
    }
}

TEST_CASE("what cannot be used is told at once, in words of the tool: its options, and seconds")
{
    tool_scene scene;
    const auto refused = [&](const std::string& words, const std::string& why) {
        const auto began = steady_clock::now();
        const ended_tool ended = scene.run_command({"sh", "-c", tool_scene::program() + ' ' + words});
        INFO(words, ": ", ended.text);
        CHECK(ended.status == 120);
        CHECK(steady_clock::now() - began < std::chrono::seconds(8)); // the limit for a connection is 10 s
        for (const char* const foreign : {" ms", "session_timeout", "loss_notice", "server_tick", "tls.", "sasl.",
                                          "handoff.", "lease_margin", "clock_drift", "client_options", "acl::"})
            CHECK_MESSAGE(ended.text.find(foreign) == std::string::npos, foreign);
        CHECK(ended.text.find(why) != std::string::npos);
    };
    refused("run --session-timeout 0 /x -- true", "--session-timeout is 0 s, and has to be 0.1 s to");
    refused("ls --session-timeout 0.01 /x", "--session-timeout is 0.01 s");
    refused("run --kill-after 1e9 /x -- true", "--kill-after is 1000000000 s, and has to be ");
    refused("run --kill-after 7 --session-timeout 8 /x -- true", "--session-timeout (8 s)");
    refused("run --kill-after 100 /x -- true",
            "--kill-after with its reserve 100.25 s"); // as the servers' answer shows
    refused("ls \"$(printf '/x\\033[2J\\302\\233\\377')\"", "the path /x?[2J??: ");
    refused("ls --server-tick 0 /x", "--server-tick is 0 s");
    refused("ls --\"$(printf 'no\\033[2J\\302\\233\\377')\" /x", "--no?[2J??");
    refused("nonsense /x", "unknown command nonsense");
    refused("run --handoff nonsense /x -- true", "--handoff is \"nonsense\"");
    refused("ls --servers a,,b /x", "--servers is \"a,,b\"");
    refused("ls --sasl-user ann /x", "--sasl-user requires --sasl");
    ::setenv("ZKLOCK_LOG", "nonsense", 1);
    for (const subcommand& sub : subcommands)
        refused(sub.name + ' ' + sub.behind_the_options,
                "ZKLOCK_LOG is \"nonsense\", and has to be error, warning, info or debug");
    ::unsetenv("ZKLOCK_LOG");
#ifdef ZKLOCK_WITH_SASL
    refused("ls --sasl digest-md5 /x", "--sasl-user is empty, and has to be set where --sasl is digest-md5");
    refused("ls --sasl digest-md5 --sasl-user ann /x", "the password (ZKLOCK_SASL_PASSWORD, --sasl-password-file) is");
    refused("ls --sasl digest-md5 --sasl-user ann --sasl-password-file /no/such/file /x",
            "--sasl-password-file /no/such/file: No such file");
    refused("ls --sasl gssapi --sasl-user ann /x", "--sasl-user is \"ann\", and has to be empty");
    refused("ls --sasl gssapi --sasl-password-file /proc/version /x",
            "the password (ZKLOCK_SASL_PASSWORD, --sasl-password-file) is ");
    refused("ls --sasl gssapi --sasl-keytab /no/such/file /x", "--sasl-keytab /no/such/file: No such file");
#endif
    refused("ls --acl creator /x",
            "--acl is creator, and has to be open where there is neither --auth nor --sasl nor --tls-cert");
}

TEST_CASE("what the client says of its options while it connects is told with those of the tool")
{
    tool_scene scene;
    proxy nobody_behind(1); // it takes each connection, and closes it
    const ended_tool in_clear =
        scene.run({"ls", "--servers", nobody_behind.address(), "--connect-timeout", "1", "/arguments/x"});
    CHECK(in_clear.status == 122);
    CHECK_MESSAGE(in_clear.text.find("or is a port for TLS: --tls is not given") != std::string::npos, in_clear.text);
}
