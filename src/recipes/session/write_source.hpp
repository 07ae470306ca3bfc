#pragma once
#include "store/store.hpp"

#include <boost/container/deque.hpp> // unlike the standard's, takes no memory while empty

#include <cstdint>
#include <string>
#include <string_view>

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
    write_source() = default;
    write_source(const write_source&) = delete;
    write_source& operator=(const write_source&) = delete;

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

} // namespace zklock::recipes
