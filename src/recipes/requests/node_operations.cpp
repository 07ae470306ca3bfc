#include "recipes/requests/node_operations.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

#include <string>
#include <utility>

namespace zklock::recipes {

using store::outcome;

namespace {

/// What a request has besides paths and data, and at most: headers, lengths, numbers, and the nodes' access list.
constexpr std::size_t frame_of_a_request = 64;
constexpr std::size_t frame_of_an_operation = 96;

bool is_sequential(node_kind kind)
{
    return kind == node_kind::persistent_sequential || kind == node_kind::ephemeral_sequential;
}

/// A number follows a sequential node's path, and its last component may be empty.
bool valid_to_create(const std::string& path, node_kind kind)
{
    return queue::valid_path(is_sequential(kind) ? path + '0' : path);
}

/// The root is the client's chroot.
bool valid_to_use(const std::string& path)
{
    return path == "/" || queue::valid_path(path);
}

bool valid(const transaction::operation& op)
{
    using kind = transaction::operation::kind;
    if (op.what == kind::create)
        return valid_to_create(op.path, op.created);
    return op.what == kind::remove ? queue::valid_path(op.path) : valid_to_use(op.path);
}

store::batch_write write_of(const transaction::operation& op)
{
    static_assert(static_cast<int>(transaction::operation::kind::create) == 0);
    using from = transaction::operation::kind;
    using to = store::batch_write::kind;
    store::batch_write w;
    w.what = op.what == from::create   ? to::create
             : op.what == from::set    ? to::set
             : op.what == from::remove ? to::remove
                                       : to::check;
    w.path = op.path;
    w.data = op.data;
    w.created = op.created;
    w.version = op.version;
    return w;
}

commit_result results_of(const transaction& t, const store::batch_reply& answer)
{
    using kind = transaction::operation::kind;
    commit_result all;
    auto created = answer.created.begin();
    auto set = answer.set.begin();
    for (const auto& op : t.operations()) {
        auto& result = all.results.emplace_back();
        if (op.what == kind::create)
            result.path = *created++;
        else if (op.what == kind::set)
            result.stat = *set++;
    }
    return all;
}

errc too_long(session& s, std::size_t bytes)
{
    log_refusal(s, "a request of " + std::to_string(bytes) + " bytes is refused: the servers take " +
                       std::to_string(store::largest_request) + ", unless their jute.maxbuffer says otherwise");
    return errc::invalid_option;
}

} // namespace

// --- before anything is sent -----------------------------------------------------------------------------------------

std::optional<errc> node_operations::objection(const std::string& path, std::size_t bytes) const
{
    if (session_.over)
        return session_.over;
    const std::size_t all = session_.options.chroot.size() + path.size() + bytes + frame_of_a_request +
                            frame_of_an_operation;
    return all > store::largest_request ? too_long(session_, all) : std::optional<errc>();
}

std::size_t node_operations::size_of(const transaction::operation& op) const
{
    return session_.options.chroot.size() + op.path.size() + op.data.size() + frame_of_an_operation;
}

std::size_t node_operations::size_of(const transaction& t) const
{
    std::size_t bytes = 0;
    for (const auto& op : t.operations())
        bytes += size_of(op);
    return bytes;
}

std::optional<errc> node_operations::objection(const transaction& t, std::size_t bytes) const
{
    if (session_.over)
        return session_.over;
    if (bytes + frame_of_a_request > store::largest_request)
        return too_long(session_, bytes + frame_of_a_request);
    for (const auto& op : t.operations()) {
        if (!valid(op))
            return errc::invalid_path;
        // The C client cannot ask for one in company.
        if (op.what == transaction::operation::kind::create && op.created == node_kind::container)
            return refuse(session_, op.path, {"the node's kind", "node_kind::container",
                                             "another one: the C client creates none in a transaction"});
        bytes += size_of(op);
        if (bytes + frame_of_a_request > store::largest_request)
            return too_long(session_, bytes + frame_of_a_request);
    }
    return std::nullopt;
}

template <class... Values, class Send>
auto node_operations::begin(typename node_operation<Values...>::access access, std::optional<errc> objection,
                            std::size_t bytes, done<Values...> d, Send send) -> handle
{
    const auto op = std::make_shared<node_operation<Values...>>(session_, access, bytes, std::move(d), std::move(send));
    if (objection)
        op->fail(*objection);
    else
        session_.requests.enter(op);
    return op;
}

// --- single operations -----------------------------------------------------------------------------------------------

auto node_operations::create(const std::string& path, const std::string& data, node_kind kind, done<std::string> d)
    -> handle
{
    using op = node_operation<std::string>;
    auto why = objection(path, data.size());
    if (!why && !valid_to_create(path, kind))
        why = errc::invalid_path;
    return begin<std::string>(op::access::write, why, data.size(), std::move(d), [this, path, data, kind](op& self) {
        session_.store.create(path, data, kind, self.answered([](op& o, const store::create_reply& answer) {
            o.end(answer.result, std::string(answer.path));
        }));
    });
}

auto node_operations::get(const std::string& path, done<node_content> d) -> handle
{
    using op = node_operation<node_content>;
    auto why = objection(path);
    if (!why && !valid_to_use(path))
        why = errc::invalid_path;
    return begin<node_content>(op::access::read, why, 0, std::move(d), [this, path](op& self) {
        session_.store.get(path, false, self.answered([](op& o, const store::get_reply& answer) {
            node_content found;
            found.data = answer.data;
            found.stat = answer.stat;
            o.end(answer.result, std::move(found));
        }));
    });
}

auto node_operations::set(const std::string& path, const std::string& data, std::int32_t version, done<node_stat> d)
    -> handle
{
    using op = node_operation<node_stat>;
    auto why = objection(path, data.size());
    if (!why && !valid_to_use(path))
        why = errc::invalid_path;
    return begin<node_stat>(op::access::write, why, data.size(), std::move(d), [this, path, data, version](op& self) {
        session_.store.set(path, data, version, self.answered([](op& o, const store::stat_reply& answer) {
            o.end(answer.result, answer.stat);
        }));
    });
}

auto node_operations::remove(const std::string& path, std::int32_t version, done<> d) -> handle
{
    using op = node_operation<>;
    auto why = objection(path);
    if (!why && !queue::valid_path(path))
        why = errc::invalid_path;
    return begin<>(op::access::write, why, 0, std::move(d), [this, path, version](op& self) {
        session_.store.remove(path, version,
                               self.answered([](op& o, const store::reply& answer) { o.end(answer.result); }));
    });
}

auto node_operations::children(const std::string& path, done<std::vector<std::string>> d) -> handle
{
    using op = node_operation<std::vector<std::string>>;
    auto why = objection(path);
    if (!why && !valid_to_use(path))
        why = errc::invalid_path;
    return begin<std::vector<std::string>>(op::access::read, why, 0, std::move(d), [this, path](op& self) {
        session_.store.children(path, false, self.answered([](op& o, const store::children_reply& answer) {
            o.end(answer.result, answer.names ? *answer.names : std::vector<std::string>());
        }));
    });
}

auto node_operations::exists(const std::string& path, done<std::optional<node_stat>> d) -> handle
{
    using op = node_operation<std::optional<node_stat>>;
    auto why = objection(path);
    if (!why && !valid_to_use(path))
        why = errc::invalid_path;
    return begin<std::optional<node_stat>>(op::access::read, why, 0, std::move(d), [this, path](op& self) {
        session_.store.exists(path, self.answered([](op& o, const store::stat_reply& answer) {
            if (answer.result == outcome::no_node)
                o.end(error_code(), std::nullopt);
            else
                o.end(answer.result, answer.stat);
        }));
    });
}

// --- transactions ----------------------------------------------------------------------------------------------------

/// Any version will do: others may have set a node's data, to ask its holder for something.
std::vector<transaction::operation> node_operations::claim::checks() const
{
    std::vector<transaction::operation> all;
    for (std::string& node : lock->nodes_of(given))
        all.push_back({transaction::operation::kind::check, std::move(node), {}, {}, any_version});
    return all;
}

auto node_operations::commit(transaction t, done<commit_result> d) -> handle
{
    return commit_guarded(std::move(t), nullptr, std::move(d));
}

auto node_operations::commit(transaction t, claim c, done<commit_result> d) -> handle
{
    return commit_guarded(std::move(t), std::make_shared<const claim>(std::move(c)), std::move(d));
}

/// The checks of the lock's nodes go first, so that nothing else can be the reason when the lock is lost.
auto node_operations::commit_guarded(transaction t, std::shared_ptr<const claim> guarded, done<commit_result> d)
    -> handle
{
    using op = node_operation<commit_result>;
    std::size_t bytes = 0;
    if (guarded && guarded->lock->held(session_.scheduler.now())) // or it is refused when it would be sent
        for (const auto& check : guarded->checks()) // it will not have more than now
            bytes += size_of(check);
    const auto why = objection(t, bytes);
    bytes += size_of(t);
    const auto send = [this, t = std::make_shared<const transaction>(std::move(t)), guarded](op& self) {
        if (guarded && !ZKLOCK_MUTANT(transaction_after_the_loss)) {
            session_.attempt([this] { session_.notice_lapse(session_.scheduler.now()); });
            if (!guarded->lock->held(session_.scheduler.now()))
                return self.fail(errc::lost);
            if (!guarded->lock->stands_on(guarded->given)) // it has another node meanwhile, or is about to
                return self.fail(errc::not_owner);
        }
        const bool looks = guarded && !ZKLOCK_MUTANT(transaction_without_a_check);
        const auto checks = looks ? guarded->checks() : std::vector<transaction::operation>();
        std::vector<store::batch_write> writes;
        writes.reserve(checks.size() + t->size());
        for (const auto* list : {&checks, &t->operations()})
            for (const auto& operation : *list)
                writes.push_back(write_of(operation));
        if (writes.empty())
            return self.end(error_code(), {});
        session_.store.batch(writes, self.answered([this, t, checks](op& o, const store::batch_reply& answer) {
            if (answer.result == outcome::ok)
                return o.end(error_code(), results_of(*t, answer));
            if (answer.failed >= checks.size()) {
                commit_result refused;
                if (answer.failed != store::batch_reply::no_write)
                    refused.failed = answer.failed - checks.size();
                return o.end(make_error_code(node_error_of(answer.result)), std::move(refused));
            }
            if (answer.result != outcome::no_node)
                return o.end(answer.result, {});
            session_.attempt([&] { // its guard hears of it first
                session_.on_node_event(store::event_kind::deleted, checks[answer.failed].path);
            });
            o.fail(errc::lost);
        }));
    };
    return begin<commit_result>(op::access::write, why, bytes, std::move(d), send);
}

} // namespace zklock::recipes
