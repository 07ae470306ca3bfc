#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/acquisition/acquire_events.hpp"
#include "recipes/acquisition/requested_acquisition.hpp"
#include "recipes/handoffs/handoffs.hpp"
#include "recipes/session/session.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace zklock::recipes {

class lock_path;

/// One acquire on a lock_path: what its caller asked, and what it has been told so far.
class lock_contender final
    : public requested_acquisition<lock_contender, wanted_lock, lock_path, std::unique_ptr<acquire_events>> {
public:
    lock_contender(session&, lock_path*, queue::contender_id, acquire_request&&);
    ~lock_contender() override;

    [[nodiscard]] unsigned attempts() const noexcept override { return creates; }
    bool downgrade(std::function<void(error_code, recipes::grant)> done) override;
    [[nodiscard]] bool stands_on(const recipes::grant&) const noexcept override;

    // --- for its path ------------------------------------------------------------------------------------------------

    [[nodiscard]] bool lost() const noexcept { return state_.lost(); }
    [[nodiscard]] acquire_mode mode() const noexcept { return call_.mode; }
    [[nodiscard]] queue::contender_kind kind() const noexcept { return request_.kind; }
    /// What its node's data says of it.
    [[nodiscard]] const std::string& data() const noexcept;
    /// It takes part in hand-offs past the servers. The line of a semaphore does not: permits are taken under its lock.
    [[nodiscard]] bool hands_over() const noexcept { return call_.hands_over && !request_.internal; }

    [[nodiscard]] bool listens() const noexcept { return events_ != nullptr; }
    /// Its node was created, and has that full path; to be called only if it has a listener. That is told later, with
    /// whom it waits behind, unless it is known or the wait is over.
    void queued(std::string_view node) noexcept;
    /// Says who it is, as others may see it.
    void describe(zklock::contender& as) const;
    void grant(std::string node, std::int64_t fencing_token, store::scheduler::time_point now);
    /// Ends the wait without the lock, if it has not ended.
    void fail(errc);
    /// The lock is lost, if it is held; `node` is the name of its node, which may be gone, too.
    void lose(std::string_view node);
    /// Others have asked it to let go: tells its holder, if he wants to know.
    void revoke() { tell_asked(); }
    /// Its downgrade is being sent.
    void leaves_its_node() noexcept { leaves_its_node_ = true; }
    /// It has become a reader, whose node that is; or the downgrade was refused. Tells who waits for that, if anybody.
    void finish_downgrade(error_code, std::string node);
    /// The node is gone, or could not be deleted now: tells who waits for the release.
    void finish_release(error_code);
    /// Its node should be gone, with its session: nobody waits for its release any longer. Its end is still told.
    void wait_no_longer();
    /// Its node is gone, and no delete of it is under way. If none of them can have done that, others have deleted it:
    /// what it held was lost before it was given back.
    void node_vanished(std::string_view node);
    /// What it held was lost before the release could be done.
    void release_lost(std::string_view node);
    // Its delete: it is sent; the answer to it.
    void delete_sent() noexcept { deleting_ = true; }
    void delete_answered(store::outcome, bool vanished = false) noexcept; ///< `vanished` before, as was heard
    [[nodiscard]] bool deleting() const noexcept { return deleting_; }
    /// Its path goes away, with its node, of that name, if it holds. Nobody will be told anything any more.
    void detach(std::string_view node) noexcept;

    const queue::contender_id id;
    unsigned creates = 0;        ///< that were sent
    errc setback = errc::lost;   ///< why the last one was not enough
    std::int64_t czxid = 0;      ///< of its node
    unsigned grants_before = 0;  ///< of that czxid: what its token counts
    unsigned further_grants = 0; ///< how many grants more that can count
    std::size_t reserved = 0;    ///< bytes of the node budget
    handoffs::offered offer;     ///< its node, where others may ask for it

private:
    void give_back() override;
    [[nodiscard]] known_wait waits_for() override;
    void time_out(errc why) override;
    void log_loss(const lock_loss&, std::string_view node) const noexcept;
    void tell_downgraded(error_code, std::string node);

    bool leaves_its_node_ = false;
    bool gives_back_ = false;     ///< what it held, and nobody was told yet how that has ended
    bool deleting_ = false;       ///< the answer to a delete of its node is due
    bool may_be_deleted_ = false; ///< by a delete of its own
    bool found_gone_ = false;     ///< by its delete: so the session lived, and did not take the node along
    std::int64_t fencing_token_ = 0;
};

} // namespace zklock::recipes
