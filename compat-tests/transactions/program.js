// What the programs written for Node share: the lines of scenario.py and copying.py.
'use strict'

const fs = require('fs')
const readline = require('readline')

const ISOLATIONS = ['read_committed', 'read_uncommitted']
const COPIER_TIMEOUT_MS = 15000
const COPY_AT_MOST = 10 // records in one transaction
const ABORT_EVERY = 4 // of a copier's transactions one is aborted and done again
const SEEN_TIMEOUT_MS = 20000
const PAUSE_MS = 5

const say = (...words) => fs.writeSync(1, `${words.join(' ').replace(/\n/g, ' ')}\n`)
const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

const fail = error => {
  fs.writeSync(2, `${error.stack}\n`)
  process.exit(1)
}

// Partitions with offsets, as the lines have them: "0:3,1:5".
const positions = text => text.split(',').map(entry => entry.split(':'))

// Records of `count` numbers from `first` on, spread over the partitions.
const numbered = (partitions, first, count) => Array.from({ length: Number(count) }, (_, i) => Number(first) + i)
  .map(number => ({ partition: number % Number(partitions), value: String(number) }))

// `program` has a method for each thing that it can be told to do; `told` gives the words of an error.
const serve = async (program, told) => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ')
    try {
      say('ok', ...(await program[command](...words) || []))
    } catch (error) {
      say('error', ...told(error))
    }
  }
  process.exit(0)
}

// A copier goes on until its input ends.
const whenInputEnds = close => {
  process.stdin.resume()
  process.stdin.on('end', () => close().then(() => process.exit(0)).catch(fail))
}

module.exports = {
  ABORT_EVERY, COPIER_TIMEOUT_MS, COPY_AT_MOST, ISOLATIONS, PAUSE_MS, SEEN_TIMEOUT_MS,
  fail, numbered, positions, say, serve, sleep, whenInputEnds,
}
