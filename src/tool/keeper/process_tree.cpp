#include "tool/keeper/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>

namespace zklock::tool {
namespace {

struct line_of_stat {
    [[nodiscard]] bool lives() const { return state != 'Z' && state != 'X'; }

    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    char state = 'Z';
    unsigned long long started = 0;
};

/// /proc/ID/stat; nothing if there is no such process.
std::optional<line_of_stat> read_stat(pid_t id)
{
    const std::string path = "/proc/" + std::to_string(id) + "/stat";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return std::nullopt;
    char text[1024]; // the numbers that are wanted come early
    const auto length = ::read(file, text, sizeof text - 1);
    ::close(file);
    if (length <= 0)
        return std::nullopt;
    text[length] = 0;
    const char* const behind_the_name = std::strrchr(text, ')'); // which may have blanks and brackets in it
    if (behind_the_name == nullptr)
        return std::nullopt;
    std::istringstream fields(behind_the_name + 1);
    line_of_stat line;
    fields >> line.state >> line.parent >> line.group >> line.session;
    std::string skipped;
    for (int field = 7; field < 22; ++field) // proc(5) counts from 1
        fields >> skipped;
    if (!(fields >> line.started))
        return std::nullopt;
    return line;
}

using all_processes = std::unordered_map<pid_t, line_of_stat>;

/// All that /proc has. It is not read in one moment.
all_processes read_all()
{
    all_processes all;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), &::closedir);
    if (!directory)
        return all;
    while (const dirent* const entry = ::readdir(directory.get())) {
        const char* const name = entry->d_name;
        pid_t id = 0;
        const auto [end, error] = std::from_chars(name, name + std::strlen(name), id);
        if (error != std::errc() || *end != 0)
            continue;
        if (const auto line = read_stat(id))
            all.emplace(id, *line);
    }
    return all;
}

/// Whether /proc shows a user only what is the user's own (hidepid): the first process is seldom that.
bool hides_others()
{
    return !read_stat(1);
}

/// Sends a signal to a process if it is still the one that was seen. Gives false if that is not permitted.
bool send_signal(const seen_process& to, int number)
{
    bool permitted = true;
    // The descriptor stays with the process that it was made for, so a number that is used again is noticed.
    const int file = static_cast<int>(::syscall(SYS_pidfd_open, to.id, 0U));
    if (file < 0 && errno != ENOSYS)
        return true; // it has ended
    if (const auto line = read_stat(to.id); line && line->started == to.started) {
        const long sent =
            file < 0 ? ::kill(to.id, number) : ::syscall(SYS_pidfd_send_signal, file, number, nullptr, 0U);
        permitted = sent == 0 || errno != EPERM;
    }
    if (file >= 0)
        ::close(file);
    return permitted;
}

} // namespace

void adopt_orphans() noexcept
{
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<seen_process> descendants_of(pid_t root)
{
    const all_processes all = read_all();
    std::vector<seen_process> found;
    for (const auto& [id, line] : all) {
        if (id == root || !line.lives())
            continue;
        pid_t ancestor = line.parent;
        // The steps are counted in case that there is a loop in what was not read in one moment.
        for (std::size_t steps = 0; ancestor > 0 && ancestor != root && steps < all.size(); ++steps) {
            const auto parent = all.find(ancestor);
            ancestor = parent == all.end() ? 0 : parent->second.parent;
        }
        if (ancestor == root)
            found.emplace_back(id, line.started);
    }
    return found;
}

std::size_t living_in_group(pid_t group)
{
    // Somebody can be born behind what was read already: nobody has to be seen twice.
    for (int look = 0; look < 2; ++look) {
        if (::kill(-group, 0) != 0 && errno == ESRCH)
            return 0;
        std::size_t ended = 0;
        std::size_t living = 0;
        for (const auto& [id, line] : read_all())
            if (line.group == group)
                ++(line.lives() ? living : ended);
        if (living != 0)
            return living;
        if (ended == 0 || hides_others())
            return 1;
    }
    return 0;
}

bool has_children() noexcept
{
    siginfo_t one{};
    return ::waitid(P_ALL, 0, &one, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

bool is_stopped(pid_t id)
{
    const auto line = read_stat(id);
    return line && (line->state == 'T' || line->state == 't');
}

bool is_orphaned(pid_t group)
{
    const all_processes all = read_all();
    return std::ranges::none_of(all, [&](const auto& each) {
        const line_of_stat& member = each.second;
        if (member.group != group || !member.lives())
            return false;
        const auto parent = all.find(member.parent);
        return parent != all.end() && parent->second.group != group && parent->second.session == member.session;
    });
}

bool sees_processes()
{
    return read_stat(::getpid()).has_value();
}

signalled signal_all(pid_t group, int number)
{
    // Of a group it is an error only if none of it may be signalled; and /proc may tell nothing.
    const bool denied = group > 0 && ::kill(-group, number) != 0 && errno == EPERM; // it may have ended
    const std::vector<seen_process> all = descendants_of(::getpid());
    signalled count{all.size(), 0};
    for (const seen_process& each : all)
        if (!send_signal(each, ::getpgid(each.id) == group ? 0 : number))
            ++count.denied;
    count.denied = std::max<std::size_t>(count.denied, denied ? 1 : 0);
    return count;
}

signalled signal_group(pid_t group, int number)
{
    const bool denied = ::kill(-group, number) != 0 && errno == EPERM;
    const std::size_t all = living_in_group(group);
    return {all, denied ? all : 0};
}

} // namespace zklock::tool
