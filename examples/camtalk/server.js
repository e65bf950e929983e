// CamTalk's server, without its models: a page, a REST API and a WebSocket. node server.js [PORT]
//
// Each `query` would run speech-to-text, a language model and text-to-speech: `queries` at /api/health
// says how many did.
'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');
const { WebSocketServer } = require('ws');

let queries = 0;

function rest(request) {
  if (request.url === '/api/health') return { status: 'ok', queries };
  return { method: request.method, path: request.url };
}

const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      return response.end(fs.readFileSync(path.join(__dirname, 'index.html')));
    }
    response.setHeader('Content-Type', 'application/json');
    return response.end(JSON.stringify(rest(request)));
  });
});

function reply(message) {
  if (message.type === 'query') {
    queries += 1;
    return { type: 'answer', request_id: message.request_id, text: `you said: ${message.text}` };
  }
  if (message.type === 'ping') return { type: 'pong' };
  return { type: 'done', what: message.type };
}

new WebSocketServer({ server, path: '/ws' }).on('connection', (socket) => {
  socket.on('message', (data) => socket.send(JSON.stringify(reply(JSON.parse(data)))));
});

server.listen(Number(process.argv[2] || 3000), '127.0.0.1', () => {
  console.log(`listens on ${server.address().port}`);
});
