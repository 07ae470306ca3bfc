#include "tool/tests/tool_scene.hpp"

#include <boost/json/parse.hpp>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace zklock::test {
namespace {

/// State and parent, from /proc; an X for a process that is not there.
std::pair<char, pid_t> look_at(pid_t id)
{
    std::ifstream stat("/proc/" + std::to_string(id) + "/stat");
    std::string line;
    std::getline(stat, line);
    const auto name_end = line.rfind(')');
    if (name_end == line.npos)
        return {'X', 0};
    std::istringstream fields(line.substr(name_end + 1));
    char state = 'X';
    pid_t parent = 0;
    fields >> state >> parent;
    return {state, parent};
}

} // namespace

tool_scene::tool_scene()
{
    ::setenv("ZKLOCK_SERVERS", server().address().c_str(), 1);
    ::unsetenv("ZKLOCK_LOG");
    ::setenv("SHELL", "/bin/sh", 1);
}

const std::string& tool_scene::program()
{
    static const std::string path = ZKLOCK_TOOL_PROGRAM;
    return path;
}

child_process tool_scene::start(std::vector<std::string> arguments, const std::string& output, unique_fd input)
{
    // Ticks of 0.5 s: see usual_tick.
    std::vector<std::string> all{program(), arguments.at(0), "--server-tick", "0.5"};
    const bool says_session = std::find(arguments.begin(), arguments.end(), "--session-timeout") != arguments.end() ||
                              std::find(arguments.begin(), arguments.end(), "--kill-after") != arguments.end();
    if (!says_session)
        all.insert(all.end(), {"--session-timeout", "20"});
    all.insert(all.end(), arguments.begin() + 1, arguments.end());
    return {std::move(all), directory_.path(), file(output), std::move(input)};
}

child_process tool_scene::start_holder(std::vector<std::string> arguments, const std::string& output)
{
    child_process holder = start(std::move(arguments), output);
    static_cast<void>(await_line(output));
    return holder;
}

child_process tool_scene::start_command(std::vector<std::string> command, const std::string& output)
{
    return {std::move(command), directory_.path(), file(output)};
}

ended_tool tool_scene::finish(child_process process, const std::string& output)
{
    ended_tool ended;
    ended.status = process.wait();
    ended.text = contents(output);
    return ended;
}

ended_tool tool_scene::run(std::vector<std::string> arguments, unique_fd input)
{
    const std::string output = "output." + std::to_string(++count_);
    return finish(start(std::move(arguments), output, std::move(input)), output);
}

ended_tool tool_scene::run_command(std::vector<std::string> command)
{
    const std::string output = "output." + std::to_string(++count_);
    return finish(start_command(std::move(command), output), output);
}

std::string tool_scene::contents(const std::string& name) const
{
    std::ifstream in(file(name));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string tool_scene::await_line(const std::string& name) const
{
    wait_until("a line in " + name, default_limit, [&] { return contents(name).find('\n') != std::string::npos; });
    const std::string text = contents(name);
    return text.substr(0, text.find('\n'));
}

pid_t tool_scene::await_pid(const std::string& name) const
{
    return static_cast<pid_t>(std::stoi(await_line(name)));
}

void tool_scene::await_text(const std::string& name, const std::string& text) const
{
    wait_until(text + " in " + name, default_limit, [&] { return contents(name).find(text) != std::string::npos; });
}

int let_go(child_process& holder)
{
    holder.signal(SIGTERM);
    return holder.wait();
}

bool lives(pid_t id)
{
    const char state = look_at(id).first;
    return state != 'X' && state != 'Z';
}

void await_end(pid_t id)
{
    wait_until("the end of process " + std::to_string(id), default_limit, [id] { return !lives(id); });
}

pid_t parent_of(pid_t id)
{
    return look_at(id).second;
}

pid_t await_child(pid_t parent)
{
    pid_t found = 0;
    wait_until("a child of process " + std::to_string(parent), default_limit, [&] {
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            const std::string name = entry.path().filename();
            if (name.find_first_not_of("0123456789") == name.npos && parent_of(std::stoi(name)) == parent)
                found = std::stoi(name);
        }
        return found != 0;
    });
    return found;
}

boost::json::object json_in(const std::string& text)
{
    return boost::json::parse(text.substr(0, text.find('\n'))).as_object();
}

pipe_ends::pipe_ends()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    out = unique_fd{ends[0]};
    in = unique_fd{ends[1]};
}

std::size_t count_lines(const std::string& text)
{
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

} // namespace zklock::test
