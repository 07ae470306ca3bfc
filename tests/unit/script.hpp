#pragma once
#include "fake_store.hpp"

#include <doctest/doctest.h>

namespace zklock::unit {

using namespace zklock; // so that who uses this one has the library, too
/// The Stat of a path that has had `ever` children, of which the last one lives, made by that transaction, the last
/// there was.
inline store::node_stat last_child(int ever, std::int64_t czxid)
{
    store::node_stat stat;
    stat.num_children = 1;
    stat.cversion = 2 * ever - 1;
    stat.pzxid = czxid;
    return stat;
}

/// The Stat of a path that has had one child, which lives, made by that transaction.
inline store::node_stat one_child(std::int64_t czxid)
{
    return last_child(1, czxid);
}

/// The Stat of a path with two children, the last of which was made by that transaction, the last there was.
inline store::node_stat two_children(std::int64_t czxid = 0)
{
    store::node_stat stat;
    stat.num_children = stat.cversion = 2;
    stat.pzxid = czxid;
    return stat;
}

/// A session that goes on looks for its last write before the epoch begins, if there is one. Its node is gone, and its
/// parent has been changed since.
template <class Scene> void show_writes_kept(Scene& s)
{
    auto& all = s.servers.requests;
    const auto looks = [&] {
        return s.session->state() != zklock::connection_state::connected && !all.empty() &&
               all.back().what.starts_with("exists ") && all.back().what != "exists /";
    };
    const auto look = [&all] {
        auto last = std::move(all.back());
        all.pop_back();
        return last;
    };
    if (!looks())
        return;
    look().answer(store::outcome::no_node);
    REQUIRE_FALSE(all.empty());
    store::node_stat changed;
    changed.pzxid = 1'000'000;
    look().stat(changed);
}

/// Says what a step has asked the store for, in whatever order, and answers it:
///
///     asked(s).to("create /p/" + prefix(1)).number(42, 0).to("watch /p").show({}).nothing_else();
///
/// What is not answered waits: kept() gives it to the test, to be answered later.
class asked {
public:
    /// `s`: a scene with a clock and a store.
    template <class Scene> explicit asked(Scene& s) : servers_(s.servers), clock_(s.clock) {}

    /// There is such a request. What follows is about the oldest of them.
    asked& to(const std::string& what)
    {
        auto& all = servers_.requests;
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.what == what; });
        CAPTURE(servers_.pending());
        INFO("expected: ", what);
        REQUIRE(found != all.end());
        request_ = std::move(*found);
        all.erase(found);
        return *this;
    }
    /// There is such a request, and no other.
    asked& only(const std::string& what)
    {
        CHECK(servers_.pending() == what);
        return to(what);
    }
    /// There are exactly these, none of which is answered yet.
    asked& all_of(std::vector<std::string> expected)
    {
        std::vector<std::string> found;
        for (const auto& r : servers_.requests)
            found.push_back(r.what);
        std::sort(found.begin(), found.end());
        std::sort(expected.begin(), expected.end());
        CAPTURE(servers_.pending());
        CHECK(found == expected);
        return *this;
    }
    /// It makes a node with that access list, or sets it; empty: the client's.
    asked& has_access(const std::string& as_text)
    {
        CHECK(request_.access == as_text);
        return *this;
    }
    /// Nothing is left unanswered.
    asked& nothing_else()
    {
        CHECK(servers_.pending() == "");
        return *this;
    }

    /// There is a transaction of so many writes.
    asked& to_batch_of(std::size_t writes)
    {
        const auto& all = servers_.requests;
        const auto found =
            std::find_if(all.begin(), all.end(), [=](const auto& r) { return r.writes.size() == writes; });
        CAPTURE(servers_.pending());
        REQUIRE(found != all.end());
        return to(std::string(found->what));
    }

    asked& number(std::int64_t czxid, std::int32_t n) { return answer(request_.number, czxid, n); }
    asked& done(const std::vector<std::string>& created) { return answer(request_.done, created); }
    asked& show(const store::node_stat& stat) { return answer(request_.show_stat, stat); }
    asked& show(std::int64_t owner, const std::string& data) { return answer(request_.show, owner, data); }
    asked& show_version(std::int32_t version, const std::string& data)
    {
        return answer(request_.show_version, version, data);
    }
    asked& show_node(const store::node_stat& stat, const std::string& data)
    {
        return answer(request_.show_node, stat, data);
    }
    /// What a watch of the path's node finds: it has had `ever` children, and the last one is alone.
    asked& alone(int ever, std::int64_t czxid) { return show(last_child(ever, czxid)); }
    asked& stat(const store::node_stat& stat) { return answer(request_.stat, stat); }
    asked& czxid(std::int64_t czxid)
    {
        store::node_stat made;
        made.czxid = czxid;
        return stat(made);
    }
    asked& list(const std::vector<std::string>& names) { return answer(request_.list, names); }
    asked& list(const std::vector<std::string>& names, const store::node_stat& of_the_parent)
    {
        return answer(request_.list_with, names, of_the_parent);
    }
    asked& ends(store::outcome o) { return answer(request_.answer, o); }
    asked& never_leaves() { return answer(request_.never_leaves); }
    asked& fails_at(std::size_t index, store::outcome o) { return answer(request_.fail, index, o); }
    [[nodiscard]] fake_store::request kept() { return std::move(request_); }

private:
    template <class Function, class... Arguments> asked& answer(const Function& give, const Arguments&... what)
    {
        give(what...);
        clock_.run();
        return *this;
    }

    fake_store& servers_;
    manual_scheduler& clock_;
    fake_store::request request_;
};

} // namespace zklock::unit
