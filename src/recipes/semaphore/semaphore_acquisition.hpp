#pragma once
#include "recipes/acquisition/requested_acquisition.hpp"
#include "recipes/semaphore/permit_node.hpp"
#include "recipes/session/session.hpp"
#include "zklock/lock_options.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::recipes {

class semaphore_path;

struct wanted_permits {
    std::string path;
    semaphore_options options;
    std::size_t count = 1;

    [[nodiscard]] const semaphore_options& own_options() const noexcept { return options; }
};
struct permits_request : acquire_call, wanted_permits {};

/// One acquire of some permits of a semaphore: all of them, or none. First it takes the lock of the waiting line. While
/// it has that, it makes a node for each permit, and waits until there are no more such nodes, of all clients, than the
/// semaphore has permits. Then it gives the lock back.
class semaphore_acquisition final : public requested_acquisition<semaphore_acquisition, wanted_permits, semaphore_path,
                                                                 std::shared_ptr<permit_events>> {
public:
    /// `id`: for its listener; no other acquire of the client has it.
    semaphore_acquisition(session&, semaphore_path*, std::uint64_t id, permits_request);
    ~semaphore_acquisition() override;

    [[nodiscard]] unsigned attempts() const noexcept override { return 1 + setbacks_; }
    [[nodiscard]] std::vector<std::string> nodes_of(const grant& given) const override;
    /// How many permits it has. May be called from any thread, after a grant.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    using part = std::shared_ptr<semaphore_acquisition>;
    /// Takes so many of them out, at least one: an acquisition of their own holds them from now on. `both_hold` is
    /// called with it once it holds them, and before this one holds them no more. Null, and nothing happens, when this
    /// one does not hold, or not so many.
    [[nodiscard]] part split(std::size_t count, const std::function<void(const part&)>& both_hold = {});
    /// The grant of its permits: the node of the first, and the token of all.
    [[nodiscard]] grant given() const;

    // --- for its path ------------------------------------------------------------------------------------------------

    /// Takes its place in the waiting line.
    void line_up();
    [[nodiscard]] const wanted_permits& request() const noexcept { return request_; }
    /// It has the lock of the line.
    [[nodiscard]] bool at_head() const
    {
        return place_ && place_->granted && place_->lock->held(session_.scheduler.now());
    }
    /// The last list, read since its nodes were made, has shown too many permits in use.
    [[nodiscard]] bool lacks_room() const noexcept { return no_room && !nodes.empty(); }
    void grant_all();
    /// The wait ends without permits; nothing happens if it has ended.
    void fail(error_code why);
    /// The permits are gone; nothing happens if none are held. `node`: the one that is not there, if that is why.
    void lose(std::string_view node = {});
    /// Something is happening to its session or its lease that may cost it its place in the line.
    void note_setback(errc why) noexcept { setback_ = why; }
    /// Something has cost it a node before it was granted. False: that was its last attempt, and it has failed.
    bool attempt_again(errc why);
    /// It has lost its place at the head of the line, or a node that it made there: it lines up once more.
    void begin_anew();
    /// Others have deleted that node of its.
    void node_gone(std::string_view node);
    /// Somebody has asked the holder of one of its nodes to let go.
    void revoked();
    /// Lets go of what it had or wanted.
    void drop_all();
    /// A permit was given back, and its node is gone, or is to be deleted later. With the last the caller is told. True
    /// if that is the first that was lost.
    bool returned(error_code ec);
    /// Its session should be over: nobody waits for its release any longer.
    void wait_no_longer();
    void log_loss(const lock_loss&, std::string_view node) const noexcept;
    /// Its path goes away. Nobody will be told anything any more.
    void detach() noexcept;

    std::uint64_t id = 0;          ///< in the order in which its path got to know them
    std::vector<permit_ptr> nodes; ///< one for each permit that it wants or has
    bool no_room = false;          ///< for these: the last list has shown too many permits in use

private:
    /// A place in the line.
    struct place {
        std::shared_ptr<acquisition> lock;
        bool granted = false;
        bool dropped = false; ///< too late to withdraw: given back when it comes
    };

    [[nodiscard]] known_wait waits_for() override;
    void time_out(errc why) override { fail(why); }
    /// There is one while it holds.
    [[nodiscard]] const std::string& first_node() const noexcept { return nodes.front()->name; }
    void leave_line();
    void give_back() override;
    void drop_nodes(const std::shared_ptr<semaphore_acquisition>& ending);
    void on_place(const std::shared_ptr<place>&, error_code, const grant&);

    unsigned setbacks_ = 0;     ///< attempts that were used up
    errc setback_ = errc::lost; ///< what the next one would be
    std::shared_ptr<place> place_;
    bool revoked_ = false; ///< as the log says
    std::int64_t token_ = 0;
    std::atomic<std::size_t> count_{0};
    std::size_t due_ = 0; ///< how many permits have not been given back, though released
    error_code first_;    ///< the first error of that, or that one of them was lost
};

} // namespace zklock::recipes
