/*
 * Peer benchmark: cockatiel.
 *
 * The work: a call that always succeeds and does nothing (it returns a value
 * held in a variable), made through the policies.  Every execute() of
 * cockatiel is asynchronous, so every call is awaited before the next one;
 * the turns of the microtask queue are part of the figure, as they are part
 * of every use of the library.
 *
 *   guard     wrap(retry, circuitBreaker, bulkhead)
 *   breaker   circuitBreaker alone: sampling breaker, window of 30 s.
 *   bulkhead  bulkhead alone: 30 concurrent calls, no queue.
 *   retry     retry alone: 3 attempts, exponential backoff.
 *   refusal   execute() on an open circuitBreaker, which rejects with
 *             BrokenCircuitError.  The stack trace of the error is made, as
 *             it is for every user: the library has no switch for it.
 *             refusal_without_stack (run.sh --extra) is the same with
 *             Error.stackTraceLimit = 0, a setting of the whole process.
 *
 * What the peer lacks: a rate limiter and a retry budget, so the guard here
 * has three policies and there is no bucket and no budget figure.  Two
 * threads cannot share a policy: there is one thread only.
 *
 * One scenario per process, so that the JIT sees one call shape.  Order of
 * business: warm up, size a round to a fixed time, run the rounds, print the
 * median round.
 *
 * value  = elapsed wall time / total calls.
 * cpu_ns = CPU time of the whole process (user + system; it includes the
 *          garbage collector and the JIT's threads) / total calls.
 *
 * Usage: node bench.mjs SCENARIO WARMUP_MS ROUND_MS ROUNDS
 */
import {
  BrokenCircuitError,
  CircuitState,
  ExponentialBackoff,
  SamplingBreaker,
  bulkhead,
  circuitBreaker,
  handleAll,
  retry,
  wrap,
} from 'cockatiel';

const [name, warmupMs, roundMs, rounds] = [
  process.argv[2],
  ...process.argv.slice(3).map(Number),
];

// What every call returns; not a constant, so that no call can be folded.
const one = Math.sign(process.pid);
const call = () => one;

const newBreaker = () =>
  circuitBreaker(handleAll, {
    halfOpenAfter: 3_600_000,
    breaker: new SamplingBreaker({ threshold: 0.5, duration: 30_000, minimumRps: 4 }),
  });
const newBulkhead = () => bulkhead(30, 0);
const newRetry = () =>
  retry(handleAll, {
    maxAttempts: 2, // retries after the first attempt: 3 attempts in all
    backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 1_000 }),
  });

const through = policy => async n => {
  let sum = 0;
  for (let i = 0; i < n; i++) {
    sum += await policy.execute(call);
  }
  return sum;
};

const refused = async () => {
  const breaker = newBreaker();
  for (let i = 0; i < 1_000 && breaker.state !== CircuitState.Open; i++) {
    await breaker
      .execute(() => {
        throw new Error('the call failed');
      })
      .catch(() => {});
  }
  if (breaker.state !== CircuitState.Open) {
    throw new Error('the breaker did not open');
  }
  return async n => {
    let count = 0;
    for (let i = 0; i < n; i++) {
      try {
        await breaker.execute(call);
      } catch (error) {
        if (error instanceof BrokenCircuitError) {
          count++;
        }
      }
    }
    return count;
  };
};

const scenarios = {
  guard: () => through(wrap(newRetry(), newBreaker(), newBulkhead())),
  breaker: () => through(newBreaker()),
  bulkhead: () => through(newBulkhead()),
  retry: () => through(newRetry()),
  refusal: refused,
  refusal_without_stack: () => {
    Error.stackTraceLimit = 0;
    return refused();
  },
};

const play = async (work, n) => {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  const sum = await work(n);
  const wall = Number(process.hrtime.bigint() - start);
  const used = process.cpuUsage(cpu);
  if (sum !== n * one) {
    throw new Error(`the policies answered ${sum} times as expected out of ${n}`);
  }
  return { wallNs: wall / n, cpuNs: ((used.user + used.system) * 1_000) / n };
};

if (!Object.hasOwn(scenarios, name)) {
  throw new Error(`no scenario ${name}`);
}
const work = await scenarios[name]();

// Warm up, doubling the round until it is long enough to judge by.  CPU time,
// not wall time, says when the JIT has had its chance; the wall time is only a
// limit for a machine that is very busy.
const cpuMs = () => (({ user, system }) => (user + system) / 1_000)(process.cpuUsage());
const begin = performance.now();
const cpuBegin = cpuMs();
let n = 256;
let last = await play(work, n);
while (cpuMs() - cpuBegin < warmupMs && performance.now() - begin < 5 * warmupMs) {
  last = await play(work, n);
  if (last.wallNs * n < (roundMs * 1e6) / 2) {
    n *= 2;
  }
}
n = Math.max(1, Math.floor((roundMs * 1e6) / last.wallNs));

const all = [];
for (let i = 0; i < rounds; i++) {
  all.push(await play(work, n));
}
all.sort((a, b) => a.wallNs - b.wallNs);
const median = all[rounds >> 1];
console.log(
  `{"subject":"cockatiel","metric":"${name}_ns_per_call","threads":1,` +
    `"value":${median.wallNs.toFixed(1)},"cpu_ns":${median.cpuNs.toFixed(1)}}`,
);
