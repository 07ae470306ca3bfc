package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"go.uber.org/zap"
)

const sessionSeconds = 30

// scene has clients, and contenders that run until they are stopped.
type scene struct {
	asked    request
	clients  []*clientv3.Client
	running  sync.WaitGroup
	stopping atomic.Bool
	found    *report // under `swap`, as contenders record at once
	swap     sync.Mutex
	failure  chan error
	waiting  context.Context // of those whose waiting may end without a grant
	giveUp   context.CancelFunc
}

func (s *scene) connect(clients int64) error {
	s.failure = make(chan error, 1)
	s.waiting, s.giveUp = context.WithCancel(context.Background())
	logging := zap.NewProductionConfig()
	logging.Level = zap.NewAtomicLevelAt(zap.ErrorLevel) // it warns of every wait that is given up
	for ; clients > 0; clients-- {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   []string{"http://" + s.asked.text("servers")},
			DialTimeout: 15 * time.Second,
			LogConfig:   &logging,
		})
		if err != nil {
			return err
		}
		s.clients = append(s.clients, client)
	}
	return nil
}

// lock has a session of its own: a mutex's key is named by its session, so contenders cannot share one.
func (s *scene) lock(client int64) (*concurrency.Session, *concurrency.Mutex, error) {
	session, err := concurrency.NewSession(s.clients[client], concurrency.WithTTL(sessionSeconds))
	if err != nil {
		return nil, nil, err
	}
	return session, concurrency.NewMutex(session, s.asked.text("path")), nil
}

// start runs a contender; what goes wrong first is told by join.
func (s *scene) start(body func() error) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		if err := body(); err != nil {
			select {
			case s.failure <- err:
			default:
			}
		}
	}()
}

func (s *scene) join() error {
	s.running.Wait()
	select {
	case err := <-s.failure:
		return err
	default:
		return nil
	}
}

// watch lets the contenders run for the time that is measured.
func (s *scene) watch() (*report, error) {
	s.exchange()
	start := monotonic()
	time.Sleep(time.Duration(s.asked.number("ms")) * time.Millisecond)
	result := s.exchange()
	result.Seconds = float64(monotonic()-start) / 1e9
	return result, nil
}

func (s *scene) exchange() *report {
	s.swap.Lock()
	defer s.swap.Unlock()
	before := s.found
	s.found = newReport()
	return before
}

func (s *scene) tearDown() error {
	s.stopping.Store(true)
	s.giveUp()
	if err := s.join(); err != nil {
		return err
	}
	for _, client := range s.clients {
		if err := client.Close(); err != nil {
			return err
		}
	}
	return nil
}

// uncontended: one path, one client: acquire, then release, and again.
type uncontended struct {
	scene
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

func (u *uncontended) setUp() error {
	err := u.connect(1)
	if err == nil {
		u.session, u.mutex, err = u.lock(0)
	}
	if err == nil {
		_, err = u.cycles(100)
	}
	return err
}

func (u *uncontended) measure() (*report, error) { return u.cycles(u.asked.number("ms")) }

func (u *uncontended) tearDown() error {
	if err := u.session.Close(); err != nil {
		return err
	}
	return u.scene.tearDown()
}

func (u *uncontended) cycles(ms int64) (*report, error) {
	found := newReport()
	begin := monotonic()
	for now := begin; now-begin < ms*1_000_000; found.Operations++ {
		if err := u.mutex.Lock(context.Background()); err != nil {
			return nil, err
		}
		granted := monotonic()
		if err := u.mutex.Unlock(context.Background()); err != nil {
			return nil, err
		}
		end := monotonic()
		found.record("acquire", time.Duration(granted-now))
		found.record("cycle", time.Duration(end-now))
		found.Seconds = float64(end-begin) / 1e9
		now = end
	}
	return found, nil
}

// contenders: some that want one lock all the time, and may hold it for a time (handoff), or many (crowd).
type contenders struct {
	scene
	lastHolder, released, grants int64 // under `swap`
}

func (c *contenders) setUp() error {
	handoff := c.asked.workload == "handoff"
	clients, count := int64(1), c.asked.numberOr("waiters", 0)
	if handoff {
		clients, count = c.asked.number("sessions"), c.asked.number("sessions")
	}
	if err := c.connect(clients); err != nil {
		return err
	}
	for i := int64(0); i < count; i++ {
		session, mutex, err := c.lock(i % clients)
		if err != nil {
			return err
		}
		self := i + 1
		c.start(func() error {
			defer session.Close()
			return c.contend(mutex, self, handoff)
		})
	}
	limit := monotonic() + c.asked.numberOr("warm_up_ms", 3_000)*1_000_000
	for enough := false; !enough && monotonic() < limit; {
		time.Sleep(20 * time.Millisecond)
		c.swap.Lock()
		enough = c.grants >= count
		c.swap.Unlock()
	}
	return nil
}

func (c *contenders) measure() (*report, error) { return c.watch() }

func (c *contenders) contend(mutex *concurrency.Mutex, self int64, handoff bool) error {
	hold := c.asked.numberOr("hold_us", 0) * 1_000
	for !c.stopping.Load() {
		askedAt := monotonic()
		if err := mutex.Lock(c.waiting); c.waiting.Err() != nil {
			return nil // the end of the session, which follows, takes its key or lock with it
		} else if err != nil {
			return err
		}
		granted := monotonic()
		c.swap.Lock()
		c.grants++
		passedOn := c.lastHolder != 0 && c.lastHolder != self
		if passedOn {
			c.found.record("handoff", time.Duration(granted-c.released))
		}
		if !handoff {
			c.found.record("acquire", time.Duration(granted-askedAt))
		}
		if passedOn || !handoff {
			c.found.Operations++
		}
		c.swap.Unlock()
		if hold != 0 {
			sleepUntil(granted + hold)
		}
		c.swap.Lock()
		c.lastHolder, c.released = self, monotonic()
		c.swap.Unlock()
		if err := mutex.Unlock(context.Background()); err != nil {
			return err
		}
	}
	return nil
}
