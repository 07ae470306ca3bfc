#pragma once
#include "bridge/connection/history_check.hpp"
#include "ensemble.hpp"
#include "process.hpp"
#include "scarce_memory.hpp"
#include "testing/requesting_store.hpp"

#include <unordered_set>

namespace zklock::simulator {

/// The store over the simulated ensemble: what the bridge makes of the C client, with every liberty the contract
/// leaves, and complaints when the recipes break their side of it.
class simulated_store final : public testing::requesting_store<store::node_store, plenty_of_memory>, public endpoint {
public:
    simulated_store(world& w, ensemble& e, process& p, unsigned number);
    /// The process died: the kernel closes its connection.
    void abandon();

    void attach(::zklock::store::observer& o) override;
    void close(std::function<void()> closed) override;
    void give_up_session() override
    {
        if (!world_.writes_undone)
            world_.violate(name_ + " gives its session up, and the servers have all it wrote");
        history_.end_session();
        hindered_ = world_.time.now();
        cut();
    }

    memory_boundary* library = nullptr; ///< around all that it calls, if there is one

    // faults
    void cut();                                  ///< notices at once
    void block(instant duration);                ///< nothing travels, nobody is told
    void plan(std::vector<placed_fault> faults); ///< instead of faults by chance
    [[nodiscard]] bool connected() const noexcept { return state_ == state::open; }
    /// Nothing has happened to its connection, though perhaps nobody has noticed.
    [[nodiscard]] bool undisturbed() const noexcept
    {
        return connected() && connection_->client_open && connection_->server_open &&
               blocked_until + instant(world_.set.a_while()) < world_.time.now();
    }
    /// There is no connection, and nothing has come for the session's time-out and so much more.
    [[nodiscard]] bool silent(process::time_point::duration more) const
    {
        return session_ != 0 && !connected() && process_.now() - heard_ >= session_timeout_ + more;
    }
    /// That is so, or was until just now.
    [[nodiscard]] bool overdue() const
    {
        return silent({}) ||
               (overdue_until_ != process::time_point() && process_.now() - overdue_until_ <= world_.set.promptly());
    }
    /// Since then it is connected, and all that it has asked for was answered in a small part of what the tick
    /// leaves of the time-out.
    [[nodiscard]] bool served_since(instant when) const
    {
        const bool waits = !outstanding_.empty() && is_slow(outstanding_.front());
        return connected() && hindered_ <= when && !waits;
    }
    [[nodiscard]] std::int64_t session_id() const noexcept { return session_; }
    /// Grows when a connection is lost, and again when all that was asked for meanwhile has been answered as unknown.
    [[nodiscard]] std::uint64_t epoch_ends() const noexcept { return epoch_ends_; }
    /// When the client was told that this node is gone, if it was: by an event or an answer that the locks look at.
    /// (What a mere list of contenders comes across is not among them.)
    [[nodiscard]] std::optional<instant> told_deleted(const std::string& path) const;
    /// When an event last told it that this node's data are others now, unless it has read them since.
    [[nodiscard]] std::optional<instant> told_changed(const std::string& path) const;
    /// A list of children shows the node that it was given promptly before now, and not before `since`.
    [[nodiscard]] bool was_listed(const std::string& path, instant since) const;
    /// An answer to a create of that node was lost, or to a write of its data.
    [[nodiscard]] bool in_doubt(const std::string& path) const { return in_doubt_.contains(path); }
    /// It is the node that the client has found there first after such an answer, by a look that was the first thing it
    /// did on the next connection.
    [[nodiscard]] bool found_first(const std::string& path, std::int64_t czxid) const
    {
        const auto found = in_doubt_.find(path);
        return found != in_doubt_.end() && found->second == czxid;
    }
    /// It has not looked there so.
    [[nodiscard]] bool never_looked(const std::string& path) const
    {
        return found_first(path, 0) && !looked_in_vain(path);
    }
    /// That look was refused; or it found nothing, and may have been answered from the past.
    [[nodiscard]] bool looked_in_vain(const std::string& path) const { return looked_in_vain_.contains(path); }
    /// The servers have not told it of the end of that node, for it could not be read, and nothing since says that it
    /// has to look again: neither a refusal of what the locks ask for there (but for lists without a watch, which users
    /// ask for, too), nor an answer to another such watch.
    [[nodiscard]] bool unaware_of_end(const std::string& path) const { return unseen_ends_.contains(path); }
    /// Who is told what the client was shown by exists(): nothing of a node that it may not read.
    std::function<void(const std::string& path, const ::zklock::store::node_stat*)> on_look;
    /// Who is told of the data that are sent to replace those of a node.
    std::function<void(const std::string& data)> on_set;

private:
    enum class state : std::uint8_t { idle, opening, open, ending, closing, closed };
    using callback = testing::callback;
    struct waiting {
        testing::request asked;
        ::zklock::store::scheduler::time_point sent{};
        callback call;
        bool unsent = false; ///< made after the loss of the connection, and not sent
        bool first = false;  ///< made as soon as all was known that epochs begin with
        bool synced = false; ///< and behind a sync
    };

    [[nodiscard]] bool is_slow(const waiting& w) const
    {
        return 32 * (process_.now() - w.sent) > world_.set.shortest_session() - world_.set.tick;
    }

    void received(const connection_ptr& from, answer a) override;
    void closed(const connection_ptr& which) override;

    void submit(testing::request r, callback call) override;
    [[nodiscard]] bool may_submit(const std::string& name, const testing::request& r);
    void send_close();
    void note_deleted(const waiting& w, const answer& a);
    void note_watch(const waiting& w, const answer& a);
    void note_doubt(const waiting& w, const answer& a);
    void look_at_doubt(const waiting& w, const answer& a);
    [[nodiscard]] fate fate_of_next();
    void attempt();
    void ask();
    void question_answered(const answer& a);
    void attempt_failed(bridge::session_answer);
    void attempt_later();
    [[nodiscard]] bool session_should_be_over() const;
    void deliver(const connection_ptr& from, const answer& a);
    void deliver_connect(const answer& a);
    void call_back(const waiting& w, const answer& a);
    /// Calls a function of the library's, whose memory may fail.
    template <class F> void tell(F f)
    {
        if (library)
            library->run(f);
        else
            f();
    }
    void end_epoch(); ///< the client's end of the connection is gone
    void end_epoch_step();
    void keep_alive();
    void finish_close();
    void say(const std::string& what);

    world& world_;
    ensemble& ensemble_;
    process& process_;
    unsigned number_;
    std::string name_;
    ::zklock::store::observer* observer_ = nullptr;
    state state_ = state::idle;
    bool attached_ = false;
    bool telling_connected_ = false;
    bool synced_ = false;     ///< a sync was asked for among these
    bool only_looks_ = false; ///< were asked for in this epoch, and syncs
    connection_ptr connection_;
    std::int64_t session_ = 0;
    std::chrono::milliseconds session_timeout_{0}; ///< as granted
    lease_clock::time_point asked_{};              ///< when the last attempt to connect began
    std::int64_t told_session_ = 0;                ///< of the last on_connected
    std::int64_t last_zxid_ = 0;
    bool may_lag_ = false; ///< that was forgotten
    bridge::history_check history_;
    std::size_t votes_ = 0; ///< in this cycle: see history_check
    unsigned server_ = 0;   ///< of the present or last attempt
    unsigned tried_ = 0;    ///< servers of this cycle, a bit for each
    std::uint64_t last_request_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t attempts_ = 0;
    std::uint64_t epoch_ends_ = 0;
    std::deque<waiting> outstanding_;
    instant hindered_{0}; ///< when it was last connected, or gave a session up; an answer was slow, or a sync refused
    process::time_point heard_{};
    process::time_point overdue_until_{}; ///< when the last such silence ended
    process::time_point sent_{};
    std::function<void()> on_closed_;
    bool planned_ = false;
    std::vector<placed_fault> plan_;
    std::unordered_map<std::string, instant> told_deleted_;
    std::unordered_map<std::string, instant> told_changed_;
    std::unordered_map<std::string, instant> listed_;        ///< when a list last showed them
    std::unordered_map<std::string, std::int64_t> in_doubt_; ///< with the czxid of what was found first; 0: nothing yet
    std::unordered_set<std::string> looked_in_vain_;
    std::unordered_set<std::string> watched_; ///< in this epoch, and nothing has been refused there since
    std::unordered_set<std::string> unseen_ends_;
};

} // namespace zklock::simulator
