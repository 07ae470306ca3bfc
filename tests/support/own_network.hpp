#pragma once
#include "support/skip.hpp"
#include "support/unique_fd.hpp"

#include <cstring>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

namespace zklock::test {

/// While it lives, this thread, and the threads and processes that it starts, are on a network of their own, which has
/// the loopback interface only: so nobody else can be asked. What else they need there, a class derived from this adds.
class own_network {
public:
    ~own_network()
    {
        if (entered_ & CLONE_NEWNS) {
            REQUIRE(::setns(mounts_.get(), CLONE_NEWNS) == 0);
            REQUIRE(::fchdir(here_.get()) == 0); // or the root would be the current folder
        }
        if (entered_ & CLONE_NEWNET)
            REQUIRE(::setns(network_.get(), CLONE_NEWNET) == 0);
    }
    own_network(const own_network&) = delete;
    own_network& operator=(const own_network&) = delete;

    /// False where none can be had, and the test is skipped: who may not, cannot run it.
    [[nodiscard]] bool made() const
    {
        if (!made_)
            skip("no network of one's own can be made here (" + std::string(std::strerror(error_)) + ")");
        return made_;
    }

protected:
    /// `mounts`: what they mount, nobody else sees.
    explicit own_network(bool mounts = false)
    {
        const int kinds = CLONE_NEWNET | (mounts ? CLONE_NEWNS : 0);
        if (!network_ || !mounts_ || !here_ || ::unshare(kinds) != 0) {
            error_ = errno;
            return;
        }
        entered_ = kinds;
        made_ = true;
        add(&bring_up);
        if (mounts)
            add([] { return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0; });
    }
    /// `step`: whether it was done; if not, errno tells why.
    template <class Step> void add(Step step)
    {
        if (!made_)
            return;
        made_ = step();
        error_ = errno;
    }

    [[nodiscard]] static unique_fd asking(int family)
    {
        return unique_fd{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    }

private:
    static bool bring_up()
    {
        ifreq loopback{};
        std::strcpy(loopback.ifr_name, "lo");
        loopback.ifr_flags = IFF_UP | IFF_RUNNING;
        return ::ioctl(asking(AF_INET).get(), SIOCSIFFLAGS, &loopback) == 0;
    }

    unique_fd network_{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
    unique_fd mounts_{::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)};
    unique_fd here_{::open(".", O_RDONLY | O_CLOEXEC)};
    int entered_ = 0; ///< the kinds of namespaces
    bool made_ = false;
    int error_ = 0;
};

} // namespace zklock::test
