#include "support/temporary_directory.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <chrono>
#include <string>
#include <system_error>

namespace zklock::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* prefix = "zklock-test-";

// Servers write and sync all the time: memory makes them quick and equally quick on every machine.
fs::path base()
{
    struct statvfs room {};
    if (::statvfs("/dev/shm", &room) == 0 && room.f_bavail * room.f_frsize >= (1ULL << 30))
        return "/dev/shm";
    return fs::temp_directory_path();
}

unique_fd lock(const fs::path& directory)
{
    unique_fd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
        return {};
    return fd;
}

void delete_abandoned(const fs::path& base)
{
    std::error_code ec;
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::minutes{2};
    for (fs::directory_iterator it{base, ec}, end; !ec && it != end; it.increment(ec)) {
        std::error_code gone; // another test may be deleting the same one
        if (!it->path().filename().string().starts_with(prefix))
            continue;
        if (const auto written = fs::last_write_time(it->path(), gone); gone || written > long_ago)
            continue;
        if (const auto ours = lock(it->path()))
            fs::remove_all(it->path(), gone);
    }
}

} // namespace

temporary_directory::temporary_directory(const fs::path& wanted)
{
    const auto parent = wanted.empty() ? base() : wanted;
    delete_abandoned(parent);
    auto name = (parent / (std::string(prefix) + "XXXXXX")).string();
    if (!::mkdtemp(name.data()))
        throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
    lock_ = lock(path_);
}

temporary_directory::~temporary_directory()
{
    if (path_.empty() || !lock_)
        return;
    std::error_code ec; // what is left is deleted by a later test
    fs::remove_all(path_, ec);
}

} // namespace zklock::test
