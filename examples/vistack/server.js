// The site behind the limits: answers every request. node server.js [PORT]
'use strict';

const http = require('http');

const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ path: request.url, user: request.headers['x-user-id'] || null }));
  });
});
server.listen(Number(process.argv[2] || 3000), '127.0.0.1', () => {
  console.log(`listens on ${server.address().port}`);
});
