#include "driver/board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace zklock::bench {

namespace {

std::int64_t nanoseconds(steady_clock::time_point t)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

} // namespace

board::board(const request& asked) : self_(asked.number("process") + 1)
{
    const auto file = asked.text("board");
    const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), file);
    void* mapped = ::mmap(nullptr, sizeof(words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int why = errno;
    ::close(fd);
    if (mapped == MAP_FAILED)
        throw std::system_error(why, std::generic_category(), file);
    words_ = static_cast<words*>(mapped);
}

board::~board()
{
    ::munmap(words_, sizeof(words));
}

steady_clock::time_point board::start() const
{
    return steady_clock::time_point{std::chrono::nanoseconds{words_->start.load()}};
}

std::optional<steady_clock::duration> board::granted(steady_clock::time_point now) const
{
    const auto before = words_->holder.load();
    if (before == 0 || before == self_)
        return {};
    return std::chrono::nanoseconds{nanoseconds(now) - words_->released.load()};
}

void board::releasing()
{
    words_->holder = self_;
    words_->released = nanoseconds(steady_clock::now());
}

void tally::begin(steady_clock::time_point start, std::chrono::milliseconds time)
{
    start_ = start;
    end_ = start + time;
    found_ = {};
    passed_on_ = grants_ = all_ = 0;
}

void tally::granted(steady_clock::time_point asked_at, steady_clock::time_point now,
                    std::optional<steady_clock::duration> since_release)
{
    if (since_release || !handoffs_)
        ++all_;
    if (now >= end_)
        return;
    ++grants_;
    found_.latencies["acquire"].record(now - asked_at);
    if (!since_release)
        return;
    ++passed_on_;
    found_.latencies["handoff"].record(*since_release);
}

report tally::take()
{
    found_.elapsed = end_ - start_;
    found_.operations = handoffs_ ? passed_on_ : grants_;
    found_.figures = {{"all_operations", static_cast<double>(all_)},
                      {"grants", static_cast<double>(grants_)},
                      {"passed_on", static_cast<double>(passed_on_)}};
    return std::move(found_);
}

} // namespace zklock::bench
