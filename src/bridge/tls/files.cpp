#include "bridge/tls/files.hpp"
#include "runtime/unique_fd.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace zklock::bridge {

namespace {

constexpr ::off_t largest_file = 16 * 1024 * 1024;
constexpr ::time_t settled_after = 2; // s, FAT's step of time

} // namespace

void tls_file::note(const struct ::stat& found)
{
    traits_.emplace(found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec,
                    found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    recent_ = found.st_mtim.tv_sec + settled_after >= ::time(nullptr);
}

void tls_file::look()
{
    struct ::stat found {};
    traits_.reset();
    if (::stat(path_.c_str(), &found) == 0)
        note(found);
}

bool tls_file::unchanged() const
{
    tls_file now(path_);
    now.look();
    return traits_ == now.traits_ && !(traits_ && recent_);
}

std::optional<secret> tls_file::read(std::string& why)
{
    look();
    const auto failed = [&](const std::string& reason) {
        why = path_ + " cannot be read: " + reason;
        return std::nullopt;
    };
    // Without waiting: a pipe that nobody writes to would wait for ever.
    const runtime::unique_fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct ::stat found {};
    if (!file || ::fstat(file.get(), &found) != 0)
        return failed(std::generic_category().message(errno));
    note(found);
    if (!S_ISREG(found.st_mode))
        return failed("it is not a regular file");
    if (found.st_size > largest_file)
        return failed("it is larger than 16 MiB");
    secret contents;
    std::string& text = contents.edit();
    text.resize(static_cast<std::size_t>(found.st_size) + 1); // one more, to see that it has not grown
    std::size_t filled = 0;
    while (filled < text.size()) {
        const auto got = ::read(file.get(), text.data() + filled, text.size() - filled);
        if (got == -1 && errno == EINTR)
            continue;
        if (got == -1)
            return failed(std::generic_category().message(errno));
        if (got == 0)
            break;
        filled += static_cast<std::size_t>(got);
    }
    if (filled == text.size())
        return failed("it is being written");
    text.resize(filled);
    return contents;
}

} // namespace zklock::bridge
