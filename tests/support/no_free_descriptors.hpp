#pragma once
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

namespace zklock::test {

/// As long as it lives, this process gets no new descriptor.
class no_free_descriptors {
public:
    no_free_descriptors()
    {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        auto none = before_;
        none.rlim_cur = STDERR_FILENO + 1;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    }
    ~no_free_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    no_free_descriptors(const no_free_descriptors&) = delete;
    no_free_descriptors& operator=(const no_free_descriptors&) = delete;

private:
    rlimit before_{};
};

} // namespace zklock::test
