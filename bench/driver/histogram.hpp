#pragma once
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zklock::bench {

using steady_clock = std::chrono::steady_clock;

/// How often each duration was seen, to a thousandth of its value. All drivers, in whatever language, use the same
/// steps, so that their counts can be added: exact nanoseconds below 2048, then 1024 steps for each doubling.
class histogram {
public:
    void record(steady_clock::duration d)
    {
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
        const auto index = step(ns > 0 ? static_cast<std::uint64_t>(ns) : 0);
        if (index >= counts_.size())
            counts_.resize(index + 1);
        ++counts_[index];
    }

    /// Calls f(nanoseconds, count) for each step that was seen, shortest first.
    template <class F> void for_each(F&& f) const
    {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i])
                f(lowest(i), counts_[i]);
    }

private:
    static constexpr unsigned bits = 11;
    static constexpr std::uint64_t half = 1ULL << (bits - 1);

    static std::size_t step(std::uint64_t ns)
    {
        const auto width = static_cast<unsigned>(std::bit_width(ns));
        if (width <= bits)
            return ns;
        const unsigned shift = width - bits;
        return shift * half + (ns >> shift);
    }
    static std::uint64_t lowest(std::size_t step)
    {
        if (step < 2 * half)
            return step;
        const auto shift = step / half - 1;
        return (step - shift * half) << shift;
    }

    std::vector<std::uint64_t> counts_;
};

} // namespace zklock::bench
