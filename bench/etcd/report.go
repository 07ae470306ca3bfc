package main

import (
	"encoding/json"
	"math/bits"
	"sort"
	"time"
)

// histogram counts durations as driver/histogram.hpp does: exact nanoseconds below 2048, then 1024 steps for each
// doubling.
type histogram map[int64]int64

func (h histogram) record(d time.Duration) {
	ns := uint64(0)
	if d > 0 {
		ns = uint64(d)
	}
	shift := bits.Len64(ns) - 11
	if shift < 0 {
		shift = 0
	}
	h[int64(ns>>shift<<shift)]++
}

// MarshalJSON writes pairs of nanoseconds and count, shortest first.
func (h histogram) MarshalJSON() ([]byte, error) {
	steps := make([][2]int64, 0, len(h))
	for ns, count := range h {
		steps = append(steps, [2]int64{ns, count})
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i][0] < steps[j][0] })
	return json.Marshal(steps)
}

// report is what a workload found.
type report struct {
	Operations int64                `json:"operations"`
	Seconds    float64              `json:"seconds"`
	Latencies  map[string]histogram `json:"latencies"`
	Figures    map[string]float64   `json:"figures"`
}

func newReport() *report {
	return &report{Latencies: map[string]histogram{}, Figures: map[string]float64{}}
}

// record is called by one contender at a time.
func (r *report) record(name string, d time.Duration) {
	if r.Latencies[name] == nil {
		r.Latencies[name] = histogram{}
	}
	r.Latencies[name].record(d)
}
