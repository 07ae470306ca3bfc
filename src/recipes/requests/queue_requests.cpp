#include "recipes/requests/queue_requests.hpp"

#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/requests/children_in_order.hpp"
#include "recipes/session/node_owner.hpp"
#include "recipes/session/option_faults.hpp"
#include "recipes/session/request_for.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace zklock::recipes {

using store::outcome;

std::int32_t permit_sequence(std::string_view child) noexcept
{
    const auto dash = child.rfind('-');
    std::int32_t number = 0;
    if (dash == std::string_view::npos)
        return number;
    const bool negative = dash != 0 && child[dash - 1] == '-'; // past 2^31; nothing depends on the order of permits
    std::from_chars(child.data() + dash + (negative ? 0 : 1), child.data() + child.size(), number);
    return number;
}

constinit const list_kind list_kind::queue{};
constinit const list_kind list_kind::permits{true, {}};

std::optional<zklock::queue::contender_name> list_kind::read(std::string_view child) const noexcept
{
    if (of_permits)
        return zklock::queue::contender_name{permit_sequence(child), zklock::queue::contender_kind::mutex};
    return rules.parse(child);
}

/// kazoo's nodes of permits have no numbers: their age tells the order.
bool list_kind::before(const contender& a, const contender& b) const
{
    if (of_permits)
        return std::tie(a.sequence, a.created, a.node) < std::tie(b.sequence, b.created, b.node);
    return std::tie(a.sequence, a.node) < std::tie(b.sequence, b.node);
}

namespace {

/// One reading of such a list: the children, then the node of each, or of the first of them up to a number.
class contender_list final : public request_of_several<std::vector<contender>> {
public:
    contender_list(session& s, std::string path, done_function f, list_kind what, std::size_t most)
        : request_of_several(s, if_lost::asked_again, std::move(f)), path_(std::move(path)), what_(std::move(what)),
          most_(most)
    {
    }

    [[nodiscard]] bool has_more() const noexcept override
    {
        return !ended() && !to_read_.empty() && found_.size() + answers_due() < most_;
    }

private:
    /// Begins anew: what an earlier connection has told is read again.
    void restart() override
    {
        listing_ = false;
        to_read_.clear();
        found_.clear();
    }
    void send() override
    {
        if (std::exchange(listing_, true))
            return read();
        list_children(path_, [this](const std::vector<std::string>& names) { to_read_.assign(names, what_); });
    }
    [[nodiscard]] bool reads() const noexcept override { return true; }
    void read()
    {
        const children_in_order::child child = to_read_.front();
        const auto take = [this, node = queue::child_of(path_, child.name),
                           n = child.read](const store::get_reply& answer) {
            if (ended())
                return;
            if (answer.result == outcome::ok)
                found_.push_back(contender_as_read(session_, node, n, answer));
            else if (answer.result == outcome::no_node)
                session_.found_gone(node);
            else
                fail(error_of(answer.result));
        };
        session_.store.get(queue::child_of(path_, child.name), false, one_answered(take));
        to_read_.pop();
    }
    /// The nodes were read in the order of their numbers, which need not be the order of the list.
    void finish() override
    {
        const auto before = [this](const contender& a, const contender& b) { return what_.before(a, b); };
        if (!std::ranges::is_sorted(found_, before))
            std::ranges::sort(found_, before);
        end({}, std::move(found_));
    }

    const std::string path_;
    const list_kind what_;
    const std::size_t most_;
    bool listing_ = false; ///< the children have been asked for
    children_in_order to_read_;
    std::vector<contender> found_;
};

} // namespace

std::shared_ptr<user_request> list_contenders(session& s, const std::string& path,
                                              std::function<void(error_code, std::vector<contender>)> done,
                                              const list_kind& what, std::size_t most)
{
    return s.requests().begin(std::make_shared<contender_list>(s, path, std::move(done), what, most),
                              s.why_unusable(path));
}

namespace {

/// Who is gone has let go; but a writer may hold on as a reader, by that node. Empty if it is no writer's.
std::string reader_after(const std::string& node)
{
    const auto name = queue::name_rules().parse(queue::name_of(node));
    if (!name || name->kind != queue::contender_kind::writer)
        return {};
    return queue::child_of(queue::parent_of(node), queue::reader_name(queue::name_of(node)));
}

/// A request to let go of a lock. It is repeated, to the same contenders, when the connection ends before the answer:
/// to be asked twice is no harm.
class revocation final : public request_of_several<std::size_t> {
public:
    /// Asks the contender of that node.
    revocation(session& s, std::string node, done_function f)
        : request_of_several(s, if_lost::asked_again, std::move(f)), nodes_{std::move(node)}
    {
        writes();
    }
    /// Asks those who hold the lock of a path.
    revocation(session& s, std::string path, list_kind what, done_function f)
        : request_of_several(s, if_lost::asked_again, std::move(f)), unseen_(holders{std::move(path), std::move(what)})
    {
        writes();
    }

    [[nodiscard]] bool has_more() const noexcept override { return !ended() && !unseen_ && next_ != nodes_.size(); }

private:
    void restart() override
    {
        std::erase(nodes_, std::string()); // others are in their places
        next_ = 0;
        asked_ = 0;
    }
    void send() override
    {
        if (!unseen_)
            return ask();
        list_children(unseen_->path, [this](const std::vector<std::string>& names) {
            for (const std::string& name : unseen_->what.holders(names))
                nodes_.push_back(queue::child_of(unseen_->path, name));
            unseen_.reset();
        });
    }
    /// Only a revocation that has to look for the holders tells its user something that others have written.
    [[nodiscard]] bool reads() const noexcept override { return unseen_.has_value(); }
    void ask()
    {
        if (next_ == nodes_.size()) // there was nobody to ask, and the connection has ended since
            return finish();
        const auto take = [this, which = next_](const store::stat_reply& answer) {
            if (ended())
                return;
            if (answer.result == outcome::ok) {
                ++asked_;
                session_.log(log_level::info, "has asked the holder of this node to let go: ", nodes_[which]);
            } else if (answer.result != outcome::no_node)
                fail(error_of(answer.result));
            else if (std::string reader = reader_after(nodes_[which]); !reader.empty()) {
                nodes_[which].clear();
                nodes_.push_back(std::move(reader));
            }
        };
        session_.store.set(nodes_[next_], queue::revocation_request, store::any_version, one_answered(take));
        ++next_;
    }
    void finish() override { end({}, asked_); }

    struct holders {
        std::string path;
        list_kind what;
    };
    std::optional<holders> unseen_; ///< they have to be looked for
    std::vector<std::string> nodes_;
    std::size_t next_ = 0; ///< of them
    std::size_t asked_ = 0;
};

} // namespace

std::shared_ptr<user_request> revoke(session& s, const std::string& path, const std::string& node,
                                     std::function<void(error_code, std::size_t)> done, const list_kind& what)
{
    std::optional<errc> why_not = s.why_unusable(path);
    // The data of anything else below the path are its owner's.
    const bool of_the_lock =
        queue::valid_path(node) && queue::is_child_of(node, path) && what.read(queue::name_of(node)).has_value();
    if (!why_not && !of_the_lock)
        why_not = report_path_fault(s, node, "it is no node of a contender for " + path);
    return s.requests().begin(std::make_shared<revocation>(s, node, std::move(done)), why_not);
}

std::shared_ptr<user_request> revoke_holders(session& s, const std::string& path,
                                             std::function<void(error_code, std::size_t)> done, const list_kind& what)
{
    return s.requests().begin(std::make_shared<revocation>(s, path, what, std::move(done)), s.why_unusable(path));
}

} // namespace zklock::recipes
