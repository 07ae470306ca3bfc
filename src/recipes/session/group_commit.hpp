#pragma once
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"

#include <boost/container/deque.hpp> // unlike the standard's, takes no memory while empty

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

class write_source;

/// A create or a delete of one node.
struct node_write {
    /// Its source is told what became of it.
    void answered(const store::create_reply&) const;

    write_source* by = nullptr;
    std::uint64_t id = 0; ///< the source's own, by which it knows the node
    bool creates = false; ///< an ephemeral sequential node; or deletes
    // What it says, as the source has filled it in:
    std::string node;                    ///< full path; of a create, without the number
    std::string_view data;               ///< of a create; to be kept by the source until the answer
    const access_list* access = nullptr; ///< of a create, kept as the data are; null: the client's
};

/// One that makes and deletes nodes by way of group_commit. It has its writes that wait there. All nodes that it makes
/// have one parent.
class write_source {
public:
    write_source& operator=(write_source&&) = delete;

    /// The write is about to be sent: fills in what it says. False if it is not needed any more, or cannot be done. If
    /// it is a create, name_create() is called in either case: after false, not with the same node again.
    virtual bool prepare(node_write&) = 0;
    /// A create that was refused together with others is sent alone.
    virtual void create_goes_again(std::uint64_t id) = 0;
    virtual void on_created(std::uint64_t id, const store::create_reply&) = 0;
    virtual void on_removed(std::uint64_t id, store::outcome) = 0;
    /// The czxid of a node follows. The czxids are told because tokens are made of them.
    virtual void expect_czxid() = 0;
    /// The czxid of the node that was made by that write; 0 if it could not be learnt.
    virtual void on_czxid(const node_write&, std::int64_t czxid) = 0;
    /// Some of its writes were prepared, and are sent.
    virtual void writes_sent() = 0;
    /// Some of its writes were answered: it does what is next.
    virtual void writes_answered() = 0;

protected:
    ~write_source() = default;

private:
    friend class group_commit;
    using ids = boost::container::deque<std::uint64_t>;

    [[nodiscard]] bool has_write(bool urgent) const noexcept
    {
        return !urgent_removes_.empty() || !removes_.empty() || (!urgent && create_ != 0);
    }

    ids urgent_removes_;       ///< others may be waiting for them
    ids removes_;              ///< may wait, and go along with other writes
    std::uint64_t create_ = 0; ///< 0: none
    bool in_line_ = false;
    bool in_urgent_line_ = false;
    bool touched_ = false; ///< writes_sent() or writes_answered() is to be called
};

inline void node_write::answered(const store::create_reply& answer) const
{
    if (creates)
        by->on_created(id, answer);
    else
        by->on_removed(id, answer.result);
}

inline constexpr std::size_t most_bytes_of_a_batch = 256 * 1024; ///< of paths and data: a quarter of what servers read

/// Sends the creates and deletes of all sources of a client. A lone write leaves at once; while others are under way,
/// the next ones gather, and go together as one transaction: one write of each source, in the order in which the
/// sources came, then the next of each. Only a delete that another client may be waiting for does not wait for those
/// under way: it goes at the end of the turn, and takes along what has gathered.
///
/// The idea is the group commit of databases: the price of a transaction is shared, and the busier a client is, the
/// less each of its locks costs.
///
/// What waits is, of each source, the nodes to be deleted and the next to be created, by their ids: a write is made of
/// each right before it is sent, and the source fills in what it says. So a write that is not needed any more is not
/// sent, the others say what is known by then, and a source reserves memory and budget for a write only when it goes.
/// And a token counts a node's place among those that its path makes in one transaction, which is known only when that
/// is put together. (nghttp2 asks for the data of an HTTP/2 stream in the same way.) Each source has ids of its own,
/// because no source is to wait for all that another one has, and a source takes back what is its own.
class group_commit : session_part {
public:
    using session_part::session_part;

    /// The node of that id is to be deleted. `urgent`: another client may be waiting for that.
    void remove(write_source&, std::uint64_t id, bool urgent);
    /// The node of that id is the next to be created for the source, in place of the one named before; 0: none.
    void name_create(write_source&, std::uint64_t id);
    /// The source takes back what was not sent. `unsent` is told each delete.
    template <class F> void take_back(write_source& source, F unsent)
    {
        source.create_ = 0;
        for (auto* ids : {&source.removes_, &source.urgent_removes_})
            for (std::uint64_t id : std::exchange(*ids, {}))
                unsent(id);
    }
    /// Sends what may go now. Called when a step of a source is complete.
    void proceed();
    /// Nothing is under way any more, and nothing may be sent.
    void epoch_ended();
    void forget(write_source&);

private:
    using writes = std::span<const node_write>;
    /// What is sent together. Its memory, and that of the strings in it, serves what is sent later.
    struct batch {
        std::vector<node_write> room;
        std::size_t count = 0; ///< how many of them are in use

        [[nodiscard]] writes all() const noexcept { return {room.data(), count}; }
    };
    using shared_batch = std::shared_ptr<batch>;

    void join(write_source&, bool urgent);
    void gather_until_the_turn_ends();
    void flush();
    [[nodiscard]] shared_batch take();
    void put_back(const shared_batch&);
    void take_one(std::deque<write_source*>& line, bool urgent, batch& to, std::size_t& bytes);
    [[nodiscard]] static bool next_of(write_source&, bool urgent, node_write&);
    void send();
    void send_alone(const shared_batch& of, const node_write&);
    void alone_answered(const shared_batch& of, write_source&);
    void send_together(const shared_batch&);
    void on_answer(const shared_batch&, const store::batch_reply&);
    void note_done(const node_write&, std::string_view node, bool last_of_source);
    void on_failure(const shared_batch&, const store::batch_reply&);
    /// All of one transaction have one czxid: a look at one of them tells it.
    void learn_czxid(const shared_batch&, std::string_view one, lease_clock::time_point sent);
    static void tell_sources(writes, bool only_of_creates = false);

    std::deque<write_source*> line_;        ///< those that have writes, each once
    std::deque<write_source*> urgent_line_; ///< those that have a delete that does not wait, each once
    std::vector<write_source*> served_;     ///< whose writes were prepared for what is being sent
    std::vector<shared_batch> spare_;       ///< answered
    std::vector<store::batch_write> sent_;  ///< what is being sent
    unsigned under_way_ = 0;
    bool gathering_ = false; ///< until the end of the turn
    bool sending_ = false;
};

} // namespace zklock::recipes
