#include "tool/program/client_log.hpp"

#include "tool/program/standard_error.hpp"
#include "tool/program/voice.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace zklock::tool {
namespace {

/// A FILE for log_to() that never blocks.
std::FILE* unblocking_stderr()
{
    cookie_io_functions_t functions{};
    functions.write = [](void*, const char* text, std::size_t size) {
        const std::string_view line(text, size - (text[size - 1] == '\n' ? 1 : 0)); // log_to() flushes each
        write_to_stderr(printable(line, size) + '\n');
        return static_cast<ssize_t>(size);
    };
    return ::fopencookie(nullptr, "w", functions);
}

} // namespace

std::optional<log_level> wished_log_level()
{
    const char* const wish = std::getenv("ZKLOCK_LOG");
    if (wish == nullptr || *wish == 0)
        return std::nullopt;
    for (const log_level level : {log_level::error, log_level::warning, log_level::info, log_level::debug})
        if (to_string(level) == wish)
            return level;
    throw usage_error("ZKLOCK_LOG is \"" + std::string(wish) + "\", and has to be error, warning, info or debug");
}

client_log::client_log()
{
    if (const auto level = wished_log_level()) {
        most_written_ = *level;
        written_ = log_to(unblocking_stderr(), *level); // which lives as long as the process
    }
}

client_options client_log::attached_to(client_options options)
{
    options.log = [this](log_level level, std::string_view line) { note(level, line); };
    return options;
}

void client_log::connected()
{
    connected_ = true;
    trouble_.clear();
}

void client_log::note(log_level level, std::string_view line)
{
    if (written_ && level <= most_written_)
        written_(level, line);
    constexpr std::string_view connection = "connected to ";
    const auto name = line.find(": ");
    std::string_view text = name == line.npos ? line : line.substr(name + 2);
    text = text.substr(0, text.find(" (left out since it was said last: ")); // which tells of other lines of the log
    if (text.starts_with(connection) && text.find(": ") != text.npos)
        session_ = printable(text.substr(text.find(": ") + 2));
    if (level > (connected_ ? log_level::warning : log_level::info))
        return;
    if (level == log_level::error && text.find(", and has to be ") != text.npos) // as an option_fault is told
        fault_ = printable(text, 2'000);
    if (!text.starts_with("made for "))
        trouble_ = printable(text, 2'000);
}

} // namespace zklock::tool
