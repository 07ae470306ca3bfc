#include "store/logger.hpp"

#include <array>
#include <charconv>
#include <ctime>

namespace zklock::store {
namespace {

template <class Number> void add_number(std::string& line, Number number, int base = 10)
{
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
    line.append(digits.data(), end.ptr);
}

} // namespace

std::optional<log_level> most_taken(const log_function& to) noexcept
{
    if (!to)
        return std::nullopt;
    const auto* const leveled = to.target<leveled_log>();
    return leveled ? leveled->most : log_level::debug;
}

logger::logger(const log_function& to) : to_(to), most_(most_taken(to)) {}

void logger::add(std::string& line, std::int64_t number)
{
    add_number(line, number);
}

void logger::add(std::string& line, lease_clock::duration time)
{
    const auto all = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    const auto ms = static_cast<std::uint64_t>(all < 0 ? -all : all);
    if (all < 0)
        line += '-';
    add_number(line, ms / 1000);
    std::string thousandths = std::to_string(1000 + ms % 1000);
    thousandths.front() = '.';
    line += thousandths;
    line += " s";
}

void logger::add(std::string& line, session_name session)
{
    line += "0x";
    add_number(line, static_cast<std::uint64_t>(session.id), 16);
}

void logger::add(std::string& line, std::chrono::system_clock::time_point when)
{
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch()).count();
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    std::array<char, 32> text{};
    if (::gmtime_r(&seconds, &parts) != nullptr)
        line.append(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &parts));
    line.append(std::to_string(1000 + ms % 1000), 1);
    line += 'Z';
}

void logger::add(std::string& line, times_left_out count)
{
    if (count.times == 0)
        return;
    line += " (left out since it was said last: ";
    add_number(line, count.times);
    line += ')';
}

} // namespace zklock::store
