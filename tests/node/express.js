// The Express example against a running weir: node express.js PORT
const assert = require('node:assert');
const express = require('express');
const { weir } = require('../../examples/node/express_limit.js');

const app = express();
app.use(weir({ url: `http://127.0.0.1:${process.argv[2]}`, timeout: 5000 }));
app.get('/login', (req, res) => res.send('in'));

const server = app.listen(0, '127.0.0.1', async () => {
  const get = () => fetch(`http://127.0.0.1:${server.address().port}/login`);
  try {
    for (const left of ['1', '0']) {
      const answer = await get();
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('x-ratelimit-remaining'), left);
    }
    const refused = await get();
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await refused.json()).limit, 'login');
    console.log('express ok');
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
