// What the programs written for Node share: the lines of scenario.py.
'use strict'

const fs = require('fs')
const readline = require('readline')

const TIMEOUT_MS = 30000

const encoded = content => content == null ? null : Buffer.from(content).toString('base64')
const decoded = text => text === null ? null : Buffer.from(text, 'base64')

// A record as it was read; headers: names and values.
const told = (offset, timestamp, key, value, headers) => ({
  offset: Number(offset),
  timestamp: Number(timestamp),
  key: encoded(key),
  value: encoded(value),
  headers: headers.map(([name, content]) => ({ name: name.toString(), value: encoded(content) })),
})

const inTime = promise => Promise.race([
  promise, new Promise((_, reject) => setTimeout(() => reject(new Error('took too long')), TIMEOUT_MS).unref()),
])

// `client` has a method for each thing that it can be told to do, which gets the line.
const run = async client => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    for (const record of request.records || []) {
      for (const one of [record, ...record.headers]) {
        one.value = decoded(one.value)
        if ('key' in one) one.key = decoded(one.key)
      }
    }
    let answer
    try {
      answer = { ok: await inTime(client[request.do](request)) ?? null }
    } catch (error) {
      const errors = [error, ...(error.errors || []), error.cause].filter(Boolean)
      answer = { error: errors.map(one => `${one.name}: ${one.message}`).join('; ') }
    }
    const all = Buffer.from(JSON.stringify(answer) + '\n')
    for (let at = 0; at < all.length;) at += fs.writeSync(1, all, at)
  }
  process.exit(0)
}

module.exports = { run, told }
