#pragma once
#include "store/store.hpp"
#include "zklock/node.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::testing {

/// What a node's access list lets ordinary sessions do. They have shown no credentials.
struct permissions {
    bool create = true; ///< children
    bool remove = true; ///< children
    bool read = true;
    bool write = true;
    bool admin = true;
};

using shared_access = std::shared_ptr<const access_list>; ///< null: anybody may do anything

/// Whether servers take such a list from a session that has shown no credentials.
[[nodiscard]] bool is_valid(const access_list&);
/// What it lets such sessions do.
[[nodiscard]] permissions allowed_by(const access_list&);
/// The list as it is shown to a session that may not set it.
[[nodiscard]] access_list without_hashes(const access_list&);

/// One write as the leader orders it. Every replica that executes the same ones in the same order has the same tree.
struct transaction {
    enum class kind : std::uint8_t {
        create,
        remove,
        set_data,
        check_version,
        batch,           ///< the parts in their order, all or none
        set_permissions, ///< what the tree goes by: the access list is shown as it was
        set_access,
        open_session,
        close_session,
        remove_idle_container
    };
    /// No session's: whoever administers the ensemble. Not bound by access lists.
    static constexpr std::int64_t administrator = 0;

    kind what = kind::create;
    std::string path{};
    std::string data{};
    store::node_kind node = store::node_kind::persistent;
    permissions allowed{};
    shared_access access{};                    ///< of a create or a set_access
    std::int32_t version = store::any_version; ///< of the node to be removed, set or checked; or of its access list
    std::vector<transaction> parts{};          ///< of a batch: what, path, data, node and version
    std::int64_t session = administrator;      ///< who writes, or which session opens or closes
    std::int64_t zxid = 0;
    std::int64_t time_ms = 0; ///< leader's clock
};

/// The nodes as one server knows them.
class znode_tree {
public:
    /// How the servers mark a container.
    static constexpr std::int64_t container_owner = std::numeric_limits<std::int64_t>::min();

    struct node {
        std::string data;
        std::int64_t czxid = 0;
        std::int64_t ctime_ms = 0;
        std::int64_t mzxid = 0;
        std::int64_t mtime_ms = 0;
        std::int64_t pzxid = 0;
        std::int64_t owner = 0;
        std::int32_t version = 0;
        std::uint32_t creates = 0; ///< children made so far: the next sequence number
        std::int32_t children = 0;
        permissions allowed;
        shared_access access;
        std::int32_t acl_version = 0;
    };

    /// What sets off watches. A deletion sets off both kinds of the node, and is told once.
    struct event {
        store::event_kind kind = store::event_kind::created;
        std::string path;
        bool hidden = false; ///< the node may not be read: its watches are used up, and nobody is told
    };
    struct effect {
        store::outcome result = store::outcome::ok;
        std::string path{};                                ///< of a create, with its sequence number
        store::node_stat stat{};                           ///< of a create, or of the node whose data was set
        std::vector<std::string> created{};                ///< of a batch: the paths of its creates
        std::vector<store::node_stat> set{};               ///< of a batch: the nodes whose data it set
        std::size_t failed = store::batch_reply::no_write; ///< of a batch: the part that `result` is about
        std::vector<event> events{};
    };

    znode_tree();

    effect apply(const transaction& t);
    /// Why access lists forbid a create, a remove, a set_data or a set_access, if they do.
    [[nodiscard]] std::optional<store::outcome> refusal(const transaction& t) const;

    [[nodiscard]] const node* find(std::string_view path) const;
    /// Their names, sorted.
    [[nodiscard]] std::vector<std::string> children(std::string_view path) const;
    [[nodiscard]] std::vector<std::string> nodes_of(std::int64_t session) const;
    /// Empty containers that had a child once.
    [[nodiscard]] std::vector<std::string> idle_containers() const;
    [[nodiscard]] static store::node_stat stat(const node& n);
    /// Makes it as if `creates` children had been made already: for the beginning of a schedule.
    void set_creates(std::string_view path, std::uint32_t creates);

private:
    using nodes = std::map<std::string, node, std::less<>>;

    effect create(const transaction& t);
    effect remove(const transaction& t);
    effect set_data(const transaction& t);
    effect set_access(const transaction& t);
    effect check_version(const transaction& t) const;
    effect batch(const transaction& t);
    void erase(nodes::iterator at, std::int64_t zxid, effect& e);
    nodes::iterator parent_of(std::string_view path);
    void before_change(const std::string& path);

    nodes nodes_;
    bool undoable_ = false;                                           ///< in a batch
    std::vector<std::pair<std::string, std::optional<node>>> before_; ///< what it changed
};

} // namespace zklock::testing
