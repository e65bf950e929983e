// ioredis and redis (node-redis) against weir's RESP listener, each as its README connects.
const assert = require('node:assert');
const Redis = require('ioredis');
const { createClient } = require('redis');

const port = Number(process.argv[2]);

async function withIoredis() {
  const redis = new Redis(port, '127.0.0.1');
  const throttle = (...words) => redis.call('CL.THROTTLE', ...words);
  assert.deepEqual(await throttle('io', 1, 1, 60), [0, 2, 1, -1, 60]);
  assert.deepEqual(await throttle('io', 1, 1, 60), [0, 2, 0, -1, 120]);
  assert.equal((await throttle('io', 1, 1, 60))[0], 1);
  const pipeline = redis.pipeline();
  for (let i = 0; i < 100; ++i) pipeline.call('CL.THROTTLE', 'pipe', 49, 1, 3600);
  const replies = await pipeline.exec();
  assert.equal(replies.filter(([error, five]) => !error && five[0] === 0).length, 50);
  assert.equal(await redis.ping(), 'PONG');
  await assert.rejects(redis.call('CL.THROTTLE', 'io'), /wrong number of arguments/);
  await redis.quit();
  console.log('ioredis ok');
}

async function withNodeRedis(options, name) {
  const client = await createClient({ url: `redis://127.0.0.1:${port}`, ...options }).connect();
  const take = (key) => client.sendCommand(['WEIR.TAKE', 'login', '1', key]);
  assert.deepEqual((await take(name)).slice(0, 3), [1, 'login', 1]);
  assert.deepEqual((await take(name)).slice(0, 3), [1, 'login', 0]);
  assert.equal((await take(name))[0], 0);
  await client.quit();
  console.log(`${name} ok`);
}

(async () => {
  await withIoredis();
  await withNodeRedis({}, 'redis');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
