// What goes wrong with the servers, and how others take over.
#include "ensemble.hpp"

namespace zklock::simulator {

using stream = choices::stream;

void ensemble::hang_up(unsigned s)
{
    for (const auto& c : std::vector(servers_[s].clients))
        drop(c, true);
}

void ensemble::restart(unsigned which, instant down)
{
    const bool leads = which == leader_;
    for (unsigned s = 0; s < size(); ++s) {
        if (s == which || leads)
            stop_serving(s); // without a leader nobody serves
    }
    if (leads)
        elect(static_cast<unsigned>((which + 1 + world_.choose.below(size() - 1, stream::link)) % size()));
    for (unsigned s = 0; s < size(); ++s) {
        if (s == which || leads)
            serve_again_after(s, s == which || s != leader_ ? down : down / 2);
    }
}

void ensemble::pause_leader(instant duration)
{
    const instant tick = world_.set.tick;
    const auto answers_on = world_.choose.below(static_cast<std::uint64_t>(tick.count()), stream::link);
    others_take_over(duration, tick / 4, instant(answers_on));
}

void ensemble::part_leader()
{
    world_.log.line(world_.time.now(), "server" + std::to_string(leader_),
                    "is cut off from the others, who give it up");
    const instant tick = world_.set.tick;
    const auto some = [&](instant limit) {
        return instant(world_.choose.below(static_cast<std::uint64_t>(limit.count()), stream::link));
    };
    const auto election = some(tick / 16);
    others_take_over(instant(0), election, world_.choose.one_in(4, stream::link) ? some(tick) : tick);
}

void ensemble::others_take_over(instant still, instant election, instant answers_on)
{
    if (size() == 1 || !servers_[leader_].up)
        return;
    const auto old = leader_;
    auto& self = servers_[old];
    self.still_until = world_.time.now() + still;
    self.stale = true;
    for (const auto& [id, session] : sessions_) {
        if (session.alive)
            self.sessions_then.push_back(id);
    }
    for (unsigned s = 0; s < size(); ++s) {
        if (s != old)
            stop_serving(s);
    }
    elect(static_cast<unsigned>((old + 1 + world_.choose.below(size() - 1, stream::link)) % size()));
    for (unsigned s = 0; s < size(); ++s) {
        if (s != old)
            serve_again_after(s, s == leader_ ? election / 2 : election);
    }
    world_.time.at(self.still_until + answers_on, [this, old, incarnation = self.incarnation] {
        if (servers_[old].incarnation != incarnation)
            return;
        world_.log.line(world_.time.now(), "server" + std::to_string(old), "learns that it leads no more");
        past_answered_until_ = world_.time.now() + world_.set.a_while();
        restart(old, instant(world_.set.tick) / 4);
    });
}

bool ensemble::answers_from_the_past() const
{
    const auto is_stale = [](const server& s) { return s.stale; };
    return world_.time.now() < past_answered_until_ || std::any_of(servers_.begin(), servers_.end(), is_stale);
}

void ensemble::all_down(instant duration)
{
    all_down_until_ = std::max(all_down_until_, world_.time.now() + duration);
    for (unsigned s = 0; s < size(); ++s)
        stop_serving(s);
    for (unsigned s = 0; s < size(); ++s)
        serve_again_after(s, duration);
}

void ensemble::go_astray(unsigned s)
{
    servers_[s].astray = size() > 1 && world_.time.now() < all_down_until_;
}

void ensemble::back_up()
{
    constexpr int many_elections = 1000;
    kept_ = log_.size();
    kept_zxid_ = zxid_;
    if (!world_.set.set_back_unnoticed)
        zxid_ = (epoch_ += many_elections) << 32;
}

void ensemble::set_back()
{
    was_set_back_ = true;
    log_.resize(kept_);
    if (world_.set.set_back_unnoticed) {
        zxid_ = begun_with_ = ++epoch_ << 32;
    } else {
        zxid_ = kept_zxid_;
        epoch_ = zxid_ >> 32;
    }
    look_up_sessions();
    for (auto& s : servers_) {
        s.tree = znode_tree();
        s.applied = 0;
        catch_up(s);
    }
}

/// As the log has them.
void ensemble::look_up_sessions()
{
    for (auto& [id, session] : sessions_) {
        session.alive = false;
        session.check_at = instant(0); // what is under way is void
    }
    for (const auto& e : log_) {
        if (e->t.what == transaction::kind::open_session)
            sessions_[e->t.session].alive = true;
        if (e->t.what == transaction::kind::close_session)
            sessions_[e->t.session].alive = false;
    }
}

void ensemble::stop_serving(unsigned s)
{
    hang_up(s);
    auto& self = servers_[s];
    self.up = self.stale = self.stuck = false;
    self.sessions_then.clear();
    ++self.incarnation;
    self.report_due = false;
    self.heard.clear();
    self.still_until = self.cut_off_until = self.last_to_leader = self.last_from_leader = world_.time.now();
}

/// The next one has all that was committed.
void ensemble::elect(unsigned next)
{
    zxid_ = ++epoch_ << 32;
    leader_ = next;
    catch_up(servers_[leader_]);
}

void ensemble::serve_again_after(unsigned s, instant down)
{
    const auto then = std::max(all_down_until_, world_.time.now() + down);
    world_.time.at(then, [this, s, incarnation = servers_[s].incarnation] {
        auto& self = servers_[s];
        if (self.incarnation != incarnation)
            return;
        catch_up(self); // a server comes up with all that its leader has
        self.up = true;
        self.astray = false;
        if (s == leader_) { // a new leader gives every session its whole time again
            for (const auto& [id, session] : sessions_)
                touch(id, session.timeout);
        }
        world_.log.line(world_.time.now(), "server" + std::to_string(s), "serves again");
    });
}

void ensemble::cut_off(unsigned s, instant duration)
{
    if (s == leader_)
        return;
    auto& self = servers_[s];
    self.cut_off_until = std::max(self.cut_off_until, world_.time.now() + duration);
    // A follower that hears nothing of its leader for some ticks gives up and stops serving.
    const instant patience = world_.set.patience * instant(world_.set.tick) / 2;
    if (duration < patience)
        return;
    world_.time.after(patience, [this, s, incarnation = self.incarnation] {
        auto& cut = servers_[s];
        if (cut.incarnation != incarnation || cut.cut_off_until <= world_.time.now())
            return;
        restart(s, cut.cut_off_until - world_.time.now());
    });
}

} // namespace zklock::simulator
