// examples/envoy/envoy.yaml held against the shapes of Envoy's API that it uses, and what its rate
// limit actions say of one request: node envoy.js FILE prints {domain, keys, port} as JSON. There is
// no Envoy here to ask.
const assert = require('node:assert');
const fs = require('node:fs');
const Ajv = require('ajv/dist/2020').default;
const YAML = require('yaml');

const closed = (properties, required = Object.keys(properties)) =>
  ({ type: 'object', properties, required, additionalProperties: false });
const list = (items, more = {}) => ({ type: 'array', items, minItems: 1, ...more });
const text = { type: 'string', minLength: 1 };
const duration = { type: 'string', pattern: '^[0-9]+(\\.[0-9]{1,9})?s$' };
const typed = (name, properties, required) => closed({
  '@type': { const: `type.googleapis.com/${name}` }, ...properties },
  ['@type', ...(required || Object.keys(properties))]);
const address = closed({ socket_address: closed({
  address: text, port_value: { type: 'integer', minimum: 1, maximum: 65535 } }) });
const HTTP = 'envoy.extensions.filters.http';

const rateLimit = closed({ name: { const: `${HTTP.replace('extensions.', '')}.ratelimit` },
  typed_config: typed(`${HTTP}.ratelimit.v3.RateLimit`, {
    domain: text, timeout: duration, failure_mode_deny: { type: 'boolean' },
    rate_limit_service: closed({ transport_api_version: { const: 'V3' },
      grpc_service: closed({ envoy_grpc: closed({ cluster_name: text }) }) }) }) });
const router = closed({ name: { const: `${HTTP.replace('extensions.', '')}.router` },
  typed_config: typed(`${HTTP}.router.v3.Router`, {}) });
const action = { oneOf: [
  closed({ remote_address: closed({}) }),
  closed({ request_headers: closed({ header_name: text, descriptor_key: text }) })] };
const manager = typed(
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: text, use_remote_address: { type: 'boolean' },
    route_config: closed({ virtual_hosts: list(closed({ name: text, domains: list(text),
      rate_limits: list(closed({ actions: list(action) })),
      routes: list(closed({ match: closed({ prefix: text }), route: closed({ cluster: text }) })) })) }),
    http_filters: { type: 'array', prefixItems: [rateLimit, router], minItems: 2, items: false } });
const http2 = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const cluster = closed({ name: text, type: { const: 'STATIC' }, connect_timeout: duration,
  typed_extension_protocol_options: closed({ [http2]: typed(http2,
    { explicit_http_config: closed({ http2_protocol_options: closed({}) }) }) }),
  load_assignment: closed({ cluster_name: text, endpoints: list(closed({
    lb_endpoints: list(closed({ endpoint: closed({ address }) })) })) }) },
['name', 'type', 'connect_timeout', 'load_assignment']);
const bootstrap = closed({ static_resources: closed({
  listeners: list(closed({ name: text, address, filter_chains: list(closed({ filters: list(closed({
    name: text, typed_config: manager })) })) })), clusters: list(cluster) }) });

const file = YAML.parse(fs.readFileSync(process.argv[2], 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true });
const fits = ajv.compile(bootstrap);
assert.ok(fits(file), ajv.errorsText(fits.errors, { separator: '\n' }));
assert.ok(!fits({ static_resources: { listeners: [], clusters: [] } }), 'the shapes refuse a mistake');

const { listeners: [listener], clusters } = file.static_resources;
const config = listener.filter_chains[0].filters[0].typed_config;
const limiter = config.http_filters[0].typed_config;
const byName = Object.fromEntries(clusters.map((one) => [one.name, one]));
const asked = byName[limiter.rate_limit_service.grpc_service.envoy_grpc.cluster_name];
assert.ok(asked && asked.typed_extension_protocol_options, 'weir is asked by HTTP/2');
const [host] = config.route_config.virtual_hosts;
for (const { route } of host.routes) assert.ok(byName[route.cluster], `${route.cluster} is a cluster`);
for (const one of clusters) assert.equal(one.load_assignment.cluster_name, one.name);
const keys = host.rate_limits[0].actions.map((one) =>
  one.request_headers ? one.request_headers.descriptor_key : 'remote_address');
const { port_value: port } = asked.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address
  .socket_address;
console.log(JSON.stringify({ domain: limiter.domain, keys, port }));
