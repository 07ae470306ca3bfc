#include "runtime/log_environment.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace zklock {
namespace {

void write_line(std::FILE* file, log_level level, std::string_view text)
{
    std::string line;
    line.reserve(64 + text.size());
    store::logger::add(line, std::chrono::system_clock::now());
    line += ' ';
    line += to_string(level);
    line += ' ';
    for (const char c : text) // whatever a node's name or a server's answer has brought in: a line is one line
        line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), file);
    std::fflush(file);
}

std::optional<log_level> level_of(std::string_view name)
{
    for (const log_level level : {log_level::error, log_level::warning, log_level::info, log_level::debug})
        if (name == to_string(level))
            return level;
    return std::nullopt;
}

} // namespace

std::function<void(log_level, std::string_view)> log_to(std::FILE* file, log_level most)
{
    if (!file)
        return {};
    const auto write = [file](log_level level, std::string_view text) { write_line(file, level, text); };
    return store::leveled_log{most, write};
}

std::function<void(log_level, std::string_view)> log_to(std::function<void(log_level, std::string_view)> to,
                                                        log_level most)
{
    if (!to)
        return {};
    return store::leveled_log{most, std::move(to)};
}

store::log_function runtime::log_of_environment()
{
    const char* const wanted = std::getenv("ZKLOCK_LOG");
    if (!wanted || !*wanted)
        return {};
    if (const auto level = level_of(wanted))
        return log_to(stderr, *level);
    static std::atomic_flag said;
    if (!said.test_and_set())
        write_line(stderr, log_level::warning,
                   "ZKLOCK_LOG=" + std::string(wanted) + " is none of error, warning, info, debug: nothing is logged");
    return {};
}

} // namespace zklock
