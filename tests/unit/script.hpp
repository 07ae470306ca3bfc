#pragma once
#include "session_scene.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::unit {

/// Of a path that has had one child, which lives, made by that transaction.
inline store::node_stat one_child(std::int64_t czxid)
{
    store::node_stat stat;
    stat.num_children = stat.cversion = 1;
    stat.pzxid = czxid;
    return stat;
}

/// Says what a step has asked the store for, in whatever order, and answers it:
///
///     asked(s).to("create /p/" + prefix(1)).number(42, 0).to("watch /p").show({}).nothing_else();
///
/// What is not answered waits: kept() gives it to the test, to be answered later.
class asked {
public:
    explicit asked(scene& s) : scene_(s) {}

    /// There is such a request. What follows is about the oldest of them.
    asked& to(const std::string& what)
    {
        auto& all = scene_.servers.requests;
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.what == what; });
        CAPTURE(scene_.servers.pending());
        INFO("expected: ", what);
        REQUIRE(found != all.end());
        request_ = std::move(*found);
        all.erase(found);
        return *this;
    }
    /// And they are all.
    asked& nothing_else()
    {
        CHECK(scene_.servers.pending() == "");
        return *this;
    }

    /// There is a transaction of so many writes.
    asked& to_batch_of(std::size_t writes)
    {
        const auto& all = scene_.servers.requests;
        const auto found = std::find_if(all.begin(), all.end(), [=](const auto& r) { return r.writes.size() == writes; });
        CAPTURE(scene_.servers.pending());
        REQUIRE(found != all.end());
        return to(std::string(found->what));
    }

    asked& number(std::int64_t czxid, std::int32_t n)
    {
        return answer([&] { request_.number(czxid, n); });
    }
    asked& done(const std::vector<std::string>& created)
    {
        return answer([&] { request_.done(created); });
    }
    asked& show(const store::node_stat& stat)
    {
        return answer([&] { request_.show_stat(stat); });
    }
    asked& show(std::int64_t owner, const std::string& data)
    {
        return answer([&] { request_.show(owner, data); });
    }
    asked& stat(const store::node_stat& stat)
    {
        return answer([&] { request_.stat(stat); });
    }
    asked& czxid(std::int64_t czxid)
    {
        store::node_stat made;
        made.czxid = czxid;
        return stat(made);
    }
    asked& list(const std::vector<std::string>& names)
    {
        return answer([&] { request_.list(names); });
    }
    asked& list(const std::vector<std::string>& names, const store::node_stat& of_the_parent)
    {
        return answer([&] { request_.list_with(names, of_the_parent); });
    }
    asked& ends(outcome o)
    {
        return answer([&] { request_.answer(o); });
    }
    asked& fails_at(std::size_t index, outcome o)
    {
        return answer([&] { request_.fail(index, o); });
    }
    [[nodiscard]] fake_store::request kept() { return std::move(request_); }

private:
    template <class Answer> asked& answer(Answer give)
    {
        give();
        scene_.clock.run();
        return *this;
    }

    scene& scene_;
    fake_store::request request_;
};

} // namespace zklock::unit
