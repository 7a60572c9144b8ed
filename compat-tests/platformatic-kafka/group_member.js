// A member of a group in @platformatic/kafka; the lines are those of groups/scenario.py.
//
// A stream goes on with what it has in its buffer after a rebalance, so each generation of the group has a stream of its
// own. What may be done before partitions go to others is done where the client asks for the metadata to join with: it
// joins only when it has that. In the new protocol it tells of a loss and goes on, but metadata that it lacks it asks for
// on the same connection, after the commit; and it does not tell what it has been given, so that is watched.
'use strict'

const fs = require('fs')
const { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } = require('@platformatic/kafka')

const COMMIT_AT = 20
const IDLE_MS = 300
const LOOK_EVERY_MS = 50
const COMMIT_WAIT_MS = 2000
const [bootstrap, groupId, topic, name, mode, sessionMs] = process.argv.slice(2)
const COOPERATIVE = mode.startsWith('cooperative')
const STATIC = mode.endsWith('-static')
const NEW_PROTOCOL = mode.startsWith('consumer')
const ASSIGNOR = COOPERATIVE ? { name: 'cooperative-sticky', version: 3 } : { name: 'roundrobin', version: 1 }

const say = (...words) => fs.writeSync(1, `${name} ${words.join(' ')}\n`)
const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

class Member {
  constructor() {
    this.stream = undefined // of this generation; none between generations
    this.partitions = new Set()
    this.next = new Map() // offsets by partition, of those that it has
    this.pending = new Map() // to commit
    this.records = 0
    this.lastRecord = 0
    this.commit = undefined // what is on its way: { offsets, done }
    this.closing = false
    this.consumer = new Consumer({
      clientId: name, groupId, bootstrapBrokers: [bootstrap], autocommit: false, maxWaitTime: 200,
      retries: 1000, retryDelay: 200,
      sessionTimeout: Number(sessionMs), rebalanceTimeout: Number(sessionMs), heartbeatInterval: Number(sessionMs) / 12,
      ...(STATIC ? { groupInstanceId: name } : {}),
      ...(NEW_PROTOCOL
        ? { groupProtocol: 'consumer' } : { protocols: [ASSIGNOR], protocolsMetadata: () => this.beforeJoin() }),
    })
  }

  async run() {
    this.consumer.topics.track(topic)
    if (NEW_PROTOCOL) {
      this.watchAssignments()
      this.consumer.on('consumer:group:rebalance', () => this.beforeLoss())
      this.openStream() // it joins
    } else {
      this.consumer.on('consumer:group:join', () => this.joined())
      await this.consumer.joinGroup({})
    }
    setInterval(() => this.commitAtTimes(), LOOK_EVERY_MS)
    process.stdin.resume()
    process.stdin.on('end', () => this.close().catch(fail))
  }

  // All that it has from now on.
  assigned(partitions) {
    const now = new Set(partitions)
    for (const each of this.partitions) {
      if (now.has(each)) continue
      this.next.delete(each)
      this.pending.delete(each)
    }
    this.partitions = now
    say('assigned', [...now].sort().join(',') || '-')
  }

  given() {
    return (this.consumer.assignments || []).filter(one => one.topic === topic).flatMap(one => one.partitions)
  }

  async beforeJoin() {
    this.endStream()
    await this.commitRest()
    const kept = COOPERATIVE ? this.given() : []
    if (String(kept) !== String([...this.partitions])) this.assigned(kept)
    return Buffer.alloc(0)
  }

  joined() {
    if (this.closing) return
    this.assigned(this.given())
    this.openStream()
  }

  // In the new protocol.
  watchAssignments() {
    let assignments = this.consumer.assignments
    Object.defineProperty(this.consumer, 'assignments', {
      get: () => assignments,
      set: value => {
        assignments = value
        this.reassigned()
      },
    })
  }

  beforeLoss() {
    this.endStream()
    if (this.pending.size) this.commitPending()
    this.consumer.clearMetadata()
  }

  reassigned() {
    const now = this.given().filter(each => !this.closing || this.partitions.has(each))
    if (String(now) !== String([...this.partitions])) this.assigned(now)
    this.endStream()
    // The client tells all streams that there are now to start anew.
    setImmediate(() => { if (this.partitions.size && !this.closing) this.openStream() })
  }

  openStream() {
    this.endStream()
    this.consumer.clearMetadata() // a broker that was killed meanwhile has other epochs
    this.consumer.consume({
      topics: [topic], mode: MessagesStreamModes.COMMITTED, fallbackMode: MessagesStreamFallbackModes.EARLIEST,
    }, (error, stream) => {
      if (error) return fail(error)
      this.endStream()
      this.stream = stream
      stream.on('error', error => { if (this.stream === stream) fail(error) })
      stream.on('data', message => { if (this.stream === stream) this.consumed(message) })
    })
  }

  endStream() {
    const stream = this.stream
    this.stream = undefined
    stream?.destroy()
  }

  consumed({ partition, offset }) {
    // Of what it keeps it may have read more than was committed.
    if (offset < (this.next.get(partition) ?? 0n)) return
    say('consumed', partition, offset)
    this.next.set(partition, offset + 1n)
    this.pending.set(partition, offset + 1n)
    this.records++
    this.lastRecord = Date.now()
    this.commitAtTimes()
  }

  commitAtTimes() {
    if (!this.stream || this.commit || !this.pending.size) return
    if (this.records >= COMMIT_AT || Date.now() >= this.lastRecord + IDLE_MS) this.commitPending()
  }

  commitPending() {
    const offsets = [...this.pending].map(([partition, offset]) => ({ topic, partition, offset, leaderEpoch: -1 }))
    const text = offsets.map(({ partition, offset }) => `${partition}:${offset}`).join(',')
    say('committing', text)
    this.records = 0
    const commit = { offsets, outcome: undefined }
    commit.settle = (outcome, detail) => {
      if (commit.outcome) return
      commit.outcome = outcome
      if (this.commit === commit) this.commit = undefined
      if (outcome === 'committed') {
        for (const { partition, offset } of offsets) {
          if (this.pending.get(partition) === offset) this.pending.delete(partition)
        }
      }
      say(outcome, detail.replace(/\n/g, ' '))
    }
    commit.done = this.consumer.commit({ offsets })
      .then(() => commit.settle('committed', text), error => commit.settle('refused', error.message))
    this.commit = commit
  }

  // The client joins again for a commit that is refused, and then tries it anew in the next generation: so none is waited
  // for very long, and what is left of it then is empty.
  async commitRest() {
    while (this.commit || this.pending.size) {
      if (!this.commit) this.commitPending()
      const commit = this.commit
      await Promise.race([commit.done, sleep(COMMIT_WAIT_MS)])
      if (!commit.outcome) {
        commit.settle('refused', 'it takes too long')
        commit.offsets.length = 0
      }
      if (commit.outcome === 'refused') return
    }
  }

  async close() {
    this.closing = true
    this.endStream()
    await this.commitRest()
    this.assigned([])
    await this.consumer.metadata({ topics: [topic] }) // without it the client closes and does not leave
    await this.consumer.close(true)
    say('closed')
    process.exit(0)
  }
}

const fail = error => {
  fs.writeSync(2, `${name}: ${error.stack}\n`)
  process.exit(1)
}

new Member().run().catch(fail)
