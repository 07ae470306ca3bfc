// The server, and others who use it: the second part of queue_world.
#include "queue_world.hpp"

namespace zklock::fuzz {

namespace {

constexpr std::size_t most_nodes = 40;

} // namespace

// --- the server, and others ------------------------------------------------------------------------------------------

std::string queue_world::next_number()
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", static_cast<std::int32_t>(tree_.ever++));
    return digits;
}

void queue_world::execute()
{
    if (sent_.empty())
        return;
    request r = std::move(sent_.front());
    sent_.pop_front();
    trace("  the server executes", text_of(r.what), r.whose, r.node);
    arrival a;
    const tree& seen = seen_by_server();
    switch (r.what) {
    case operation::write:
        catch_up(); // a write's answer comes after all that went before it
        execute(r.writes, a);
        break;
    case operation::synchronize: catch_up(); break;
    case operation::watch_parent:
        a.result = seen.exists ? outcome::ok : outcome::no_node;
        parent_watched_ = parent_watched_ || seen.exists;
        break;
    case operation::watch_children:
    case operation::read:
        a.result = seen.exists ? outcome::ok : outcome::no_node;
        if (r.what == operation::watch_children)
            children_watched_ = children_watched_ || seen.exists;
        for (const auto& [name, n] : seen.children)
            if (!lying_ || in_.below(3) != 0)
                a.names.push_back(name);
        if (lying_)
            for (std::size_t more = in_.below(3); more != 0; --more)
                a.names.emplace_back(in_.line());
        break;
    case operation::inspect:
    case operation::watch:
        a.result = seen.children.contains(r.node) ? outcome::ok : outcome::no_node;
        if (a.result == outcome::ok)
            watched_.insert(r.node);
        break;
    case operation::number: a.result = seen.children.contains(r.node) ? outcome::ok : outcome::no_node; break;
    case operation::unwatch: watched_.erase(r.node); break;
    case operation::look_for_reader:
        a.result = seen.children.contains(queue::reader_name(r.node)) ? outcome::ok : outcome::no_node;
        break;
    case operation::downgrade:
        catch_up();
        execute_downgrade(r, a);
        break;
    case operation::look_at_parent: a.result = seen.exists ? outcome::ok : outcome::no_node; break;
    case operation::delete_parent:
        catch_up();
        execute_delete_parent(a);
        break;
    }
    a.answered = std::move(r);
    a.known = seen_by_server();
    arriving_.push_back(std::move(a));
}

/// All of them, or none.
void queue_world::execute(const std::vector<write>& writes, arrival& a)
{
    std::size_t room = most_nodes - std::min(most_nodes, tree_.children.size());
    for (a.failed = 0; a.failed < writes.size(); ++a.failed) {
        const write& w = writes[a.failed];
        if (w.creates && !tree_.exists)
            a.result = outcome::no_node;
        else if (w.creates && room-- == 0)
            a.result = outcome::failed;
        else if (!w.creates && !tree_.children.contains(w.node))
            a.result = outcome::no_node;
        if (a.result != outcome::ok)
            return;
    }
    ++zxid_;
    a.czxid = zxid_;
    for (const write& w : writes) {
        if (!w.creates) {
            touched_.erase(w.node);
            forget_node(w.node);
            continue;
        }
        const auto sequence = static_cast<std::int32_t>(tree_.ever);
        a.names.push_back(w.node + next_number());
        tree_.children[a.names.back()] = {sequence, w.whose, false};
        tree_.pzxid = zxid_;
        callers_.at(w.whose).nodes.insert(a.names.back());
        tell_children_changed();
    }
}

/// A reader's node takes the place of a writer's, and nobody sees one without the other.
void queue_world::execute_downgrade(const request& r, arrival& a)
{
    const std::string reader = queue::reader_name(r.node);
    const auto writer = tree_.children.find(r.node);
    if (!tree_.exists)
        a.result = outcome::no_node;
    else if (in_.below(16) == 1)
        a.result = outcome::failed;
    else if (tree_.children.contains(reader))
        a.result = outcome::node_exists;
    else if (writer == tree_.children.end())
        a.result = outcome::no_node;
    if (a.result != outcome::ok)
        return;
    tree_.children[reader] = {writer->second.sequence, r.whose, false};
    ++tree_.ever; // the server counts each child
    callers_.at(r.whose).nodes.insert(reader);
    tell_children_changed();
    touched_.erase(r.node);
    forget_node(std::string(r.node));
}

/// Not while it has children.
void queue_world::execute_delete_parent(arrival& a)
{
    if (!tree_.exists)
        a.result = outcome::no_node;
    else if (!tree_.children.empty())
        a.result = outcome::failed;
    else
        begin_again(false);
}

/// An event for this client. Not while its server lags behind: catch_up() finds out then.
void queue_world::tell(event happened, const std::string& node)
{
    arrival a;
    a.happened = happened;
    a.node = node;
    a.known = tree_;
    arriving_.push_back(std::move(a));
}

void queue_world::tell_children_changed()
{
    if (!lagging_ && std::exchange(children_watched_, false))
        tell(event::children_changed);
}

void queue_world::forget_node(const std::string& name)
{
    trace("  the server deletes", name);
    if (tree_.children.erase(name) == 0)
        return;
    tree_.pzxid = ++zxid_;
    if (!lagging_ && watched_.erase(name) != 0)
        tell(event::node_deleted, name);
    tell_children_changed();
}

void queue_world::catch_up()
{
    const auto old = std::exchange(lagging_, std::nullopt);
    if (!old)
        return;
    for (const auto& [name, n] : old->children)
        if (!tree_.children.contains(name) && watched_.erase(name) != 0)
            tell(event::node_deleted, name);
    const bool deleted = old->generation != tree_.generation;
    const bool changed = old->data_changes != tree_.data_changes;
    if (parent_watched_ && (deleted || changed)) {
        parent_watched_ = false;
        tell(changed ? event::parent_changed : event::parent_deleted);
    }
    if (children_watched_ && (deleted || old->pzxid != tree_.pzxid)) {
        children_watched_ = false;
        tell(event::children_changed);
    }
}

void queue_world::add_foreign()
{
    if (tree_.children.size() == most_nodes)
        return;
    node n;
    std::string name;
    const tree before = tree_;
    if (in_.below(4) == 0) {
        name = in_.line();
        const auto sequence = queue::name_rules().sequence_of(name);
        if (name.empty() || name.find('/') != name.npos || !sequence || tree_.children.contains(name))
            return;
        n.sequence = *sequence;
        n.out_of_turn = true;
        ++tree_.ever; // the server counts it all the same
    } else {
        n.sequence = static_cast<std::int32_t>(tree_.ever);
        name = (in_.below(2) == 0 ? "_c_other-lock-" : "x__lock__") + std::to_string(++foreigners_);
        const char* mark = name.front() == '_' ? "-lock-" : "__lock__";
        if (shared_ && name.front() == '_')
            mark = in_.below(2) == 0 ? "-__READ__" : "-__WRIT__";
        else if (shared_)
            mark = in_.below(2) == 0 ? "__rlock__" : "__lock__";
        name += mark + next_number();
        n.out_of_turn =
            !queue::name_rules().sequence_of(name).has_value(); // a small negative number: nobody's place any more
    }
    if (!lagging_ && in_.below(4) == 0)
        lagging_ = before;
    trace("another client creates", name, lagging_ ? "(not seen yet)" : "");
    tree_.exists = true;
    tree_.pzxid = ++zxid_;
    passed_.erase(name);
    tree_.children.emplace(std::move(name), n);
    tell_children_changed();
}

/// One that holds, of another client: a reader's node with its number, and then, sooner or later, its own goes.
void queue_world::downgrade_foreign()
{
    const node* lowest = nullptr;
    std::string writer;
    for (const auto& [name, n] : tree_.children)
        if (!n.out_of_turn && queue::name_rules().sequence_of(name) && !is_let_go(name, n) &&
            (!lowest || n.sequence < lowest->sequence)) {
            lowest = &n;
            writer = name;
        }
    if (!lowest || lowest->creator != 0 || kind_of(writer) != queue_kind::writer)
        return;
    const std::string reader = queue::reader_name(writer);
    if (tree_.children.contains(reader) || let_go_.contains(reader) || tree_.children.size() >= most_nodes)
        return;
    const bool at_once = in_.below(2) == 0;
    if (!lagging_ && in_.below(4) == 0)
        lagging_ = tree_;
    trace("another client reads on", reader, at_once ? "" : "and keeps its writer's node",
          lagging_ ? "(not seen yet)" : "");
    tree_.pzxid = ++zxid_;
    ++tree_.ever;
    tree_.children[reader] = {lowest->sequence, 0, false};
    tell_children_changed();
    if (at_once)
        forget_node(writer);
}

void queue_world::delete_some_node()
{
    nodes& all = tree_.children;
    if (all.empty())
        return;
    const auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(in_.below(all.size())));
    if (!lagging_ && in_.below(8) == 0 && connected_)
        lagging_ = tree_;
    if (at->second.creator != 0)
        touched_.insert(at->first);
    forget_node(std::string(at->first));
}

/// Somebody writes to it: its watch is used up, although it lives.
void queue_world::change_some_node()
{
    if (watched_.empty() || lagging_)
        return;
    const auto at = std::next(watched_.begin(), static_cast<std::ptrdiff_t>(in_.below(watched_.size())));
    trace("somebody changes", *at);
    tell(event::node_changed, *at);
    watched_.erase(at);
}

void queue_world::set_parent()
{
    if (!tree_.exists)
        return;
    trace("somebody sets the parent's data");
    ++tree_.data_changes;
    tree_.has_data = true;
    if (!lagging_ && std::exchange(parent_watched_, false))
        tell(event::parent_changed);
}

void queue_world::delete_parent()
{
    trace("somebody deletes the parent");
    for (const auto& [name, n] : nodes(tree_.children)) {
        if (n.creator != 0)
            touched_.insert(name);
        forget_node(name);
    }
    begin_again(in_.below(2) == 0);
}

/// For a moment clients may not read the path. The parent may be replaced meanwhile, and no event of it is told; but a
/// request of this client is refused, too.
void queue_world::refuse()
{
    if (lagging_)
        return;
    if (in_.below(2) == 0) {
        parent_watched_ = children_watched_ = false;
        delete_parent();
    }
    tell(event::refusal);
}

/// The path's node is gone, or is another.
void queue_world::begin_again(bool exists)
{
    ++tree_.generation;
    tree_.ever = 0;
    tree_.has_data = false;
    tree_.pzxid = ++zxid_;
    tree_.exists = exists;
    const bool watched = parent_watched_ || children_watched_;
    if (!lagging_ && watched) {
        parent_watched_ = children_watched_ = false;
        tell(event::parent_deleted);
    }
}

} // namespace zklock::fuzz
