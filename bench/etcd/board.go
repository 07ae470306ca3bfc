package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// monotonic is CLOCK_MONOTONIC in nanoseconds, which other processes can compare with theirs.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// board is what the processes that want one lock share: see driver/board.hpp.
type board struct {
	memory                  []byte
	start, released, holder *int64
	self                    int64
}

func openBoard(asked request) (*board, error) {
	file, err := os.OpenFile(asked.text("board"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, 24, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	word := func(i int) *int64 { return (*int64)(unsafe.Pointer(&memory[8*i])) }
	return &board{memory, word(0), word(1), word(2), asked.number("process") + 1}, nil
}

func (b *board) close() {
	if err := syscall.Munmap(b.memory); err != nil {
		panic(err)
	}
}

func (b *board) startsAt() int64 { return atomic.LoadInt64(b.start) }

// granted tells how long after its release in another process; false if this process, or nobody, had the lock before.
func (b *board) granted(now int64) (time.Duration, bool) {
	before := atomic.LoadInt64(b.holder)
	if before == 0 || before == b.self {
		return 0, false
	}
	return time.Duration(now - atomic.LoadInt64(b.released)), true
}

func (b *board) releasing() {
	atomic.StoreInt64(b.holder, b.self)
	atomic.StoreInt64(b.released, monotonic())
}

func sleepUntil(ns int64) {
	for left := ns - monotonic(); left > 0; left = ns - monotonic() {
		time.Sleep(time.Duration(left))
	}
}
