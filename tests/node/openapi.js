// docs/openapi.yaml before a validator of OpenAPI, and every answer that it describes from a running
// weir before ajv: node openapi.js PORT FILE
const assert = require('node:assert');
const fs = require('node:fs');
const Ajv = require('ajv/dist/2020').default;

const [port, file] = process.argv.slice(2);

const answers = (document) => Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).filter(([method]) => method !== 'parameters').flatMap(([method, operation]) =>
    Object.entries(operation.responses).map(([status, response]) =>
      ({ path, method, status: Number(status), response }))));

const url = (path) => `http://127.0.0.1:${port}${path}`;
const post = (path, body) => fetch(url(path), { method: 'POST', body });

// `decide`: a check whose id stands for $id in the body; `first`: what the body is sent to before.
const send = async (method, { path, headers, body, decide, first }) => {
  let text = body === undefined ? undefined : JSON.stringify(body);
  if (decide) {
    const { id } = await (await post('/v1/check', JSON.stringify(decide))).json();
    text = text.replace('$id', id);
  }
  if (first) await post(first, text);
  return fetch(url(path), { method: method.toUpperCase(), headers, body: text });
};

(async () => {
  // The package is an ES module, which import() does not find by NODE_PATH.
  const { Validator } = await import(require.resolve('@seriousme/openapi-schema-validator'));
  const validator = new Validator();
  const verdict = await validator.validate(JSON.parse(fs.readFileSync(file, 'utf8')));
  assert.ok(verdict.valid, JSON.stringify(verdict.errors, null, 1));
  const broken = await new Validator().validate({ openapi: '3.1.0', info: {}, paths: { x: 1 } });
  assert.ok(!broken.valid, 'the validator finds a mistake');

  const ajv = new Ajv({ strict: false, allErrors: true });
  let held = 0;
  for (const { path, method, status, response } of answers(validator.resolveRefs())) {
    const request = response['x-request'];
    if (!request) continue;
    const label = `${method} ${path} ${status}`;
    const answer = await send(method, request);
    const text = await answer.text();
    assert.equal(answer.status, status, `${label}: ${text}`);
    const [type] = (answer.headers.get('content-type') || '').split(';');
    const content = (response.content || {})[type];
    if (!content && !response.content) continue;
    assert.ok(content, `${label}: ${type} is not in the file`);
    const fits = ajv.compile(content.schema);
    assert.ok(fits(JSON.parse(text)), `${label}: ${text}: ${ajv.errorsText(fits.errors)}`);
    held += 1;
  }
  assert.ok(held > 15, `only ${held} answers were held against the file`);
  console.log(`openapi ok: ${held} answers`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
