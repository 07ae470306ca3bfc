package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/clientv3/concurrency"
)

// apart: handoff and crowd with contenders in other processes, too. See zklock/apart.cpp and driver/board.hpp.
type apart struct {
	scene
	board                 *board
	sessions              []*concurrency.Session
	mutexes               []*concurrency.Mutex
	end                   int64
	grants, passedOn, all int64 // under `swap`
}

func (a *apart) setUp() error {
	var err error
	if a.board, err = openBoard(a.asked); err != nil {
		return err
	}
	if err = a.connect(1); err != nil {
		return err
	}
	count := int64(1)
	if a.asked.workload == "crowd" {
		count = a.asked.number("waiters") / a.asked.number("processes")
	}
	for ; count > 0; count-- {
		session, mutex, err := a.lock(0)
		if err != nil {
			return err
		}
		a.sessions, a.mutexes = append(a.sessions, session), append(a.mutexes, mutex)
	}
	return a.contendFrom(monotonic(), 100)
}

func (a *apart) measure() (*report, error) {
	start, ms := a.board.startsAt(), a.asked.number("ms")
	if err := a.contendFrom(start, ms); err != nil {
		return nil, err
	}
	found := a.exchange()
	found.Seconds = float64(ms) / 1e3
	found.Operations = a.grants
	if a.asked.workload == "handoff" {
		found.Operations = a.passedOn
	}
	found.Figures = map[string]float64{
		"all_operations": float64(a.all), "grants": float64(a.grants), "passed_on": float64(a.passedOn)}
	return found, nil
}

func (a *apart) tearDown() error {
	for _, session := range a.sessions {
		if err := session.Close(); err != nil {
			return err
		}
	}
	a.board.close()
	return a.scene.tearDown()
}

// contendFrom returns when nobody of this process wants the lock any more.
func (a *apart) contendFrom(first, ms int64) error {
	a.exchange()
	a.end, a.grants, a.passedOn, a.all = first+ms*1_000_000, 0, 0, 0
	for _, mutex := range a.mutexes {
		mutex := mutex
		a.start(func() error { return a.contend(mutex, first) })
	}
	return a.join()
}

func (a *apart) contend(mutex *concurrency.Mutex, first int64) error {
	hold := a.asked.numberOr("hold_us", 0) * 1_000
	sleepUntil(first)
	for monotonic() < a.end {
		askedAt := monotonic()
		if err := mutex.Lock(context.Background()); err != nil {
			return err
		}
		now := monotonic()
		a.count(askedAt, now)
		if hold != 0 {
			sleepUntil(now + hold)
		}
		a.board.releasing()
		if err := mutex.Unlock(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (a *apart) count(askedAt, now int64) {
	since, passedOn := a.board.granted(now)
	a.swap.Lock()
	defer a.swap.Unlock()
	if passedOn || a.asked.workload != "handoff" {
		a.all++
	}
	if now >= a.end {
		return
	}
	a.grants++
	a.found.record("acquire", time.Duration(now-askedAt))
	if passedOn {
		a.passedOn++
		a.found.record("handoff", since)
	}
}
