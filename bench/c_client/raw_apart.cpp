// The floor of a hand-off between processes: from the delete of a node in one to the event in another that watched.
#include "c_client/neighbours.hpp"
#include "c_client/raw.hpp"
#include "driver/board.hpp"

#include <optional>

namespace zklock::bench {

namespace {

/// The processes form a ring and have turns. Whose turn it is creates a node, tells the next one its name, waits
/// until that one watches it, and for the time of a hold, and deletes it. All but the delete and its event is told
/// past the servers, and is not timed.
class ring : public raw_scene {
public:
    explicit ring(request asked) : raw_scene(std::move(asked)), tally_(asked_) {}

    void set_up() override
    {
        raw_scene::set_up();
        board_.emplace(asked_);
        neighbours_.emplace(asked_);
        loop_.on_input(neighbours_->socket(), [this] { hear(); });
        session_->on_event = [this](int type, const char*) { on_event(type); };
    }
    report measure() override
    {
        tally_.begin(board_->start(), seconds());
        if (neighbours_->self() == 0)
            loop_.call_at(board_->start(), [this] { take_turn(); });
        over_ = false;
        loop_.run_until([this] { return over_ && !removing_; });
        return tally_.take();
    }
    void tear_down() override
    {
        loop_.on_input(neighbours_->socket(), nullptr);
        neighbours_.reset();
        raw_scene::tear_down();
    }

private:
    void take_turn()
    {
        if (tally_.over())
            return end(neighbours_->self());
        session_->create(contender_prefix(path()), contender_flags, [this](int code, const char* name) {
            check(code, "create");
            node_ = name;
            neighbours_->tell_next("held " + node_);
        });
        loop_.update(*session_);
    }
    void hear()
    {
        while (const auto heard = neighbours_->hear()) {
            const auto space = heard->find(' ');
            const auto word = heard->substr(0, space), rest = heard->substr(space + 1);
            if (word == "held")
                watch(rest);
            else if (word == "watched")
                hold();
            else
                end(std::stoll(rest));
        }
    }
    void watch(const std::string& node)
    {
        session_->get_and_watch(node, [this](int code, const char*) {
            check(code, "get");
            neighbours_->tell_previous("watched -");
        });
        loop_.update(*session_);
    }
    void hold()
    {
        const std::chrono::microseconds time{asked_.number("hold_us")};
        if (time.count() == 0)
            remove();
        else
            loop_.call_at(steady_clock::now() + time, [this] { remove(); });
    }
    void remove()
    {
        removing_ = true;
        board_->releasing();
        session_->remove(node_, [this](int code, const char*) {
            check(code, "delete");
            removing_ = false;
        });
        loop_.update(*session_);
    }
    void on_event(int type)
    {
        const auto now = steady_clock::now();
        if (type != ZOO_DELETED_EVENT)
            throw std::runtime_error("not the event of a delete");
        tally_.granted(now, now, board_->granted(now));
        take_turn();
    }
    /// Told by each to the next, until it would come back to the one that began.
    void end(std::int64_t first)
    {
        over_ = true;
        if (neighbours_->next() != first)
            neighbours_->tell_next("over " + std::to_string(first));
    }

    tally tally_;
    std::optional<board> board_;
    std::optional<neighbours> neighbours_;
    std::string node_;
    bool over_ = false, removing_ = false;
};

} // namespace

std::unique_ptr<workload> make_raw_apart_workload(const request& asked)
{
    if (asked.workload == "handoff" && asked.number("processes", 0) != 0)
        return std::make_unique<ring>(asked);
    return nullptr;
}

} // namespace zklock::bench
