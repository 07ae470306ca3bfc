#pragma once
// What the tests of peers have in common: nodes, secrets and times that are told apart by a number.
#include "bridge/peers/frames.hpp"
#include "mutants/mutants.hpp"
#include "zklock/events.hpp"

#include <doctest/doctest.h>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too
using namespace std::chrono_literals;
namespace peering = bridge::peering;

inline store::node_secret secret(unsigned number)
{
    store::node_secret s{};
    s[0] = static_cast<std::uint8_t>(number);
    s[1] = static_cast<std::uint8_t>(number >> 8);
    s[2] = static_cast<std::uint8_t>(number >> 16);
    return s;
}

/// The secret of a number is that of the node of that number.
inline peering::node_id commit(const store::node_secret& s)
{
    peering::node_id id{};
    std::copy_n(s.begin(), 3, id.begin());
    return id;
}

inline peering::node_id node(unsigned number)
{
    return commit(secret(number));
}

inline lease_clock::time_point at(lease_clock::duration since_the_start)
{
    return lease_clock::time_point(1h) + since_the_start;
}

inline peering::bytes bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string wish(peering::wish what, unsigned number)
{
    std::string out;
    peering::append(out, peering::wish_frame{what, node(number)});
    return out;
}

inline std::string certificate(unsigned number)
{
    std::string out;
    peering::append(out, peering::certificate_frame{peering::certificate_mark, secret(number)});
    return out;
}

inline std::string greeting_text()
{
    std::string out;
    peering::append(out, peering::greeting);
    return out;
}

/// As long as it lives, the library has that bug.
struct with_mutant {
    explicit with_mutant(mutants::id which) { mutants::active = which; }
    ~with_mutant() { mutants::active = mutants::id::none; }
    with_mutant(const with_mutant&) = delete;
    with_mutant& operator=(const with_mutant&) = delete;
};

} // namespace zklock::test
