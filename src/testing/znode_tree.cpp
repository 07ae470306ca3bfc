#include "testing/znode_tree.hpp"

#include <algorithm>
#include <cstdio>

namespace zklock::testing {

using store::event_kind;
using store::node_kind;
using store::outcome;

namespace {

/// Ten digits; past 2^31 the servers' counter is negative, and so is the name.
std::string sequence_digits(std::uint32_t number)
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", static_cast<std::int32_t>(number));
    return digits;
}

} // namespace

bool is_valid(const access_list& list)
{
    return !list.entries().empty() && std::all_of(list.entries().begin(), list.entries().end(), [](const auto& entry) {
        if (entry.scheme == "world")
            return entry.id == "anyone";
        if (entry.scheme == "digest")
            return std::count(entry.id.begin(), entry.id.end(), ':') == 1;
        return entry.scheme == "ip" && !entry.id.empty();
    });
}

permissions allowed_by(const access_list& list)
{
    unsigned all = 0;
    for (const auto& entry : list.entries())
        if (entry.scheme == "world")
            all |= entry.allowed;
    return {(all & permission::create) != 0, (all & permission::remove) != 0, (all & permission::read) != 0,
            (all & permission::write) != 0, (all & permission::admin) != 0};
}

access_list without_hashes(const access_list& list)
{
    auto entries = list.entries();
    for (auto& entry : entries)
        if (entry.scheme == "digest")
            entry.id.replace(entry.id.find(':'), entry.id.npos, ":x");
    return access_list(std::move(entries));
}

znode_tree::znode_tree()
{
    nodes_.emplace("/", node{});
}

znode_tree::effect znode_tree::apply(const transaction& t)
{
    using kind = transaction::kind;
    effect e;
    switch (t.what) {
    case kind::create: return create(t);
    case kind::remove: return remove(t);
    case kind::set_data: return set_data(t);
    case kind::check_version: return check_version(t);
    case kind::batch: return batch(t);
    case kind::set_permissions:
        if (const auto at = nodes_.find(t.path); at != nodes_.end()) {
            at->second.allowed = t.allowed;
            return e;
        }
        return {.result = outcome::no_node};
    case kind::set_access: return set_access(t);
    case kind::open_session: return e;
    case kind::close_session: {
        auto paths = nodes_of(t.session);
        // The servers keep them in a hash set: the order of the events means nothing.
        if (!paths.empty())
            std::rotate(paths.begin(), paths.begin() + t.zxid % std::ssize(paths), paths.end());
        for (const auto& path : paths)
            erase(nodes_.find(path), t.zxid, e);
        return e;
    }
    case kind::remove_idle_container: {
        const auto at = nodes_.find(t.path);
        if (at == nodes_.end())
            return {.result = outcome::no_node};
        if (at->second.children != 0)
            return {.result = outcome::not_empty};
        if (at->second.owner != container_owner)
            return {.result = outcome::bad_arguments};
        erase(at, t.zxid, e);
        return e;
    }
    }
    return {.result = outcome::unimplemented};
}

std::optional<outcome> znode_tree::refusal(const transaction& t) const
{
    using kind = transaction::kind;
    if (t.access && !is_valid(*t.access))
        return outcome::invalid_acl;
    const bool of_the_parent = t.what == kind::create || t.what == kind::remove;
    const std::string_view path = t.path;
    const auto* at = find(of_the_parent ? path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)) : path);
    if (at == nullptr || t.session == transaction::administrator)
        return std::nullopt;
    const auto& allowed = at->allowed;
    const bool may = t.what == kind::create     ? allowed.create
                     : t.what == kind::remove   ? allowed.remove
                     : t.what == kind::set_data ? allowed.write
                                                : allowed.admin;
    return may ? std::nullopt : std::optional(outcome::no_auth);
}

znode_tree::effect znode_tree::create(const transaction& t)
{
    if (const auto why = refusal(t))
        return {.result = *why};
    const auto parent = parent_of(t.path);
    if (parent == nodes_.end())
        return {.result = outcome::no_node};
    auto& above = parent->second;
    if (above.owner != 0 && above.owner != container_owner)
        return {.result = outcome::no_child_allowed};

    effect e;
    e.path = store::is_sequential(t.node) ? t.path + sequence_digits(above.creates) : t.path;
    if (nodes_.contains(e.path))
        return {.result = outcome::node_exists};
    before_change(parent->first);
    before_change(e.path);
    node n;
    n.data = t.data;
    n.czxid = n.mzxid = n.pzxid = t.zxid;
    n.ctime_ms = n.mtime_ms = t.time_ms;
    if (store::is_ephemeral(t.node))
        n.owner = t.session;
    if (t.node == node_kind::container)
        n.owner = container_owner;
    if (t.access) {
        n.access = t.access;
        n.allowed = allowed_by(*t.access);
    }
    e.stat = stat(n);
    const bool hidden = !n.allowed.read;
    nodes_.emplace(e.path, std::move(n));
    above.pzxid = t.zxid;
    ++above.creates;
    ++above.children;
    e.events.push_back({event_kind::created, e.path, hidden});
    e.events.push_back({event_kind::children_changed, parent->first, !above.allowed.read});
    return e;
}

znode_tree::effect znode_tree::remove(const transaction& t)
{
    if (t.path == "/")
        return {.result = outcome::bad_arguments};
    const auto parent = parent_of(t.path);
    if (parent == nodes_.end())
        return {.result = outcome::no_node};
    // Before anything is said about the node itself.
    if (const auto why = refusal(t))
        return {.result = *why};
    const auto at = nodes_.find(t.path);
    if (at == nodes_.end())
        return {.result = outcome::no_node};
    if (t.version != store::any_version && t.version != at->second.version)
        return {.result = outcome::bad_version};
    if (at->second.children != 0)
        return {.result = outcome::not_empty};
    effect e;
    erase(at, t.zxid, e);
    return e;
}

void znode_tree::erase(nodes::iterator at, std::int64_t zxid, effect& e)
{
    const auto parent = parent_of(at->first);
    before_change(parent->first);
    before_change(at->first);
    --parent->second.children;
    parent->second.pzxid = zxid;
    e.events.push_back({event_kind::deleted, at->first, !at->second.allowed.read});
    e.events.push_back({event_kind::children_changed, parent->first, !parent->second.allowed.read});
    nodes_.erase(at);
}

znode_tree::effect znode_tree::set_data(const transaction& t)
{
    const auto at = nodes_.find(t.path);
    if (at == nodes_.end())
        return {.result = outcome::no_node};
    if (const auto why = refusal(t))
        return {.result = *why};
    if (t.version != store::any_version && t.version != at->second.version)
        return {.result = outcome::bad_version};
    before_change(t.path);
    at->second.data = t.data;
    at->second.mzxid = t.zxid;
    at->second.mtime_ms = t.time_ms;
    ++at->second.version;
    effect e;
    e.stat = stat(at->second);
    e.events.push_back({event_kind::data_changed, t.path, !at->second.allowed.read});
    return e;
}

/// It is no change of the node: nothing but the list and its version is others afterwards.
znode_tree::effect znode_tree::set_access(const transaction& t)
{
    if (const auto why = refusal(t))
        return {.result = *why};
    const auto at = nodes_.find(t.path);
    if (at == nodes_.end())
        return {.result = outcome::no_node};
    auto& n = at->second;
    if (t.version != store::any_version && t.version != n.acl_version)
        return {.result = outcome::bad_version};
    n.access = t.access;
    n.allowed = allowed_by(*t.access);
    ++n.acl_version;
    return {};
}

znode_tree::effect znode_tree::check_version(const transaction& t) const
{
    const auto at = nodes_.find(t.path);
    if (at == nodes_.end())
        return {.result = outcome::no_node};
    if (t.session != transaction::administrator && !at->second.allowed.read)
        return {.result = outcome::no_auth};
    if (t.version != store::any_version && t.version != at->second.version)
        return {.result = outcome::bad_version};
    return {};
}

znode_tree::effect znode_tree::batch(const transaction& t)
{
    effect all;
    undoable_ = true;
    for (std::size_t i = 0; i < t.parts.size(); ++i) {
        auto part = t.parts[i];
        part.session = t.session;
        part.zxid = t.zxid;
        part.time_ms = t.time_ms;
        auto done = apply(part);
        if (done.result != outcome::ok) {
            all = {.result = done.result, .failed = i};
            break;
        }
        if (part.what == transaction::kind::create)
            all.created.push_back(std::move(done.path));
        if (part.what == transaction::kind::set_data)
            all.set.push_back(done.stat);
        all.events.insert(all.events.end(), done.events.begin(), done.events.end());
    }
    undoable_ = false;
    for (; all.result != outcome::ok && !before_.empty(); before_.pop_back()) {
        auto& [path, was] = before_.back();
        if (was)
            nodes_.insert_or_assign(std::move(path), std::move(*was));
        else
            nodes_.erase(path);
    }
    before_.clear();
    return all;
}

/// So that a batch can be undone.
void znode_tree::before_change(const std::string& path)
{
    if (!undoable_)
        return;
    const auto at = nodes_.find(path);
    before_.emplace_back(path, at == nodes_.end() ? std::nullopt : std::optional(at->second));
}

znode_tree::nodes::iterator znode_tree::parent_of(std::string_view path)
{
    const auto slash = path.rfind('/');
    return nodes_.find(slash == 0 ? std::string_view("/") : path.substr(0, slash));
}

const znode_tree::node* znode_tree::find(std::string_view path) const
{
    const auto at = nodes_.find(path);
    return at == nodes_.end() ? nullptr : &at->second;
}

std::vector<std::string> znode_tree::children(std::string_view path) const
{
    std::vector<std::string> names;
    const std::string prefix = path == "/" ? std::string("/") : std::string(path) + '/';
    for (auto at = nodes_.upper_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix); ++at) {
        auto name = std::string_view(at->first).substr(prefix.size());
        if (name.find('/') == name.npos)
            names.emplace_back(name);
    }
    return names;
}

std::vector<std::string> znode_tree::nodes_of(std::int64_t session) const
{
    std::vector<std::string> paths;
    for (const auto& [path, n] : nodes_) {
        if (n.owner == session && session != 0)
            paths.push_back(path);
    }
    return paths;
}

std::vector<std::string> znode_tree::idle_containers() const
{
    std::vector<std::string> paths;
    for (const auto& [path, n] : nodes_) {
        if (n.owner == container_owner && n.children == 0 && n.creates != 0)
            paths.push_back(path);
    }
    return paths;
}

store::node_stat znode_tree::stat(const node& n)
{
    store::node_stat s;
    s.czxid = n.czxid;
    s.created = std::chrono::system_clock::time_point(std::chrono::milliseconds(n.ctime_ms));
    s.modified = std::chrono::system_clock::time_point(std::chrono::milliseconds(n.mtime_ms));
    s.mzxid = n.mzxid;
    s.pzxid = n.pzxid;
    s.ephemeral_owner = n.owner == container_owner ? 0 : n.owner; // clients are not shown the servers' mark
    s.version = n.version;
    // What clients see counts the deletes too.
    s.cversion = static_cast<std::int32_t>(2 * n.creates - static_cast<std::uint32_t>(n.children));
    s.num_children = n.children;
    s.data_length = static_cast<std::int32_t>(n.data.size());
    s.acl_version = n.acl_version;
    return s;
}

void znode_tree::set_creates(std::string_view path, std::uint32_t creates)
{
    nodes_.find(path)->second.creates = creates;
}

} // namespace zklock::testing
