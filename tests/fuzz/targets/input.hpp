#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace zklock::fuzz {

/// What libFuzzer made up, taken apart from the front. Past its end it reads as zeros.
class input {
public:
    input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

    std::uint8_t byte()
    {
        if (rest_.empty())
            return 0;
        const auto first = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }

    /// A number in [0, limit).
    std::size_t below(std::size_t limit) { return limit < 2 ? 0 : byte() % limit; }

    /// Up to a separator, which is left out, or to the end.
    std::string_view line(char separator = '\n')
    {
        const auto end = rest_.find(separator);
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
        return taken;
    }

    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view rest_;
};

/// Ends the run, so that libFuzzer keeps the input.
inline void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// Tells what happens, when ZKLOCK_FUZZ_TRACE is set: for one input that is being looked into.
template <class... Part> void trace(const Part&... parts)
{
    static const bool wanted = std::getenv("ZKLOCK_FUZZ_TRACE") != nullptr;
    if (!wanted)
        return;
    const auto text = [](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
            return std::to_string(part);
        else
            return std::string(part);
    };
    std::string line;
    ((line += text(parts) + ' '), ...);
    std::fprintf(stderr, "%s\n", line.c_str());
}

} // namespace zklock::fuzz
