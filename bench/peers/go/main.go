// Peer benchmarks: failsafe-go and gobreaker.
//
// The work: a call that always succeeds and does nothing (it returns a value
// held in a package variable, through a func value), made through the
// policies.
//
// failsafe-go, every call through failsafe.With(...).Get:
//
//	guard     retrypolicy (with a budget) > circuitbreaker > ratelimiter >
//	          bulkhead > call.  All five policies of the comparison.
//	breaker   circuitbreaker alone: failure rate over a time window of 30 s.
//	bucket    ratelimiter alone: bursty, a limit never reached.
//	bulkhead  bulkhead alone: 30 concurrent calls, no waiting.
//	retry     retrypolicy alone: 3 attempts, exponential backoff with jitter.
//	budget    retrypolicy with a budget: failsafe-go has no budget on its own,
//	          so this figure holds the retry policy too.
//	refusal   Get on an open circuitbreaker, which returns ErrOpen.
//
// What the peer lacks: nothing of the comparison.  Worth knowing: its rate
// limiter, used through an executor, makes a timer and waits on it in every
// call, even when a permit is free; that is most of the guard's cost.
// guard_without_bucket and bucket_permit (run.sh --extra) show the rest.
//
// gobreaker, every call through Execute:
//
//	breaker   rolling window of 30 s in buckets of 1 s.
//	refusal   Execute on an open breaker, which returns ErrOpenState.
//
// What the peer lacks: everything but the breaker.  It has no retry, budget,
// rate limiter or bulkhead and composes nothing, so there is no guard figure.
//
// With -extra, the same policies without the executor, through the permit
// calls a user can make by hand: guard_permit (breaker + rate limiter +
// bulkhead), breaker_permit, bucket_permit, bulkhead_permit, refusal_permit;
// for gobreaker the two-step breaker.
//
// Order of business for each scenario: warm up, size a round to a fixed time,
// run the rounds, print the median round.  Two goroutines share the same
// policies and the same executor; GOMAXPROCS is 2 throughout.
//
//	value  = elapsed wall time * goroutines / total calls: wall-clock
//	         nanoseconds that one call takes on its own goroutine.
//	cpu_ns = CPU time of the whole process (user + system; it includes the
//	         garbage collector) / total calls.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"syscall"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/sony/gobreaker/v2"
)

// one is what every call returns, and what a counted refusal is worth.
var one = 1

// sink receives the results, so that no call can be dropped.
var sink int

// call is the protected call, reached through a func value.
var call = func() (int, error) { return one, nil }

// work makes n calls and returns how many of them went as expected.
type work func(n int) int

type scenario struct {
	name  string
	extra bool
	make  func() (work, error)
}

// ---- failsafe-go ---------------------------------------------------------

func breaker() circuitbreaker.CircuitBreaker[int] {
	return circuitbreaker.NewBuilder[int]().
		WithFailureRateThreshold(0.5, 100, 30*time.Second).
		WithDelay(time.Hour).
		Build()
}

func limiter() ratelimiter.RateLimiter[int] {
	return ratelimiter.NewBursty[int](1_000_000_000, time.Second)
}

func heads() bulkhead.Bulkhead[int] {
	return bulkhead.New[int](30)
}

func retries() retrypolicy.Builder[int] {
	return retrypolicy.NewBuilder[int]().
		WithMaxAttempts(3).
		WithBackoff(50*time.Millisecond, time.Second).
		WithJitterFactor(0.5)
}

// through makes the calls through an executor built once.
func through(policies ...failsafe.Policy[int]) (work, error) {
	executor := failsafe.With(policies...)
	return func(n int) int {
		sum := 0
		for i := 0; i < n; i++ {
			v, err := executor.Get(call)
			if err == nil {
				sum += v
			}
		}
		return sum
	}, nil
}

var failsafeGo = []scenario{
	{"guard", false, func() (work, error) {
		return through(retries().WithBudget(budget.New()).Build(), breaker(), limiter(), heads())
	}},
	{"breaker", false, func() (work, error) { return through(breaker()) }},
	{"bucket", false, func() (work, error) { return through(limiter()) }},
	{"bulkhead", false, func() (work, error) { return through(heads()) }},
	{"retry", false, func() (work, error) { return through(retries().Build()) }},
	{"budget", false, func() (work, error) {
		return through(retries().WithBudget(budget.New()).Build())
	}},
	{"refusal", false, func() (work, error) {
		b := breaker()
		b.Open()
		executor := failsafe.With[int](b)
		return func(n int) int {
			refused := 0
			for i := 0; i < n; i++ {
				if _, err := executor.Get(call); errors.Is(err, circuitbreaker.ErrOpen) {
					refused++
				}
			}
			return refused
		}, nil
	}},
	{"guard_without_bucket", true, func() (work, error) {
		return through(retries().WithBudget(budget.New()).Build(), breaker(), heads())
	}},
	{"guard_permit", true, func() (work, error) {
		b, l, h := breaker(), limiter(), heads()
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				if b.TryAcquirePermit() && l.TryAcquirePermit() && h.TryAcquirePermit() {
					v, _ := call()
					sum += v
					h.ReleasePermit()
					b.RecordSuccess()
				}
			}
			return sum
		}, nil
	}},
	{"breaker_permit", true, func() (work, error) {
		b := breaker()
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				if b.TryAcquirePermit() {
					v, _ := call()
					sum += v
					b.RecordSuccess()
				}
			}
			return sum
		}, nil
	}},
	{"bucket_permit", true, func() (work, error) {
		l := limiter()
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				if l.TryAcquirePermit() {
					v, _ := call()
					sum += v
				}
			}
			return sum
		}, nil
	}},
	{"bulkhead_permit", true, func() (work, error) {
		h := heads()
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				if h.TryAcquirePermit() {
					v, _ := call()
					sum += v
					h.ReleasePermit()
				}
			}
			return sum
		}, nil
	}},
	{"refusal_permit", true, func() (work, error) {
		b := breaker()
		b.Open()
		return func(n int) int {
			refused := 0
			for i := 0; i < n; i++ {
				if !b.TryAcquirePermit() {
					refused++
				}
			}
			return refused
		}, nil
	}},
}

// ---- gobreaker -----------------------------------------------------------

var errCall = errors.New("the call failed")

func settings() gobreaker.Settings {
	return gobreaker.Settings{
		Name:         "breaker",
		Interval:     30 * time.Second,
		BucketPeriod: time.Second,
		Timeout:      time.Hour,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= 100 && c.TotalFailures*2 >= c.Requests
		},
	}
}

var goBreaker = []scenario{
	{"breaker", false, func() (work, error) {
		b := gobreaker.NewCircuitBreaker[int](settings())
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				v, err := b.Execute(call)
				if err == nil {
					sum += v
				}
			}
			return sum
		}, nil
	}},
	{"refusal", false, func() (work, error) {
		b := gobreaker.NewCircuitBreaker[int](settings())
		for i := 0; i < 200; i++ {
			_, _ = b.Execute(func() (int, error) { return 0, errCall })
		}
		if b.State() != gobreaker.StateOpen {
			return nil, errors.New("the breaker did not open")
		}
		return func(n int) int {
			refused := 0
			for i := 0; i < n; i++ {
				if _, err := b.Execute(call); errors.Is(err, gobreaker.ErrOpenState) {
					refused++
				}
			}
			return refused
		}, nil
	}},
	{"breaker_permit", true, func() (work, error) {
		b := gobreaker.NewTwoStepCircuitBreaker[int](settings())
		return func(n int) int {
			sum := 0
			for i := 0; i < n; i++ {
				done, err := b.Allow()
				if err == nil {
					v, err := call()
					sum += v
					done(err)
				}
			}
			return sum
		}, nil
	}},
}

// ---- the timing ----------------------------------------------------------

type round struct{ wallNs, cpuNs float64 }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// play makes n calls on each of the goroutines, all of them on one work.
func play(w work, goroutines, n int) (round, error) {
	sums := make([]int, goroutines)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for g := 0; g < goroutines; g++ {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			<-start
			sums[g] = w(n)
		}()
	}
	ready.Wait()
	cpu := cpuTime()
	begin := time.Now()
	close(start)
	done.Wait()
	wall := time.Since(begin)
	cpu = cpuTime() - cpu

	calls := n * goroutines
	sum := 0
	for _, s := range sums {
		sum += s
	}
	sink += sum
	if sum != calls*one {
		return round{}, fmt.Errorf("the policies answered %d times as expected out of %d", sum, calls)
	}
	return round{
		wallNs: float64(wall.Nanoseconds()) * float64(goroutines) / float64(calls),
		cpuNs:  float64(cpu.Nanoseconds()) / float64(calls),
	}, nil
}

func measure(s scenario, goroutines int, warmup, length time.Duration, rounds int) (round, error) {
	w, err := s.make()
	if err != nil {
		return round{}, err
	}
	// Warm up, doubling the round until it is long enough to judge by.
	n := 1024
	var last round
	for begin := time.Now(); ; {
		if last, err = play(w, goroutines, n); err != nil {
			return round{}, err
		}
		if time.Since(begin) >= warmup {
			break
		}
		if last.wallNs*float64(n) < float64(length.Nanoseconds())/2 {
			n *= 2
		}
	}
	n = max(1, int(float64(length.Nanoseconds())/last.wallNs))

	all := make([]round, rounds)
	for i := range all {
		if all[i], err = play(w, goroutines, n); err != nil {
			return round{}, err
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].wallNs < all[j].wallNs })
	return all[rounds/2], nil
}

func main() {
	peer := flag.String("peer", "failsafe-go", "failsafe-go or gobreaker")
	warmup := flag.Duration("warmup", 500*time.Millisecond, "warm-up of each scenario")
	length := flag.Duration("round", 300*time.Millisecond, "length of a round")
	rounds := flag.Int("rounds", 7, "rounds of each scenario")
	extra := flag.Bool("extra", false, "also measure the permit calls")
	flag.Parse()

	var scenarios []scenario
	switch *peer {
	case "failsafe-go":
		scenarios = failsafeGo
	case "gobreaker":
		scenarios = goBreaker
	default:
		fmt.Fprintf(os.Stderr, "no peer %q\n", *peer)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(2)
	// This program keeps next to nothing alive, so with the default setting
	// the collector would run every few megabytes, far more often than in a
	// service.  This is in favour of failsafe-go, which allocates in a call.
	debug.SetGCPercent(400)

	failed := false
	for _, s := range scenarios {
		if s.extra && !*extra {
			continue
		}
		for _, goroutines := range []int{1, 2} {
			r, err := measure(s, goroutines, *warmup, *length, *rounds)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s %s: %v\n", *peer, s.name, err)
				failed = true
				continue
			}
			fmt.Printf("{\"subject\":%q,\"metric\":\"%s_ns_per_call\",\"threads\":%d,\"value\":%.1f,\"cpu_ns\":%.1f}\n",
				*peer, s.name, goroutines, r.wallNs, r.cpuNs)
		}
	}
	if failed {
		os.Exit(1)
	}
}
