#pragma once
#include "connection.hpp"

namespace zklock::simulator {

/// Several ZooKeeper servers in memory and virtual time: a leader that orders the writes in a log, followers that
/// execute a prefix of it, sessions that the leader expires.
///
/// What it keeps of the real one: a connection's requests are answered in their order; a read sees the writes its
/// session made before it; a server answers reads from what it knows, however old; a sync brings it up to the leader;
/// watch events of a transaction leave before its own reply; nobody connects to a server that has seen less than he
/// has; the writes of a connection that its session has left are not executed; the leader learns only twice a tick whom
/// a follower has heard, and takes that server's word for how long such a session lives on.
class ensemble {
public:
    explicit ensemble(world& w);

    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(servers_.size()); }
    [[nodiscard]] const znode_tree& leaders_tree() const noexcept { return servers_[leader_].tree; }
    [[nodiscard]] bool alive(std::int64_t session) const noexcept;
    [[nodiscard]] std::int64_t last_zxid() const noexcept { return zxid_; }
    struct watch {
        std::int64_t session = 0;
        std::string path;
    };
    /// The watches of clients that are still connected.
    [[nodiscard]] std::vector<watch> watches() const;

    // a client's side
    connection_ptr connect(endpoint& client, unsigned client_number, unsigned server, std::int64_t session,
                           std::int64_t last_zxid_seen);
    void send(const connection_ptr& c, request r);
    void close(const connection_ptr& c); ///< by the client; the server notices later

    // whoever administers the ensemble: executed by the leader at once
    znode_tree::effect administrate(transaction t);
    void expire(std::int64_t session);
    void remove_idle_containers();
    /// Before the beginning, on all servers.
    void set_creates(const std::string& path, std::uint32_t creates);

    /// Who is told of all that is written, in its order, when the leader has executed it.
    std::vector<std::function<void(const transaction&, const znode_tree::effect&)>> on_written;

    // faults
    void hang_up(unsigned server);                   ///< on all its clients
    void restart(unsigned server, instant down);     ///< a follower; the leader too, and then another one leads
    void cut_off(unsigned server, instant duration); ///< a follower from the leader
    /// None of the servers has a quorum: they hang up on everybody.
    void all_down(instant duration);
    [[nodiscard]] instant all_down_until() const { return all_down_until_; }
    /// One of several servers that are down serves by itself until they are back, and has nothing of what they have: it
    /// was started with a wrong configuration. (To whoever wants a new session it says nothing here: no client could
    /// know.)
    void go_astray(unsigned server);
    /// What is written from now on is lost when the ensemble is set back. It is so much that nobody who has seen any of
    /// it is caught up with after that.
    void back_up();
    /// All servers, which are down, have no more than what was backed up; without that, they have nothing. In the
    /// worlds where that goes unnoticed, their next leader begins with a larger zxid than all before, and they keep
    /// nobody out.
    void set_back();
    [[nodiscard]] bool was_set_back() const noexcept { return was_set_back_; }
    /// The leader stands still and the others elect another at once. When it wakes it believes for up to a tick that it
    /// leads: it answers reads, reconnecting sessions and syncs from what it knew.
    void pause_leader(instant duration);
    /// The leader does not stand still: it is cut off from the others, and what it does from the moment on in which
    /// they give it up is the same, for up to a tick. They may need next to no time to elect another.
    void part_leader();
    /// Whether answers of a server may be on their way that led no more when it gave them, and did not know.
    [[nodiscard]] bool answers_from_the_past() const;

private:
    struct server {
        znode_tree tree;
        std::size_t applied = 0; ///< entries of the log
        bool up = true;
        bool astray = false;
        std::uint32_t incarnation = 0;
        instant cut_off_until{0};
        instant last_to_leader{0};
        instant last_from_leader{0};
        instant still_until{0};                  ///< its process is paused: what comes waits
        bool stale = false;                      ///< it leads no more, and does not know
        bool stuck = false;                      ///< and has proposed something that nobody will ever commit
        std::vector<std::int64_t> sessions_then; ///< those alive when it stopped
        bool report_due = false;
        std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> heard; ///< sessions to report to the leader
        std::vector<connection_ptr> clients;
    };
    struct session {
        bool alive = true;
        std::int64_t owner = 0;               ///< the connection
        std::chrono::milliseconds timeout{0}; ///< that it began with: a new leader knows no other
        instant deadline{0};
        instant check_at{0}; ///< of the expiry check that is under way
    };
    struct entry {
        transaction t;
        connection_ptr origin;    ///< who waits for it, if anybody
        std::uint64_t number = 0; ///< of the request
    };

    // a server with its clients
    void arrive(const connection_ptr& c, request r);
    [[nodiscard]] std::optional<store::outcome> refused_here(const connection& c, const request& r) const;
    void arrive_connect(const connection_ptr& c, const request& r);
    void answer_reads(const connection_ptr& c);
    void complete(const connection_ptr& c, std::uint64_t number, answer a);
    void reply(const connection_ptr& c, const request& r, answer a);
    void send_down(const connection_ptr& c, answer a);
    void drop(const connection_ptr& c, bool at_once);
    void forget(const connection_ptr& c);
    void fire(server& s, const znode_tree::effect& e);

    // servers with their leader
    void to_leader(unsigned server, std::function<void()> f);
    void from_leader(unsigned server, std::function<void()> f);
    void execute(const connection_ptr& c, const request& r);
    void forward(const connection_ptr& c, const request& r);
    void execute_stale(const connection_ptr& c, const request& r);
    void stop_serving(unsigned server);
    void look_up_sessions();
    void elect(unsigned next);
    void others_take_over(instant still, instant election, instant answers_on);
    void serve_again_after(unsigned server, instant down);
    void confirm_session(const connection_ptr& c, std::uint64_t number, answer a);
    znode_tree::effect append(entry e);
    znode_tree::effect execute_next(server& s);
    void catch_up(server& s);

    // sessions, at the leader
    [[nodiscard]] std::chrono::milliseconds granted_by(unsigned server) const;
    void heard(const connection& from);
    void touch(std::int64_t session, std::chrono::milliseconds timeout);
    void check_expiry_at(std::int64_t session, instant when);
    void check_expiry(std::int64_t session, instant at);

    world& world_;
    std::vector<server> servers_;
    instant past_answered_until_{0};
    unsigned leader_ = 0;
    std::vector<std::shared_ptr<const entry>> log_;
    std::map<std::int64_t, session> sessions_;
    std::int64_t zxid_ = (std::int64_t{1} << 32);
    std::int64_t epoch_ = 1;
    instant all_down_until_{0};
    bool was_set_back_ = false;
    std::size_t kept_ = 0; ///< so many entries of the log are in the backup
    std::int64_t kept_zxid_ = 0;
    std::int64_t begun_with_ = 0; ///< zxid that all servers have, at least
    [[nodiscard]] std::int64_t zxid_of(const server& s) const
    {
        return std::max(begun_with_, s.applied == 0 ? 0 : log_[s.applied - 1]->t.zxid);
    }
    std::int64_t next_session_ = 0x1000'0001;
    std::int64_t next_connection_ = 1;
};

} // namespace zklock::simulator
