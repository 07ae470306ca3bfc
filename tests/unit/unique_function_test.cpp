#include "store/unique_function.hpp"

#include <doctest/doctest.h>

#include <array>

namespace zklock::test {

using store::unique_function;

namespace {

/// A function object that fits into a unique_function, or is too large for one.
template <std::size_t More> struct counting {
    std::shared_ptr<int> calls;
    std::array<char, More> more{};

    int operator()(int n) const { return *calls += n; }
};

} // namespace

TEST_CASE_TEMPLATE("a function is called, moved and destroyed once, whatever its size", F, counting<1>, counting<200>)
{
    const auto calls = std::make_shared<int>(0);
    {
        unique_function<int(int)> f{F{calls}};
        CHECK(calls.use_count() == 2);
        CHECK(f(3) == 3);

        unique_function<int(int)> moved{std::move(f)};
        CHECK_FALSE(f);
        CHECK(calls.use_count() == 2);
        CHECK(moved(4) == 7);

        f = std::move(moved);
        CHECK_FALSE(moved);
        CHECK(f(1) == 8);
        f = F{std::make_shared<int>(10)};
        CHECK(calls.use_count() == 1);
        CHECK(f(1) == 11);
        f = F{calls};
        CHECK(calls.use_count() == 2);
        CHECK(std::exchange(f, nullptr)(2) == 10);
        CHECK_FALSE(f);
        CHECK(calls.use_count() == 1);
        f = F{calls};
    }
    CHECK(calls.use_count() == 1);
}

TEST_CASE("what cannot be copied is passed on, as an argument too")
{
    unique_function<std::unique_ptr<int>(std::unique_ptr<int>)> add = [one = std::make_unique<int>(1)](auto to) {
        *to += *one;
        return to;
    };
    CHECK(*add(std::make_unique<int>(2)) == 3);
}

TEST_CASE("a function that is replaced while its owner is being replaced finds the new one")
{
    struct owner {
        unique_function<void()> f;
        std::shared_ptr<bool> saw_the_new_one = std::make_shared<bool>(false);
    } o;
    struct looks {
        owner* at;
        explicit looks(owner* o) : at(o) {}
        looks(looks&& other) noexcept : at(std::exchange(other.at, nullptr)) {}
        looks& operator=(looks&&) = delete;
        ~looks()
        {
            if (at)
                *at->saw_the_new_one = static_cast<bool>(at->f);
        }
        void operator()() const {}
    };
    o.f = looks(&o);
    o.f = [] {};
    CHECK(*o.saw_the_new_one);
}

} // namespace zklock::test
