#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/lock_contender.hpp"
#include "recipes/parent_maker.hpp"
#include "recipes/session_core.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace zklock::recipes {

/// All contenders of one client for the lock of one path. Carries out what the lock_queue decides: sends its requests,
/// hands it the answers, and tells the callers.
class lock_path {
public:
    /// `idle` is called, later, when nobody needs the path any more.
    lock_path(session_core&, std::string path, naming names, std::function<void()> idle);
    ~lock_path();
    lock_path(const lock_path&) = delete;
    lock_path& operator=(const lock_path&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] naming names() const noexcept { return names_; }
    [[nodiscard]] bool idle() const noexcept;

    std::shared_ptr<acquisition> acquire(queue::contender_id, acquire_request);

    // --- called by its contenders -----------------------------------------------------------------------------------

    /// The caller wants no more of it.
    void leave(lock_contender&);
    /// It has waited, and has to stop.
    void give_up(lock_contender&, errc why);

    // --- called by the session ----------------------------------------------------------------------------------------

    void epoch_began();
    void contact_lost() { queue_.contact_lost(); }
    /// Nobody can be granted under the lease that the server gives.
    void refuse_all(errc why);
    void epoch_ended();
    void session_ended();
    void lease_lapsed();
    /// Nothing will be sent any more: what waits, and releases under way, end with `why`; what is held is lost.
    void stop(errc why);
    /// Has the node of a holder that holds on watched. False when there is none to look at again.
    bool notice_long_holder(store::scheduler::time_point now);
    /// Does whatever can be done now.
    void advance();
    enum class sent { create, nothing_to_create, no_room };
    /// Sends one create that has waited for the node budget.
    sent create_one();
    /// A node event for the child of that name.
    void on_node_event(store::event_kind, std::string_view node);

private:
    using contender_ptr = std::shared_ptr<lock_contender>;

    void look(const contender_ptr&);
    sent send_create();
    void act();
    void create(lock_contender&);
    void on_created(lock_contender&, const store::create_reply&);
    void make_path(parent_kind);
    void perform(const queue::action&);
    void send_read();
    void send_inspect(const contender_ptr&, const std::string& node);
    void send_watch(const std::string& node);
    void send_remove(const contender_ptr&, const std::string& node);
    /// For what the server has refused, and may not refuse for ever.
    void after_a_while(std::function<void()> f);
    /// Takes the token from the czxid of the contender's node, and checks the numbers it got.
    bool numbered(lock_contender&, std::int64_t czxid, std::int32_t sequence);
    void grant(lock_contender&);
    void forget(queue::contender_id);
    /// Ends the wait of all, or only of those who wait like that.
    void fail_waiting(errc why, std::optional<patience> only = {});
    [[nodiscard]] std::string full(std::string_view node) const;
    /// Wraps the function that takes an answer: the path stays as long as one is due.
    template <class F> auto expect(F f)
    {
        ++answers_due_;
        return [this, f = std::move(f)](const auto& answer) {
            --answers_due_;
            if (answer.result == store::outcome::unknown)
                core_.contact_lost();
            f(answer);
            advance();
        };
    }

    session_core& core_;
    const std::string path_;
    const naming names_;
    const std::function<void()> on_idle_;
    queue::lock_queue queue_;
    parent_maker parents_;
    std::unordered_map<queue::contender_id, contender_ptr> contenders_;
    std::size_t answers_due_ = 0;
    queue::contender_id holder_ = 0; ///< the last one granted
    store::scheduler::time_point held_since_{};
    bool synced_ = false; ///< how the last sync went
    bool idle_told_ = false;
};

} // namespace zklock::recipes
