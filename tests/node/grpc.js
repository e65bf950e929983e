// @grpc/grpc-js against weir's gRPC listener: node grpc.js PORT [CA [CERT KEY]]
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const shapes = grpc.loadPackageDefinition(loader.loadSync(path.join(__dirname, 'rls.proto'), {
  keepCase: true, enums: String, longs: Number, defaults: true }));
const { RateLimitService } = shapes.envoy.service.ratelimit.v3;
const [port, ...files] = process.argv.slice(2);
const [ca, cert, key] = files.map((file) => fs.readFileSync(file));
const client = new RateLimitService(`127.0.0.1:${port}`,
  ca ? grpc.credentials.createSsl(ca, key, cert) : grpc.credentials.createInsecure());

const call = (request, method = 'ShouldRateLimit', options = {}) =>
  new Promise((resolve) => client[method](request, options,
    (error, answer) => resolve(error ? { error } : answer)));
const ask = (user, more = {}) =>
  ({ domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: user }], ...more }] });

(async () => {
  for (const left of [1, 0]) {
    const { overall_code: code, statuses: [status] } = await call(ask('bob'));
    assert.equal(code, 'OK');
    assert.equal(status.limit_remaining, left);
    assert.deepEqual(status.current_limit,
      { requests_per_unit: 1, unit: 'HOUR', name: 'login' });
  }
  const refused = await call(ask('bob'));
  assert.equal(refused.overall_code, 'OVER_LIMIT');
  assert.ok(refused.response_headers_to_add.some((h) => h.key === 'retry-after'));
  assert.equal(JSON.parse(refused.raw_body.toString()).limit, 'login');

  const override = await call(ask('bob', { limit: { requests_per_unit: 5, unit: 2 } }));
  assert.equal(override.statuses[0].limit_remaining, 4);

  const many = await Promise.all(Array.from({ length: 500 }, (_, i) => call(ask(`u${i % 100}`))));
  assert.equal(many.filter((answer) => answer.overall_code === 'OK').length, 200);

  const code = async (...words) => (await call(...words)).error.code;
  assert.equal(await code(ask('x'), 'NoSuchMethod'), grpc.status.UNIMPLEMENTED);
  assert.equal(await code({ domain: '', descriptors: [] }), grpc.status.INVALID_ARGUMENT);
  assert.equal(await code(ask('x'.repeat(2 << 20))), grpc.status.RESOURCE_EXHAUSTED);
  assert.equal(await code(ask('x'), 'ShouldRateLimit', { deadline: Date.now() - 1 }),
    grpc.status.DEADLINE_EXCEEDED);
  assert.equal((await call(ask('after'))).overall_code, 'OK');
  client.close();
  console.log('grpc-js ok');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
