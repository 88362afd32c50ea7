// BullMQ on Redis:   node bullmq.mjs enqueue|work JOBS REDIS_PORT TARGET_URL
//
// Jobs are added in bulk by addBulk and removed when they are complete.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { bulk, concurrency, done, inBulks, poster, ready, text } from './common.mjs';

const [role, count, port, target] = process.argv.slice(2);
const jobs = Number(count);
const connection = new Redis({ host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null });

async function enqueue() {
  const queue = new Queue('deliver', { connection });
  const specs = Array.from({ length: bulk }, () => ({
    name: 'deliver',
    data: { text },
    opts: { removeOnComplete: true, removeOnFail: false },
  }));
  await queue.waitUntilReady();
  await ready();
  await inBulks(jobs, (size) => queue.addBulk(size === bulk ? specs : specs.slice(0, size)));
  done();
}

async function work() {
  const post = poster(target);
  let completed = 0;
  let allCompleted;
  const finished = new Promise((resolve) => (allCompleted = resolve));
  const worker = new Worker('deliver', (job) => post(job.data.text), { connection, concurrency, autorun: false });
  worker.on('error', (error) => console.error(error));
  worker.on('completed', () => {
    if (++completed === jobs) allCompleted();
  });
  await worker.waitUntilReady();
  await ready();
  worker.run();
  await finished;
  done();
}

await (role === 'enqueue' ? enqueue() : work());
process.exit();
