// The driver of etcd: its own clientv3/concurrency.Mutex, measured in the steps that all drivers have
// (driver/driver.hpp).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// request is one line of the harness: the workload's name and its parameters.
type request struct {
	workload string
	values   map[string]string
}

func parse(line string) request {
	words := strings.Fields(line)
	asked := request{words[0], map[string]string{}}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		asked.values[name] = value
	}
	return asked
}

func (r request) has(name string) bool {
	_, found := r.values[name]
	return found
}

func (r request) text(name string) string {
	if !r.has(name) {
		panic(r.workload + " needs the parameter " + name)
	}
	return r.values[name]
}

func (r request) number(name string) int64 {
	value, err := strconv.ParseInt(r.text(name), 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func (r request) numberOr(name string, otherwise int64) int64 {
	if !r.has(name) {
		return otherwise
	}
	return r.number(name)
}

// workload is something to be measured, in three steps.
type workload interface {
	setUp() error
	measure() (*report, error)
	tearDown() error
}

func makeWorkload(asked request) workload {
	switch {
	case asked.workload == "uncontended":
		return &uncontended{scene: scene{asked: asked, found: newReport()}}
	case (asked.workload == "handoff" || asked.workload == "crowd") && asked.has("processes"):
		return &apart{scene: scene{asked: asked, found: newReport()}}
	case asked.workload == "handoff" || asked.workload == "crowd":
		return &contenders{scene: scene{asked: asked, found: newReport()}}
	}
	panic("no such workload: " + asked.workload)
}

func processorMicroseconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e3
}

func serve(in *bufio.Scanner) error {
	expect := func(word string) error {
		if !in.Scan() || in.Text() != word {
			return fmt.Errorf("expected: %s", word)
		}
		return nil
	}
	for in.Scan() {
		subject := makeWorkload(parse(in.Text()))
		if err := subject.setUp(); err != nil {
			return err
		}
		fmt.Println("ready")
		if err := expect("go"); err != nil {
			return err
		}
		before := processorMicroseconds()
		found, err := subject.measure()
		if err != nil {
			return err
		}
		found.Figures["processor_us"] = processorMicroseconds() - before
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
		if err := expect("end"); err != nil {
			return err
		}
		if err := subject.tearDown(); err != nil {
			return err
		}
		fmt.Println("ended")
	}
	return in.Err()
}

func main() {
	if err := serve(bufio.NewScanner(os.Stdin)); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}
