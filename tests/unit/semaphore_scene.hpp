#pragma once
// What the tests of semaphores have in common.
#include "session_scene.hpp"

#include "recipes/semaphore/semaphores.hpp"

namespace zklock::unit {

/// A session with semaphores.
struct semaphore_scene : scene {
    using attempt = attempt_of<recipes::semaphore_acquisition>;

    std::optional<recipes::semaphores> semaphores;

    explicit semaphore_scene(store::log_function log = {})
    {
        options.log = std::move(log);
        start();
        semaphores.emplace(*locks);
        connect();
    }
    /// Of whatever gives permits: the client's semaphores, or one path.
    template <class Giver>
    std::shared_ptr<attempt> want_of(Giver& giver, std::size_t count, semaphore_options o, acquire_mode mode,
                                     std::string path)
    {
        return acquire_by<attempt>([&](recipes::acquire_call call) {
            call.mode = mode;
            return giver.acquire({std::move(call), {std::move(path), std::move(o), count}});
        });
    }
    std::shared_ptr<attempt> want(std::size_t count, semaphore_options o, acquire_mode mode = acquire_mode::wait,
                                  std::string path = "/s")
    {
        return want_of(*semaphores, count, std::move(o), mode, std::move(path));
    }
    /// By which request a place in the line is asked for.
    static std::string line_up(int uuid) { return "create /s/locks/" + prefix(uuid); }
    /// And by which it is given back, if it was the first of the path.
    static std::string leave_line(int uuid) { return "remove /s/locks/" + node(uuid, 0); }
    /// Gives the lock of the line to whoever has just asked for it. No requests are left but those at its head.
    void give_line(int uuid = 1) { asked(*this).to(line_up(uuid)).number(50, 0).to("watch /s/locks").alone(1, 50); }
    /// Whoever wants so many permits of /s has the lock of the line.
    std::shared_ptr<attempt> want_at_head(std::size_t count, semaphore_options o)
    {
        auto a = want(count, std::move(o));
        give_line();
        return a;
    }
    static std::string permit(int uuid, int n)
    {
        char text[80];
        std::snprintf(text, sizeof text, "_c_00000000-0000-4000-8000-%012d-lease-%010d", uuid, n);
        return text;
    }
    /// What a permit's node is called before it has its number.
    static std::string permit_prefix(int uuid)
    {
        const std::string whole = permit(uuid, 0);
        return "/s/leases/" + whole.substr(0, whole.size() - 10);
    }
    static std::string permit_node(int uuid, int n) { return "/s/leases/" + permit(uuid, n); }
    static std::string check(int uuid, int n) { return "check /s/leases/" + permit(uuid, n); }
    /// The permits 2, 3 and 4, with the numbers 7, 8 and 9. Nothing is pending.
    std::shared_ptr<attempt> hold_three();
    /// Answers everything until a request that begins so, which is left. False if there was none.
    bool answer_until(const std::string& what)
    {
        while (!servers.requests.empty() && !servers.requests.front().what.starts_with(what)) {
            const auto r = servers.take();
            store::node_stat stat;
            stat.ephemeral_owner = 5;
            if (r.show_stat)
                r.show_stat(stat);
            else
                r.answer(outcome::ok);
            clock.run();
        }
        return !servers.requests.empty();
    }
};

inline semaphore_options permits_of(unsigned n)
{
    return with(&semaphore_options::permits, n);
}

inline auto semaphore_scene::hold_three() -> std::shared_ptr<attempt>
{
    const auto a = want_at_head(3, permits_of(3));
    asked(*this).to_batch_of(3).done({permit_node(2, 7), permit_node(3, 8), permit_node(4, 9)});
    asked(*this).to("children /s/leases").list({permit(2, 7), permit(3, 8), permit(4, 9)});
    REQUIRE(a->ended == error_code());
    asked(*this).to(leave_line(1)).ends(outcome::ok).nothing_else();
    return a;
}

} // namespace zklock::unit
