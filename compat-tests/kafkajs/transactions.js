// Transactions with KafkaJS; what it is told and what it says is in transactions/scenario.py.
'use strict'

const fs = require('fs')
const { Kafka, logLevel, PartitionAssigners } = require('kafkajs')
const {
  ABORT_EVERY, COPIER_TIMEOUT_MS, COPY_AT_MOST, ISOLATIONS, PAUSE_MS, SEEN_TIMEOUT_MS,
  fail, numbered, positions, say, serve, sleep, whenInputEnds,
} = require('./transactions_program.js')

const QUIET_MS = 100 // after this long without a record there are no more
const READER_SESSION_MS = 2000 // the group waits so long for the reader that was before

const complain = () => ({ log }) => fs.writeSync(2, `${log.message} ${log.error || ''}\n`)

const newClient = bootstrap => new Kafka({
  brokers: [bootstrap],
  logLevel: logLevel.ERROR,
  logCreator: complain,
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 200 },
})

// It initialises a producer when it connects.
const newProducer = async (bootstrap, transactionalId, transactionTimeout) => {
  const producer = newClient(bootstrap).producer({
    transactionalId, transactionTimeout, idempotent: true, maxInFlightRequests: 1,
  })
  await producer.connect()
  return producer
}

const newConsumer = (bootstrap, groupId, readUncommitted, more = {}) => newClient(bootstrap).consumer({
  groupId, readUncommitted, maxWaitTimeInMs: 100, partitionAssigners: [PartitionAssigners.roundRobin], ...more,
})

class Program {
  constructor(bootstrap) {
    this.bootstrap = bootstrap
    this.producers = {}
    this.transactions = {}
    this.readers = []
  }

  async producer(name, id, timeoutMs) {
    this.producers[name] = await newProducer(this.bootstrap, id, Number(timeoutMs))
  }

  async begin(name) {
    this.transactions[name] = await this.producers[name].transaction()
  }

  async send(name, topic, partitions, first, count) {
    const messages = numbered(partitions, first, count)
    await this.transactions[name].send({ topic, messages })
  }

  async offsets(name, consumerGroupId, topic, text) {
    const partitions = positions(text).map(([p, offset]) => ({ partition: Number(p), offset }))
    await this.transactions[name].sendOffsets({ consumerGroupId, topics: [{ topic, partitions }] })
  }

  async commit(name) {
    await this.transactions[name].commit()
  }

  async abort(name) {
    await this.transactions[name].abort()
  }

  async close(name) {
    await this.producers[name].disconnect()
  }

  // It reads only as a member of a group, and begins anew, where nothing is committed, when it gave up waiting for a broker
  // that is gone: what was read before is left out then.
  async read(topic) {
    for (const isolation of ISOLATIONS) {
      const reader = { isolation, records: [], told: 0, next: {} }
      const consumer = newConsumer(this.bootstrap, `reader-${process.pid}-${isolation}`, isolation === ISOLATIONS[1], {
        sessionTimeout: READER_SESSION_MS, rebalanceTimeout: READER_SESSION_MS, heartbeatInterval: READER_SESSION_MS / 4,
      })
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          if (Number(message.offset) < (reader.next[partition] || 0)) return
          reader.next[partition] = Number(message.offset) + 1
          reader.records.push(`${isolation}:${partition}:${message.value}`)
        },
      })
      this.readers.push(reader)
    }
  }

  // Once each has read so many or time is up, and no more come.
  async seen(...counts) {
    const deadline = Date.now() + SEEN_TIMEOUT_MS
    while (this.readers.some((reader, i) => reader.records.length < Number(counts[i])) && Date.now() < deadline) {
      await sleep(PAUSE_MS)
    }
    let known = []
    for (let since = Date.now(); Date.now() < since + QUIET_MS;) {
      const now = this.readers.map(reader => reader.records.length)
      if (now.some((length, i) => length !== known[i])) {
        known = now
        since = Date.now()
      }
      await sleep(PAUSE_MS)
    }
    return this.readers.flatMap((reader, i) => {
      const records = reader.records.slice(reader.told, known[i])
      reader.told = known[i]
      return records
    })
  }
}

const copy = async (bootstrap, id, groupId, source, target, _mode, sessionMs) => {
  const producer = await newProducer(bootstrap, id, COPIER_TIMEOUT_MS)
  const consumer = newConsumer(bootstrap, groupId, false, {
    sessionTimeout: Number(sessionMs), heartbeatInterval: Number(sessionMs) / 6,
  })
  let transactions = 0

  const copySome = async (partition, messages) => {
    const transaction = await producer.transaction()
    try {
      await transaction.send({ topic: target, messages: messages.map(({ value }) => ({ partition, value })) })
      const offset = String(BigInt(messages[messages.length - 1].offset) + 1n)
      await transaction.sendOffsets({
        consumerGroupId: groupId, topics: [{ topic: source, partitions: [{ partition, offset }] }],
      })
      transactions++
      if (transactions % ABORT_EVERY !== 0) {
        await transaction.commit()
        say('committed', messages.length)
        return true
      }
    } catch (error) {
      say('failed', error.type || error.name, error.message)
    }
    await transaction.abort()
    say('aborted', messages.length)
    return false
  }

  const eachBatch = async ({ batch, isRunning, isStale, heartbeat, resolveOffset }) => {
    for (let at = 0; at < batch.messages.length; at += COPY_AT_MOST) {
      const some = batch.messages.slice(at, at + COPY_AT_MOST)
      for (let done = false; !done;) {
        if (!isRunning() || isStale()) return
        done = await copySome(batch.partition, some)
        // Before the heartbeat: where that fails, KafkaJS reads again from what is resolved, not from what is committed.
        if (done) resolveOffset(some[some.length - 1].offset)
        await heartbeat()
      }
    }
  }

  await consumer.connect()
  await consumer.subscribe({ topic: source, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, partitionsConsumedConcurrently: 1, eachBatch })
  whenInputEnds(async () => {
    await consumer.disconnect()
    await producer.disconnect()
  })
}

const told = error => [error.type || error.name, error.message]
const [bootstrap, ...copier] = process.argv.slice(2)
const done = copier.length ? copy(bootstrap, ...copier) : serve(new Program(bootstrap), told)
done.catch(fail)
