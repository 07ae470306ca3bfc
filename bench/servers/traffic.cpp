#include "servers/traffic.hpp"

#include <algorithm>
#include <utility>

namespace zklock::bench {

namespace {

constexpr std::chrono::milliseconds step{100};

} // namespace

void traffic::begin()
{
    const std::lock_guard lock{mutex_};
    start_ = clock::now();
    intervals_.clear();
}

void traffic::connected()
{
    const std::lock_guard lock{mutex_};
    ++now().connects;
}

void traffic::requested(std::uint64_t count)
{
    const std::lock_guard lock{mutex_};
    now().requests += count;
}

std::chrono::milliseconds traffic::elapsed() const
{
    const std::lock_guard lock{mutex_};
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start_);
}

auto traffic::intervals() const -> std::vector<interval>
{
    const std::lock_guard lock{mutex_};
    auto all = intervals_;
    all.resize(std::max<std::size_t>(all.size(), static_cast<std::size_t>((clock::now() - start_) / step)));
    return all;
}

auto traffic::now() -> interval&
{
    const auto number = static_cast<std::size_t>((clock::now() - start_) / step);
    if (intervals_.size() <= number)
        intervals_.resize(number + 1);
    return intervals_[number];
}

std::uint64_t request_counter::count(std::span<const char> bytes)
{
    std::uint64_t begun = 0;
    while (!bytes.empty()) {
        if (length_bytes_ < sizeof left_) {
            left_ = left_ << 8 | static_cast<unsigned char>(bytes.front());
            bytes = bytes.subspan(1);
            if (++length_bytes_ == sizeof left_)
                begun += !std::exchange(first_, false);
        } else {
            const auto here = std::min<std::size_t>(left_, bytes.size());
            left_ -= static_cast<std::uint32_t>(here);
            bytes = bytes.subspan(here);
        }
        if (length_bytes_ == sizeof left_ && left_ == 0)
            length_bytes_ = 0;
    }
    return begun;
}

} // namespace zklock::bench
