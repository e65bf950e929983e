// Sends messages of these types and prints each answer: client.js URL TYPE... (`query*6` is six)
'use strict';

const WebSocket = require('ws');

const [url, ...words] = process.argv.slice(2);
const types = words.flatMap((word) => {
  const [type, times] = word.split('*');
  return Array(Number(times || 1)).fill(type);
});
const headers = {};
if (process.env.CAMTALK_USER) headers['X-User-Id'] = process.env.CAMTALK_USER;
if (process.env.CAMTALK_PLAN) headers['X-Plan'] = process.env.CAMTALK_PLAN;

const socket = new WebSocket(url, { headers });
let answers = 0;
socket.on('open', () => {
  types.forEach((type, i) => {
    socket.send(JSON.stringify({ type, request_id: i + 1, text: 'hello' }));
  });
});
socket.on('message', (data) => {
  console.log(data.toString());
  answers += 1;
  if (answers === types.length) socket.close();
});
socket.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
