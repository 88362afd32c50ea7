// graphile-worker on PostgreSQL:   node graphile-worker.mjs enqueue|work JOBS DATABASE_URL TARGET_URL
//
// Set up as its manual's page on performance advises for many short jobs: a local queue, so that jobs are taken by the batch, and
// completions that wait for company. Jobs are added in bulk by addJobs.
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import { bulk, concurrency, done, inBulks, poster, ready, text } from './common.mjs';

const [role, count, database, target] = process.argv.slice(2);
const jobs = Number(count);
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

async function enqueue() {
  const utilities = await makeWorkerUtils({ connectionString: database, logger });
  const specs = Array.from({ length: bulk }, () => ({ identifier: 'deliver', payload: { text } }));
  await ready();
  await inBulks(jobs, (size) => utilities.addJobs(size === bulk ? specs : specs.slice(0, size)));
  done();
  await utilities.release();
}

async function work() {
  const pgPool = new pg.Pool({ connectionString: database, max: 20 });
  const post = poster(target);
  let succeeded = 0;
  let allSucceeded;
  const finished = new Promise((resolve) => (allSucceeded = resolve));
  await runMigrations({ pgPool, logger });
  await ready();
  const runner = await run({
    pgPool,
    logger,
    noHandleSignals: true,
    preset: {
      worker: { concurrentJobs: concurrency, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
    },
    taskList: { deliver: ({ text: payload }) => post(payload) },
  });
  runner.events.on('job:success', () => {
    if (++succeeded === jobs) allSucceeded();
  });
  await finished;
  // A success is told before it is committed.
  const left = 'select exists (select from graphile_worker._private_jobs) as some';
  while ((await pgPool.query(left)).rows[0].some) await new Promise((resolve) => setTimeout(resolve, 5));
  done();
  await runner.stop();
}

await (role === 'enqueue' ? enqueue() : work());
process.exit();
