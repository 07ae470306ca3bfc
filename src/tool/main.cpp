// zklock: locks in ZooKeeper from the command line. zklock.1 is the manual.
#include "tool/doctor/doctor.hpp"
#include "tool/program/client_log.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/program/run_program.hpp"
#include "tool/program/standard_error.hpp"
#include "tool/program/voice.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/run/run.hpp"
#include "tool/run/run_arguments.hpp"

#include <CLI/CLI.hpp>
#include <zklock/version.hpp>

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace zklock::tool {
namespace {

/// A command behind its subcommand's own arguments is none of ours: CLI11 leaves it alone from its first word on, and
/// what is behind a `--` is not shown to CLI11 at all.
class command_words {
public:
    explicit command_words(std::vector<std::string>& arguments)
    {
        if (arguments.empty() || (arguments.front() != "run" && arguments.front() != "lead"))
            return;
        const auto separator = std::ranges::find(arguments, "--");
        if (separator == arguments.end())
            return;
        separated_ = true;
        behind_.assign(separator + 1, arguments.end());
        arguments.erase(separator, arguments.end());
    }

    /// The whole command, given what CLI11 has left over.
    [[nodiscard]] std::vector<std::string> command(std::vector<std::string> left_over) const
    {
        if (!left_over.empty() && left_over.front().starts_with('-') && left_over.front() != "-")
            throw usage_error("unknown option " + left_over.front());
        if (separated_ && !left_over.empty())
            left_over.emplace_back("--"); // it is the command's own
        left_over.insert(left_over.end(), behind_.begin(), behind_.end());
        return left_over;
    }

private:
    bool separated_ = false;
    std::vector<std::string> behind_;
};

/// What is to be done, once the arguments are known.
using action = std::function<int()>;

void add_run(CLI::App& app, run_arguments& to, const command_words& words, action& chosen)
{
    auto* const run_app = app.add_subcommand("run", "run a command while a lock is held");
    run_app->prefix_command();
    add_run_arguments(*run_app, to);
    add_lock_arguments(*run_app, to);
    run_app->footer("Behind the options: PATH [--] [COMMAND [ARGUMENT...]]\n"
                    "Without a command it holds the lock until a signal comes, and prints node and token.");
    run_app->callback([&, run_app] {
        to.command = words.command(run_app->remaining());
        chosen = [plan = plan_of(to)] { return run(plan); };
    });
}

void add_lead(CLI::App& app, run_arguments& to, const command_words& words, action& chosen)
{
    auto* const lead_app =
        app.add_subcommand("lead", "run a command whenever the lock is held: one of many programs leads");
    lead_app->prefix_command();
    add_run_arguments(*lead_app, to);
    lead_app->footer("Behind the options: PATH [--] COMMAND [ARGUMENT...]");
    lead_app->callback([&, lead_app] {
        to.command = words.command(lead_app->remaining());
        if (to.command.empty())
            throw usage_error("lead needs a command");
        chosen = [plan = plan_of(to)] { return lead(plan); };
    });
}

/// Each subcommand has arguments of its own: those that are not chosen are given what the environment says.
void add_ls(CLI::App& app, list_arguments& to, action& chosen)
{
    auto* const ls_app = app.add_subcommand("ls", "show who holds a lock, and who waits");
    ls_app->add_option("PATH", to.paths, "locks")->required();
    ls_app->add_flag("-r,--recursive", to.below, "show all locks below, too, that somebody holds or waits for");
    ls_app->add_flag("--held", to.held, "show nothing: the exit status is 0 if each is held, and else 1");
    add_connection_arguments(*ls_app, to.connection);
    ls_app->callback([&] { chosen = [&] { return list(to); }; });
}

void add_top(CLI::App& app, list_arguments& to, action& chosen)
{
    auto* const top_app = app.add_subcommand("top", "the same, again at each change");
    top_app->add_option("PATH", to.paths, "locks")->required();
    add_connection_arguments(*top_app, to.connection);
    top_app->callback([&] { chosen = [&] { return watch(to.connection, to.paths); }; });
}

void add_revoke(CLI::App& app, break_arguments& to, action& chosen)
{
    auto* const revoke_app = app.add_subcommand("revoke", "ask those who hold a lock to let go");
    revoke_app->add_option("PATH", to.path, "the lock")->required();
    add_connection_arguments(*revoke_app, to.connection);
    revoke_app->callback([&] { chosen = [&] { return revoke(to.connection, to.path); }; });
}

void add_break(CLI::App& app, break_arguments& to, action& chosen)
{
    auto* const break_app = app.add_subcommand("break", "delete the node of a holder that is dead");
    break_app->add_option("PATH", to.path, "the lock")->required();
    break_app->add_option("NODE", to.node, "which one: its path, name, or number")->required();
    break_app->add_flag("-y,--yes", to.yes, "do not ask");
    add_connection_arguments(*break_app, to.connection);
    break_app->callback([&] { chosen = [&] { return break_node(to); }; });
}

void add_doctor(CLI::App& app, connection_arguments& connection, std::string& path, action& chosen)
{
    auto* const doctor_app = app.add_subcommand("doctor", "look at all that a lock needs, and say what is wrong");
    doctor_app->add_option("PATH", path, "a lock that is stuck, say");
    add_connection_arguments(*doctor_app, connection);
    doctor_app->callback([&] { chosen = [&] { return doctor(connection, path); }; });
}

/// Where a standard descriptor is closed, /dev/null takes its place: nothing else that is opened may have its number,
/// and take what is written to it. The command finds it closed.
void fill_standard_descriptors()
{
    for (const int standard : {0, 1, 2})
        if (::fcntl(standard, F_GETFD) < 0)
            static_cast<void>(::open("/dev/null", O_RDWR | O_CLOEXEC)); // the lowest number that is free
}

int main_with(std::vector<std::string> arguments)
{
    CLI::App app("Locks in ZooKeeper from the command line. The manual is zklock(1).", "zklock");
    app.require_subcommand(1);
    app.set_version_flag("--version", "zklock " ZKLOCK_VERSION_STRING);
    app.failure_message(CLI::FailureMessage::simple);

    const command_words words(arguments);
    action chosen;
    run_arguments to_run;
    run_arguments to_lead;
    list_arguments to_list;
    list_arguments to_watch;
    break_arguments to_revoke;
    break_arguments to_break;
    connection_arguments to_examine;
    std::string examined;
    add_run(app, to_run, words, chosen);
    add_lead(app, to_lead, words, chosen);
    add_ls(app, to_list, chosen);
    add_top(app, to_watch, chosen);
    add_revoke(app, to_revoke, chosen);
    add_break(app, to_break, chosen);
    add_doctor(app, to_examine, examined, chosen);
    const std::string first = arguments.empty() ? "" : arguments.front();
    const auto is_first = [&](const CLI::App* command) { return command->get_name() == first; };
    if (!first.empty() && !first.starts_with('-') && app.get_subcommands(is_first).empty())
        throw usage_error("unknown command " + first); // CLI11 would say that one is missing
    try {
        std::ranges::reverse(arguments); // as CLI11 wants them
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& e) {
        std::ostringstream why;
        const int status = app.exit(e, std::cout, why) == 0 ? succeeded : usage;
        std::string text;
        std::istringstream lines(why.str()); // which have words of the command line, whatever those are
        for (std::string line; std::getline(lines, line);)
            text += printable(line, line.size()) + '\n';
        if (!text.empty())
            write_to_stderr(text);
        return status;
    }
    static_cast<void>(wished_log_level()); // it is refused before anything begins
    return chosen();
}

} // namespace
} // namespace zklock::tool

int main(int argc, char** argv)
{
    using namespace zklock::tool;
    fill_standard_descriptors();
    int status = failed;
    std::string why;
    try {
        status = main_with(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const usage_error& e) {
        status = usage;
        why = e.what();
    } catch (const std::exception& e) {
        why = e.what();
    }
    if (!why.empty())
        write_to_stderr(as_message(why));
    end_process(status);
}
