// What administrators and other programs do: the second part of stage.

#include "contender_names.hpp"
#include "held_registers.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;

namespace {

/// Sessions of programs that are not simulated any further.
constexpr std::int64_t foreign_session = 0x7f00'0000;

} // namespace

std::string stage::place(const step& s) const
{
    const auto places = users_->places(s.path);
    return places[s.choice / 64 % places.size()];
}

std::string stage::some_contender(const step& s) const
{
    std::vector<std::string> nodes;
    const auto where = place(s);
    for (const auto& name : ensemble.leaders_tree().children(where)) {
        if (the_plan.which == recipe::semaphore || contender_sequence(name))
            nodes.push_back(where + '/' + name);
    }
    return nodes.empty() ? std::string() : nodes[s.choice % nodes.size()];
}

void stage::delete_node(const std::string& node)
{
    users_->deleted_by_others(node);
    const bool foreign = std::find(foreign_nodes_.begin(), foreign_nodes_.end(), node) != foreign_nodes_.end();
    world.writes_undone = world.writes_undone || !foreign;
    users_nodes_.erase(node);
    ensemble.administrate({.what = transaction::kind::remove, .path = node});
}

/// The servers tell nothing of a node to a watcher that may not read it, not even its end: to take that permission,
/// delete the path and make it again is more than zklock promises to notice.
void stage::make_readable(const std::string& path)
{
    ensemble.administrate({.what = transaction::kind::set_permissions, .path = path});
}

void stage::make_all_readable()
{
    for (unsigned p = 0; p < the_plan.set.paths; ++p) {
        for (const auto& place : users_->places(p))
            make_readable(place);
    }
}

void stage::delete_parent(const step& s)
{
    const auto path = place(s);
    delete_with_children(path);
    if (s.choice % 2 != 0)
        return;
    ensemble.administrate({.what = transaction::kind::create, .path = path});
}

void stage::delete_with_children(const std::string& path)
{
    make_readable(path);
    for (const auto& name : ensemble.leaders_tree().children(path))
        delete_node(path + '/' + name);
    delete_node(path);
}

/// Whoever takes the new parent for the old one finds its numbers go on where they were, and does not know the last of
/// the contenders that came in between.
void stage::replace_parent(const step& s)
{
    constexpr std::uint32_t most = 64; // children that are made up for
    const auto path = place(s);
    const auto* old = ensemble.leaders_tree().find(path);
    if (world.quiet || old == nullptr || old->creates > most)
        return;
    const auto wanted = old->creates + s.choice % 3;
    delete_with_children(path);
    ensemble.administrate({.what = transaction::kind::create, .path = path});
    std::string last;
    for (std::uint32_t i = 0; i + 1 < wanted; ++i) {
        transaction t;
        t.session = foreign_session + static_cast<std::int64_t>(s.choice % 8);
        t.node = store::node_kind::ephemeral_sequential;
        t.path = path + "/_c_0e0e0e0e-1111-2222-3333-444444444444-lock-";
        if (!last.empty())
            delete_node(last);
        last = ensemble.administrate(std::move(t)).path;
    }
    if (last.empty())
        return;
    foreign_nodes_.push_back(last);
    world.time.after(s.duration + 50ms, [this, last] {
        if (ensemble.leaders_tree().find(last) != nullptr)
            delete_node(last);
    });
}

/// Whoever finds no place in use may want it for something that lasts. The clients that made it are not to take it
/// away.
void stage::replace_idle_parent(const step& s)
{
    auto path = place(s);
    if (s.choice % 3 == 0)
        path.resize(path.rfind('/'));
    const auto* old = ensemble.leaders_tree().find(path);
    if (world.quiet || path.empty() || old == nullptr || old->owner != znode_tree::container_owner ||
        old->children != 0)
        return;
    delete_with_children(path);
    const bool holds_data = s.choice / 3 % 2 == 0;
    ensemble.administrate({.what = transaction::kind::create, .path = path, .data = holds_data ? "mine" : ""});
}

void stage::write_after(const std::string& path, const store::node_stat& found)
{
    const bool chosen = (the_plan.seed + static_cast<std::uint64_t>(found.czxid)) % 8 == 0;
    if (!chosen || world.quiet || found.num_children != 0 || is_calm(the_plan))
        return;
    if (!written_after_look_.insert(found.czxid).second)
        return; // clients who wait for changes look again
    world.time.after(0us, [this, path] {
        const auto* n = ensemble.leaders_tree().find(path);
        if (n != nullptr && n->owner == znode_tree::container_owner && n->children == 0)
            set_data(path);
    });
}

void stage::set_data(const std::string& node)
{
    const auto* n = ensemble.leaders_tree().find(node);
    if (n == nullptr)
        return;
    ensemble.administrate({.what = transaction::kind::set_data, .path = node, .data = n->data + "\nnote=1"});
}

/// Anybody may write into the data of a node where its owner is to be reached, or what is no place at all.
void stage::set_endpoint(const step& s, const std::string& node)
{
    const auto* n = ensemble.leaders_tree().find(node);
    if (n == nullptr)
        return;
    auto data = n->data;
    static constexpr std::string_view key = "\nhandoff=";
    if (const auto at = data.find(key); at != data.npos) {
        const auto end = std::min(data.find('\n', at + key.size()), data.size());
        data.erase(at, end - at);
    }
    ensemble.administrate({.what = transaction::kind::set_data,
                           .path = node,
                           .data = data + std::string(key) + network.some_endpoint(s.choice)});
}

void stage::set_register(const step& s)
{
    ensemble.administrate(
        {.what = transaction::kind::set_data, .path = held_register(s.path), .data = "written without a lock"});
}

void stage::join_foreign(const step& s)
{
    static constexpr const char* contenders[] = {"_c_0f0f0f0f-1111-2222-3333-444444444444-lock-",
                                                 "0f0f0f0f111122223333444444444444__lock__", "zz-lock-", "aa-lock-"};
    static constexpr const char* heeded[] = {"_c_0f0f0f0f-1111-2222-3333-444444444444-order-", "aa-order-",
                                             "zz-order-"};
    static constexpr const char* readers_and_writers[] = {
        "_c_0f0f0f0f-1111-2222-3333-444444444444-__READ__", "_c_0f0f0f0f-1111-2222-3333-666666666666-__WRIT__",
        "0f0f0f0f111122223333444444444444__rlock__", "0f0f0f0f111122223333444444444444__lock__"};
    static constexpr const char* others[] = {"notes", "readme-", "lock", "_c_0f0f0f0f-revoke"};
    transaction t;
    t.session = foreign_session + static_cast<std::int64_t>(s.choice % 8);
    t.data = "somebody else";
    t.node = store::node_kind::ephemeral_sequential;
    t.path = place(s) + '/';
    if (s.what == act::foreign_contender) {
        const auto& also = the_plan.set.also_heeds;
        if (!also.empty() && s.choice / 32 % 3 != 0) {
            const bool bare = also.front().empty() && (also.size() == 1 || s.choice / 128 % 2 == 0);
            if (!bare)
                t.path += heeded[s.choice % 3];
        } else {
            t.path += (is_shared(the_plan.which) ? readers_and_writers : contenders)[s.choice % 4];
        }
    } else if (s.what == act::foreign_child) {
        t.path += others[s.choice % 4];
        if (s.choice % 3 == 0)
            t.node = store::node_kind::persistent;
    } else {
        const auto* parent = ensemble.leaders_tree().find(place(s));
        if (parent == nullptr)
            return;
        char digits[16];
        std::snprintf(digits, sizeof digits, "%010u", parent->creates - std::min(parent->creates, 1 + s.choice % 3));
        t.path += std::string("_c_0f0f0f0f-1111-2222-3333-555555555555-lock-") + digits;
        t.node = store::node_kind::ephemeral;
        users_->made_out_of_turn(t.path);
    }
    // Or a user of one of the clients has made it for itself.
    const auto own = s.who < current_.size() ? current_[s.who]->store.session_id() : 0;
    const bool users = s.what == act::foreign_contender && s.choice / 16 % 8 == 0 && ensemble.alive(own);
    if (users)
        t.session = own;
    const auto made = ensemble.administrate(t);
    if (made.result != store::outcome::ok)
        return;
    foreign_nodes_.push_back(made.path);
    if (users)
        users_nodes_.emplace(made.path, own);
    if (users)
        world.writes_undone = true; // it may look like that
    const bool reads_on = made.path.find("__WRIT__") != std::string::npos && s.choice / 4 % 2 == 0;
    if (reads_on)
        return downgrade_foreign(s, made.path);
    if (s.duration == 0ms)
        return;
    world.time.after(s.duration, [this, node = made.path] {
        if (ensemble.leaders_tree().find(node) != nullptr)
            delete_node(node);
    });
}

/// Downgrades a writer as Curator does: a reader with its number is made, and then the writer's node deleted.
void stage::downgrade_foreign(const step& s, const std::string& writer)
{
    const auto some = std::max<std::chrono::milliseconds>(s.duration, 2ms);
    std::string reader = writer;
    reader.replace(reader.find("666666666666-__WRIT__"), 21, "777777777777-__READ__");
    const auto step_of_it = [this, writer](instant after, std::function<void()> what) {
        world.time.after(after, [this, writer, what = std::move(what)] {
            if (ensemble.leaders_tree().find(writer) != nullptr)
                what();
        });
    };
    step_of_it(some / 3, [this, writer, reader] {
        transaction t;
        t.session = ensemble.leaders_tree().find(writer)->owner;
        t.node = store::node_kind::ephemeral;
        t.path = reader;
        t.data = "somebody else";
        if (ensemble.administrate(std::move(t)).result == store::outcome::ok)
            foreign_nodes_.push_back(reader);
    });
    step_of_it(some / 2, [this, writer] { delete_node(writer); });
    world.time.after(some, [this, reader] {
        if (ensemble.leaders_tree().find(reader) != nullptr)
            delete_node(reader);
    });
}

void stage::refuse(const step& s)
{
    if (ensemble.was_set_back())
        return; // clients have to look for what is back
    const auto set = [this, path = place(s)](permissions allowed) {
        ensemble.administrate({.what = transaction::kind::set_permissions, .path = path, .allowed = allowed});
    };
    permissions p;
    p.create = s.choice % 2 == 0;
    p.remove = s.choice % 3 == 0;
    // The servers do not tell whoever may not read, so a node would linger for as long as it may: too long to wait for
    // here. And whoever waits for permits would not be told of those that are given back.
    p.read = s.choice % 5 == 0 || the_plan.set.longest_linger() > 0ms || the_plan.which == recipe::semaphore;
    set(p);
    world.time.after(s.duration, [set] { set(permissions{}); });
}

} // namespace zklock::simulator
