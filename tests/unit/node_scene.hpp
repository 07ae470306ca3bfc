#pragma once
// What the tests of the user's own operations on nodes have in common.
#include "session_scene.hpp"

#include "recipes/composed/multi_acquisition.hpp"

namespace zklock::unit {

namespace nodes = recipes::nodes;

/// What an operation ended with.
template <class Value = std::string> struct told {
    std::optional<error_code> ended;
    Value value{};

    auto teller()
    {
        return [this](error_code ec, Value v = {}) {
            CHECK_FALSE(ended);
            ended = ec;
            value = std::move(v);
        };
    }
    [[nodiscard]] bool ended_with(errc e) const { return ended == make_error_code(e); }
};
struct told_end {
    std::optional<error_code> ended;
    auto teller()
    {
        return [this](error_code ec) {
            CHECK_FALSE(ended);
            ended = ec;
        };
    }
};

struct node_scene : scene {
    node_scene() { start(); }
    explicit node_scene(const std::function<void(client_options&)>& change)
    {
        change(options);
        start();
    }

    recipes::multi_acquisition::member member(const std::string& path) { return {path, lock_of(path)}; }
    recipes::nodes::claim claim_of(const attempt& a) { return {a.handle, a.given}; }
    std::string own(const attempt& a) const { return "check " + a.given.node; }
    void fail(std::size_t index, outcome o)
    {
        servers.take().fail(index, o);
        clock.run();
    }
};

/// How the store is asked for some_writes(), besides what is checked before them.
inline constexpr const char* some_writes_asked =
    "create /made-, set /stock at version 7, remove /old, check /there at version 2";

/// One of each kind.
inline transaction some_writes()
{
    transaction t;
    t.create("/made-", "new", node_kind::persistent_sequential).set("/stock", "41", 7);
    t.remove("/old").check("/there", 2);
    return t;
}

} // namespace zklock::unit
