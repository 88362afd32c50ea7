// What both peers share: the call that a job makes, and the talk with bench/delivery.
//
// A program says `ready` when it is set up, starts when it is told `go`, and says `done` when its part is over, so that bench/delivery takes the
// time and the CPU of everybody between the same two moments.
import { createInterface } from 'node:readline';
import { Pool } from 'undici';

export const concurrency = 64;
export const bulk = 1000;
export const text = 'abcdefghijklmnopqrstuvwxyz'.repeat(20).slice(0, 512);

// POSTs a payload over one of 64 connections that stay open; anything but 2xx is an error, as for a job that would be retried.
export function poster(address) {
  const { origin, pathname } = new URL(address);
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  return async (payload) => {
    const { statusCode, body } = await pool.request({
      path: pathname,
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: payload,
    });
    await body.dump();
    if (statusCode >= 300) throw new Error(`status ${statusCode}`);
  };
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export async function ready() {
  console.log('ready');
  await lines.next();
}

export function done() {
  console.log('done');
}

// Calls add() with the sizes of the bulks that make up the total, two at a time: one is written while the next one is made.
export async function inBulks(total, add) {
  let left = total;
  const feed = async () => {
    while (left > 0) {
      const count = Math.min(bulk, left);
      left -= count;
      await add(count);
    }
  };
  await Promise.all([feed(), feed()]);
}
