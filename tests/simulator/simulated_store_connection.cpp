// How a simulated client connects, keeps its session alive, loses its connection, and closes.
#include "simulated_store.hpp"

#include "mutants/mutants.hpp"

namespace zklock::simulator {

using ::zklock::store::outcome;
using stream = choices::stream;
using namespace std::chrono_literals;

void simulated_store::attempt()
{
    if (state_ == state::closed || state_ == state::closing)
        return;
    // As the bridge does, which now and then has to drop the C client's handle with all that it has seen. Whoever has
    // seen nothing does not find out that the servers were set back, and believes one that went astray.
    const auto& set = world_.set;
    const bool keeps_handle = (set.is_set_back && !set.set_back_unnoticed) || set.one_goes_astray;
    const bool drops_handle = !world_.quiet && !keeps_handle && last_zxid_ != 0;
    if (drops_handle && world_.choose.one_in(8, stream::handle, number_))
        last_zxid_ = 0;
    may_lag_ = session_ != 0 && last_zxid_ == 0;
    server_ = static_cast<unsigned>(world_.choose.below(ensemble_.size(), stream::connect, number_));
    if ((tried_ >> server_ & 1) != 0) {
        tried_ = 0;
        votes_ = 0;
    }
    tried_ |= 1u << server_;
    history_.attempt_begins();
    ask();
}

void simulated_store::ask()
{
    const bool serves = history_.asks() == bridge::session_question::service;
    state_ = state::opening;
    asked_ = process_.now();
    connection_ = ensemble_.connect(*this, number_, server_, session_, serves ? last_zxid_ : 0);
    say((serves ? "connects to server" : "asks for its session at server") + std::to_string(server_));
    const auto patience = process_.now() + world_.set.session_timeout / 3;
    (void)process_.call_at(patience, [this, which = connection_] {
        if (connection_ == which && state_ == state::opening)
            attempt_failed(bridge::session_answer::none);
    });
}

/// As the bridge does with such a connection: nobody hears of it.
void simulated_store::question_answered(const answer& a)
{
    const auto told = a.session != 0 ? bridge::session_answer::taken_up : bridge::session_answer::unknown;
    if (a.session == 0 || history_.asks() != bridge::session_question::end)
        return attempt_failed(told);
    const bool votes = !history_.ends();
    if (votes && !ensemble_.was_set_back())
        world_.violate(name_ + ": ends a session whose servers have lost nothing");
    send_close();
    // It goes before the end of the connection, and before another can be made.
    world_.time.at(connection_->last_to_server, [this, told, which = connection_] {
        process_.post([this, told, which] {
            if (connection_ == which && state_ == state::opening)
                attempt_failed(told);
        });
    });
}

bool simulated_store::session_should_be_over() const
{
    const auto& set = world_.set;
    const auto margin = set.stated_margin.value_or(std::max(session_timeout_ / 4, set.tick));
    return silent(margin + set.tick) && !mutants::on(mutants::id::history_never_asked);
}

void simulated_store::attempt_failed(bridge::session_answer what)
{
    using verdict = bridge::history_check::verdict;
    const bool votes = !history_.ends();
    const bool overdue = session_should_be_over();
    const bool decides = 2 * (votes_ + 1) > ensemble_.size();
    const auto judged = history_.answered(what, true, overdue, decides);
    votes_ += judged == verdict::voted;
    if (judged == verdict::ask) {
        ensemble_.close(connection_);
        return ask();
    }
    attempt_later();
    if (judged != verdict::over)
        return;
    say("gives its session up, of which the servers know nothing");
    if ((votes || !overdue) && ensemble_.alive(session_) && !ensemble_.was_set_back())
        world_.violate(name_ + ": gives up a session that the servers have");
    session_ = last_zxid_ = 0;
    tell([&] { observer_->on_expired(); });
}

void simulated_store::attempt_later()
{
    ensemble_.close(connection_);
    connection_.reset();
    const auto longest = world_.quiet ? 20 : 20 + 100 * std::min<std::uint64_t>(attempts_++, 5);
    const auto wait = std::chrono::milliseconds(1 + world_.choose.below(longest, stream::connect, number_));
    (void)process_.call_at(process_.now() + wait, [this] {
        if (!connection_)
            attempt();
    });
}

void simulated_store::deliver_connect(const answer& a)
{
    if (a.session == 0) {
        say("learns that its session is over");
        session_ = last_zxid_ = 0;
        attempt_later();
        tell([&] { observer_->on_expired(); });
        return;
    }
    attempts_ = 0;
    session_ = a.session;
    session_timeout_ = a.session_timeout;
    state_ = state::open;
    hindered_ = world_.time.now();
    watched_.clear();
    unseen_ends_.clear();
    sent_ = process_.now();
    say("is connected, session " + std::to_string(session_ & 0xff));
    const bool renewed = session_ != told_session_;
    told_session_ = session_;
    keep_alive();
    telling_connected_ = only_looks_ = true;
    synced_ = false;
    tell([&] { observer_->on_connected({session_, session_timeout_, renewed, asked_, may_lag_}); });
    telling_connected_ = false;
}

void simulated_store::keep_alive()
{
    const auto timeout = session_timeout_;
    (void)process_.call_at(process_.now() + timeout / 6, [this, timeout, which = connection_] {
        if (connection_ != which || state_ != state::open)
            return;
        if (process_.now() - heard_ >= 2 * timeout / 3) {
            say("has heard nothing for too long");
            return end_epoch();
        }
        if (process_.now() - sent_ >= timeout / 3 && outstanding_.empty()) {
            request r;
            r.number = ++last_request_;
            sent_ = process_.now();
            outstanding_.push_back({r, sent_, {}});
            ensemble_.send(connection_, std::move(r));
        }
        keep_alive();
    });
}

void simulated_store::end_epoch()
{
    ensemble_.close(connection_);
    ++epoch_ends_;
    state_ = state::ending;
    process_.post([this] { end_epoch_step(); });
}

/// One answer at a time: other things may happen between them.
void simulated_store::end_epoch_step()
{
    if (state_ != state::ending)
        return;
    if (!outstanding_.empty()) {
        process_.post([this] { end_epoch_step(); });
        auto w = std::move(outstanding_.front());
        outstanding_.pop_front();
        answer a;
        a.result = outcome::unknown;
        return call_back(w, a);
    }
    state_ = state::opening;
    ++epoch_ends_;
    connection_.reset();
    (void)process_.call_at(
        process_.now() + std::chrono::milliseconds(world_.choose.below(20, stream::connect, number_)), [this] {
            if (!connection_)
                attempt();
        });
    tell([&] { observer_->on_disconnected(); });
}

void simulated_store::cut()
{
    const plenty_of_memory here;
    if (state_ != state::open)
        return;
    say("has its connection cut");
    ensemble_.close(connection_);
    process_.post([this, which = connection_] {
        if (connection_ == which && state_ == state::open)
            end_epoch();
    });
}

void simulated_store::block(instant duration)
{
    say("is cut off for " + std::to_string(duration / 1ms) + " ms");
    blocked_until = std::max(blocked_until, world_.time.now() + duration);
}

// ---- the end

void simulated_store::close(std::function<void()> closed)
{
    const plenty_of_memory here;
    if (on_closed_)
        return world_.violate(name_ + ": close() twice");
    say("closes");
    on_closed_ = std::move(closed);
    const bool was_open = state_ == state::open || state_ == state::ending;
    const bool can_say = state_ == state::open && connection_->client_open;
    state_ = state::closing;
    process_.post([this, was_open, can_say] {
        while (!outstanding_.empty()) {
            auto w = std::move(outstanding_.front());
            outstanding_.pop_front();
            answer a;
            a.result = outcome::unknown;
            call_back(w, a);
        }
        if (was_open && world_.set.disconnect_told_at_close)
            tell([&] { observer_->on_disconnected(); });
        if (!can_say)
            return finish_close();
        send_close();
        (void)process_.call_at(process_.now() + 1500ms, [this] { finish_close(); });
    });
}

void simulated_store::send_close()
{
    request r;
    r.number = ++last_request_;
    r.what = operation::write;
    r.write.what = transaction::kind::close_session;
    ensemble_.send(connection_, std::move(r));
}

void simulated_store::finish_close()
{
    if (state_ != state::closing)
        return;
    state_ = state::closed;
    if (connection_)
        ensemble_.close(connection_);
    say("is closed");
    process_.post([this] { std::exchange(on_closed_, [] {})(); });
}

void simulated_store::abandon()
{
    state_ = state::closed;
    if (connection_)
        ensemble_.close(connection_);
}

} // namespace zklock::simulator
