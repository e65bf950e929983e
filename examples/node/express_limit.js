// Rate limits for Express over weir's check API.
//
//   app.use(weir({ url: 'http://127.0.0.1:8081', attributes: (req) => ({ user: req.user?.id }) }));

const HEADERS = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset',
  'ratelimit-policy', 'ratelimit'];

// `attributes` adds to ip, method and path what the limits count by. When weir does not answer
// within `timeout` ms, the request passes (`failOpen`) or gets 503.
function weir({ url, token, attributes = () => ({}), timeout = 100, failOpen = true }) {
  return async (req, res, next) => {
    let answer;
    try {
      const sent = { ip: req.ip, method: req.method, path: req.originalUrl, ...attributes(req) };
      for (const [name, value] of Object.entries(sent)) if (value == null) delete sent[name];
      answer = await fetch(`${url}/v1/check`, {
        method: 'POST',
        headers: { 'content-type': 'application/json',
          ...(token ? { authorization: `Bearer ${token}` } : {}) },
        body: JSON.stringify({ attributes: sent }),
        signal: AbortSignal.timeout(timeout),
      });
      if (answer.status !== 200 && answer.status !== 429) throw new Error(await answer.text());
    } catch (error) {
      console.error(`weir: ${error.message}`);
      return failOpen ? next() : res.status(503).json({ code: 'LIMITER_UNAVAILABLE' });
    }
    for (const name of HEADERS) {
      if (answer.headers.has(name)) res.set(name, answer.headers.get(name));
    }
    const decision = await answer.json();
    if (!decision.allowed) {
      return res.status(429).json({ code: 'RATE_LIMITED', limit: decision.limit,
        retry_after: decision.retry_after && Math.ceil(decision.retry_after) });
    }
    if (decision.delay > 0) await new Promise((go) => setTimeout(go, decision.delay * 1000));
    next();
  };
}

module.exports = { weir };
