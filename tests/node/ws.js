// npm's ws against a gateway that limits messages: ws.js URL [header=value ...]
//
// Reads lines of JSON from the standard input: {"send": [messages]} or {"close": code}; sends the
// messages, waits for as many answers, and prints them as one line. Says "open EXTENSIONS" first and
// "closed CODE" last.
'use strict';

const readline = require('readline');
const WebSocket = require('ws');

const [url, ...pairs] = process.argv.slice(2);
const headers = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
const socket = new WebSocket(url, { headers, perMessageDeflate: true });

let answers = [];
let wanted = 0;

function report() {
  if (wanted === 0 || answers.length < wanted) return;
  console.log(JSON.stringify(answers));
  answers = [];
  wanted = 0;
}

socket.on('open', () => {
  console.log(`open ${socket.extensions || 'plain'}`);
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const command = JSON.parse(line);
    if (command.close) return socket.close(command.close);
    wanted = command.send.length;
    for (const message of command.send) {
      if (message === 'PING') socket.ping('p');
      else socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    }
    report();
  });
});
socket.on('message', (data) => {
  answers.push(JSON.parse(data.toString()));
  report();
});
socket.on('pong', () => {
  answers.push('PONG');
  report();
});
socket.on('close', (code) => {
  console.log(`closed ${code}`);
  process.exit(0);
});
socket.on('error', (error) => {
  console.log(`error ${error.message}`);
  process.exit(1);
});
