/*
 * Peer benchmark: resilience4j.
 *
 * The work: a call that always succeeds and does nothing (it returns an
 * Integer held in a field), made through the policies.
 *
 *   guard     Retry(CircuitBreaker(RateLimiter(Bulkhead(call)))), nested
 *             decorateSupplier calls: what Decorators.ofSupplier() builds.
 *   breaker   CircuitBreaker alone: time-based sliding window of 30 s.
 *   bucket    RateLimiter alone (AtomicRateLimiter), a limit never reached.
 *   bulkhead  Bulkhead alone: semaphore, 30 concurrent calls, no waiting.
 *   retry     Retry alone: 3 attempts, exponential random backoff.
 *   refusal   a decorated call on an open CircuitBreaker, which throws
 *             CallNotPermittedException; writableStackTraceEnabled(false),
 *             the cheap form the documentation offers.
 *
 * Only run when asked for (run.sh --extra); the same policies without the
 * decorated call, through the permission calls a user can make by hand:
 *   guard_permit, breaker_permit, bucket_permit, bulkhead_permit,
 *   refusal_permit.  guard_permit is breaker + rate limiter + bulkhead.
 *   guard_without_bucket is the decorated guard less its rate limiter;
 *   guard_lock_free and breaker_lock_free use the library's lock-free window
 *   in place of the default, synchronized one.
 *
 * What the peer lacks: a retry budget.  So the guard here has four policies.
 *
 * No event consumer is registered, so no event object is made.  The policy
 * objects and the decorated supplier are built once, before the timing.
 *
 * One scenario per process: the JIT then sees one call shape at every call
 * site and inlines as far as it ever will, which is the best case for the
 * peer.  Order of business: warm up, size a round to a fixed time, run the
 * rounds, print the median round.
 *
 * Two threads share the same policy objects and the same decorated supplier.
 * value  = elapsed wall time * threads / total calls: wall-clock nanoseconds
 *          that one call takes on its own thread.
 * cpu_ns = CPU time of the whole process (user + system; it includes the
 *          JVM's own threads) / total calls.
 *
 * Usage: Peer SCENARIO THREADS WARMUP_MS ROUND_MS ROUNDS
 */
package lullbench;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

public final class Peer {
    /** What every call returns, and what a counted refusal is worth. */
    private static final int ONE = 1;

    /** Calls made in one entry of the timed loop; rounds are a multiple. */
    private static final int CHUNK = 1024;

    private static final com.sun.management.OperatingSystemMXBean OS =
            (com.sun.management.OperatingSystemMXBean)
                    ManagementFactory.getOperatingSystemMXBean();

    /** The results end up here, so that no call can be dropped. */
    private static volatile long sink;

    private Peer() {}

    /** The protected call. */
    private static final class Call implements Supplier<Integer> {
        private final Integer value;

        Call(int value) {
            this.value = value;
        }

        @Override
        public Integer get() {
            return value;
        }
    }

    /** CHUNK calls; the answer must be CHUNK. */
    private interface Work {
        long chunk();
    }

    private record Round(double wallNs, double cpuNs) {}

    // ---- the policies --------------------------------------------------

    private static CircuitBreaker breaker() {
        return breaker(SlidingWindowSynchronizationStrategy.SYNCHRONIZED); // the default
    }

    private static CircuitBreaker breaker(SlidingWindowSynchronizationStrategy how) {
        return CircuitBreaker.of(
                "breaker",
                CircuitBreakerConfig.custom()
                        .slidingWindow(30, 100, SlidingWindowType.TIME_BASED, how)
                        .failureRateThreshold(50)
                        .waitDurationInOpenState(Duration.ofHours(1))
                        .writableStackTraceEnabled(false)
                        .build());
    }

    private static RateLimiter limiter() {
        return RateLimiter.of(
                "limiter",
                RateLimiterConfig.custom()
                        .limitForPeriod(1_000_000_000)
                        .limitRefreshPeriod(Duration.ofSeconds(1))
                        .timeoutDuration(Duration.ZERO)
                        .writableStackTraceEnabled(false)
                        .build());
    }

    private static Bulkhead bulkhead() {
        return Bulkhead.of(
                "bulkhead",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(30)
                        .maxWaitDuration(Duration.ZERO)
                        .writableStackTraceEnabled(false)
                        .build());
    }

    private static Retry retry() {
        return Retry.of(
                "retry",
                RetryConfig.<Integer>custom()
                        .maxAttempts(3)
                        .intervalFunction(
                                IntervalFunction.ofExponentialRandomBackoff(
                                        Duration.ofMillis(50), 2.0, 0.5))
                        .build());
    }

    // ---- the scenarios -------------------------------------------------

    private static Work decorated(Supplier<Integer> supplier) {
        return () -> {
            long sum = 0;
            for (int i = 0; i < CHUNK; i++) {
                sum += supplier.get();
            }
            return sum;
        };
    }

    private static Work scenario(String name) {
        Supplier<Integer> call = new Call(ONE);
        switch (name) {
            case "guard":
                return decorated(
                        Retry.decorateSupplier(
                                retry(),
                                CircuitBreaker.decorateSupplier(
                                        breaker(),
                                        RateLimiter.decorateSupplier(
                                                limiter(),
                                                Bulkhead.decorateSupplier(bulkhead(), call)))));
            case "guard_without_bucket":
                return decorated(
                        Retry.decorateSupplier(
                                retry(),
                                CircuitBreaker.decorateSupplier(
                                        breaker(),
                                        Bulkhead.decorateSupplier(bulkhead(), call))));
            case "guard_lock_free":
                return decorated(
                        Retry.decorateSupplier(
                                retry(),
                                CircuitBreaker.decorateSupplier(
                                        breaker(SlidingWindowSynchronizationStrategy.LOCK_FREE),
                                        RateLimiter.decorateSupplier(
                                                limiter(),
                                                Bulkhead.decorateSupplier(bulkhead(), call)))));
            case "breaker_lock_free":
                return decorated(
                        CircuitBreaker.decorateSupplier(
                                breaker(SlidingWindowSynchronizationStrategy.LOCK_FREE), call));
            case "breaker":
                return decorated(CircuitBreaker.decorateSupplier(breaker(), call));
            case "bucket":
                return decorated(RateLimiter.decorateSupplier(limiter(), call));
            case "bulkhead":
                return decorated(Bulkhead.decorateSupplier(bulkhead(), call));
            case "retry":
                return decorated(Retry.decorateSupplier(retry(), call));
            case "refusal": {
                CircuitBreaker open = breaker();
                open.transitionToOpenState();
                Supplier<Integer> supplier = CircuitBreaker.decorateSupplier(open, call);
                return () -> {
                    long refused = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        try {
                            sink = supplier.get();
                        } catch (CallNotPermittedException e) {
                            refused++;
                        }
                    }
                    return refused;
                };
            }
            case "guard_permit": {
                CircuitBreaker breaker = breaker();
                RateLimiter limiter = limiter();
                Bulkhead bulkhead = bulkhead();
                return () -> {
                    long sum = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        if (breaker.tryAcquirePermission()) {
                            long start = breaker.getCurrentTimestamp();
                            if (limiter.acquirePermission() && bulkhead.tryAcquirePermission()) {
                                sum += call.get();
                                bulkhead.onComplete();
                                breaker.onSuccess(
                                        breaker.getCurrentTimestamp() - start,
                                        breaker.getTimestampUnit());
                            }
                        }
                    }
                    return sum;
                };
            }
            case "breaker_permit": {
                CircuitBreaker breaker = breaker();
                return () -> {
                    long sum = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        if (breaker.tryAcquirePermission()) {
                            long start = breaker.getCurrentTimestamp();
                            sum += call.get();
                            breaker.onSuccess(
                                    breaker.getCurrentTimestamp() - start,
                                    breaker.getTimestampUnit());
                        }
                    }
                    return sum;
                };
            }
            case "bucket_permit": {
                RateLimiter limiter = limiter();
                return () -> {
                    long sum = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        if (limiter.acquirePermission()) {
                            sum += call.get();
                        }
                    }
                    return sum;
                };
            }
            case "bulkhead_permit": {
                Bulkhead bulkhead = bulkhead();
                return () -> {
                    long sum = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        if (bulkhead.tryAcquirePermission()) {
                            sum += call.get();
                            bulkhead.onComplete();
                        }
                    }
                    return sum;
                };
            }
            case "refusal_permit": {
                CircuitBreaker open = breaker();
                open.transitionToOpenState();
                return () -> {
                    long refused = 0;
                    for (int i = 0; i < CHUNK; i++) {
                        if (!open.tryAcquirePermission()) {
                            refused++;
                        }
                    }
                    return refused;
                };
            }
            default:
                throw new IllegalArgumentException("no scenario " + name);
        }
    }

    // ---- the timing ----------------------------------------------------

    private static long chunks(Work work, long count) {
        long sum = 0;
        for (long i = 0; i < count; i++) {
            sum += work.chunk();
        }
        return sum;
    }

    /** One round: count chunks on each thread, all of them on one Work. */
    private static Round round(Work work, int threads, long count) throws InterruptedException {
        long[] sums = new long[threads];
        CountDownLatch ready = new CountDownLatch(threads);
        CountDownLatch go = new CountDownLatch(1);
        Thread[] team = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int me = t;
            team[t] =
                    new Thread(
                            () -> {
                                ready.countDown();
                                try {
                                    go.await();
                                } catch (InterruptedException e) {
                                    return;
                                }
                                sums[me] = chunks(work, count);
                            });
            team[t].start();
        }
        ready.await();
        long cpu = OS.getProcessCpuTime();
        long wall = System.nanoTime();
        go.countDown();
        for (Thread t : team) {
            t.join();
        }
        wall = System.nanoTime() - wall;
        cpu = OS.getProcessCpuTime() - cpu;

        double calls = (double) count * CHUNK * threads;
        long sum = Arrays.stream(sums).sum();
        sink = sum;
        if (sum != (long) calls * ONE) {
            throw new IllegalStateException(
                    "the policies answered " + sum + " times as expected out of " + (long) calls);
        }
        return new Round((double) wall * threads / calls, cpu / calls);
    }

    public static void main(String[] args) throws InterruptedException {
        String name = args[0];
        int threads = Integer.parseInt(args[1]);
        long warmupNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[2]));
        double roundNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[3]));
        int rounds = Integer.parseInt(args[4]);
        Work work = scenario(name);

        // Warm up, doubling the round until it is long enough to judge by.
        // CPU time, not wall time, says when the JIT has had its chance; the
        // wall time is only a limit for a machine that is very busy.
        long cpuBegin = OS.getProcessCpuTime();
        long begin = System.nanoTime();
        long count = 1;
        Round last = round(work, threads, count);
        while (OS.getProcessCpuTime() - cpuBegin < warmupNs * threads
                && System.nanoTime() - begin < 5 * warmupNs) {
            last = round(work, threads, count);
            if (last.wallNs * CHUNK * count < roundNs / 2) {
                count *= 2;
            }
        }
        count = Math.max(1, (long) (roundNs / (last.wallNs * CHUNK)));

        Round[] all = new Round[rounds];
        for (int i = 0; i < rounds; i++) {
            all[i] = round(work, threads, count);
        }
        Arrays.sort(all, Comparator.comparingDouble(Round::wallNs));
        Round median = all[rounds / 2];
        System.out.printf(
                Locale.ROOT,
                "{\"subject\":\"resilience4j\",\"metric\":\"%s_ns_per_call\",\"threads\":%d,"
                        + "\"value\":%.1f,\"cpu_ns\":%.1f}%n",
                name,
                threads,
                median.wallNs,
                median.cpuNs);
    }
}
