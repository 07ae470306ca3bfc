#pragma once
#include "store/store.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zklock::recipes {

class write_source;

/// A create or a delete that a source wants done.
struct node_write {
    write_source* by = nullptr;
    std::uint64_t id = 0; ///< the source's own, by which it knows the node
    bool creates = false; ///< an ephemeral sequential node; or deletes
    std::string node;     ///< full path; of a create, without the number
    std::string_view data; ///< of a create; to be kept by the source until the answer
    const access_list* access = nullptr; ///< of a create, kept as the data are; null: the client's
};

/// One that makes and deletes nodes by way of group_commit: it joins the line there, and is asked what it has to write
/// when that can be sent. All nodes that it makes have one parent.
class write_source {
public:
    write_source() = default;
    write_source(const write_source&) = delete;
    write_source& operator=(const write_source&) = delete;

    /// Gives what it has to write next; false if there is nothing after all. If `urgent`, that is a delete that does
    /// not wait, and nothing else.
    virtual bool next_write(bool urgent, node_write&) = 0;
    /// Whether next_write() may have something to give.
    [[nodiscard]] virtual bool has_write(bool urgent) const = 0;
    /// A create that was refused together with others is sent alone.
    virtual void create_goes_again(std::uint64_t id) = 0;
    virtual void on_created(std::uint64_t id, const store::create_reply&) = 0;
    virtual void on_removed(std::uint64_t id, store::outcome) = 0;
    /// The czxid of a node follows. The czxids are told because tokens are made of them.
    virtual void expect_czxid() = 0;
    /// The czxid of the node that was made by that write; 0 if it could not be learnt.
    virtual void on_czxid(const node_write&, std::int64_t czxid) = 0;
    /// It was asked for writes, and those that it had were sent.
    virtual void writes_sent() = 0;
    /// Some of its writes were answered: it does what is next.
    virtual void writes_answered() = 0;

protected:
    ~write_source() = default;

private:
    friend class group_commit;
    bool in_line_ = false;
    bool in_urgent_line_ = false;
    bool touched_ = false; ///< writes_sent() or writes_answered() is to be called
};

} // namespace zklock::recipes
