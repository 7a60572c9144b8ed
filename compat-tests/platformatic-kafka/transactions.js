// Transactions with @platformatic/kafka; what it is told and what it says is in transactions/scenario.py.
//
// Of the aborted transactions that a producer has in one answer its consumer leaves out only the last, and takes the
// records of those before for committed. So whenever one is aborted the readers get past it before anything else begins.
'use strict'

const { Admin, Consumer, FetchIsolationLevels, MessagesStreamModes, Producer } = require('@platformatic/kafka')
const {
  ABORT_EVERY, COPIER_TIMEOUT_MS, COPY_AT_MOST, ISOLATIONS, PAUSE_MS, SEEN_TIMEOUT_MS,
  fail, numbered, positions, say, serve, sleep, whenInputEnds,
} = require('./transactions_program.js')

// Without these it asks for an epoch of producer 0, and is refused where the transactional id has another one.
const ANY_PRODUCER = { producerId: -1n, producerEpoch: -1 }

const settings = (bootstrap, clientId) => ({ clientId, bootstrapBrokers: [bootstrap], retries: 1000, retryDelay: 100 })

const newProducer = (bootstrap, transactionalId, timeout) =>
  new Producer({ ...settings(bootstrap, transactionalId), transactionalId, timeout, idempotent: true })

// Errors hold others, and have causes; what the broker says lies within.
const within = error => [error.cause, ...(error.errors || [])].filter(Boolean)
const apiError = error => error.apiId || within(error).map(apiError).find(Boolean)
const words = error => [error.message, ...within(error).map(words)].join('; ')

const until = async condition => {
  const deadline = Date.now() + SEEN_TIMEOUT_MS
  while (!await condition() && Date.now() < deadline) await sleep(PAUSE_MS)
}

// It reads only as a member of a group, of which it is the only one.
class Reader {
  constructor(bootstrap, topic, partitions, isolation) {
    this.topic = topic
    this.isolation = isolation
    this.level = FetchIsolationLevels[isolation.toUpperCase()]
    this.offsets = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0n }))
    this.records = []
    this.told = 0
    this.consumer = new Consumer({
      ...settings(bootstrap, isolation), groupId: `reader-${process.pid}-${isolation}`, autocommit: false,
      isolationLevel: this.level, maxWaitTime: 100,
    })
  }

  async start() {
    const { topic, offsets } = this
    this.stream = await this.consumer.consume({ topics: [topic], mode: MessagesStreamModes.MANUAL, offsets })
    this.stream.on('error', fail)
    this.stream.on('data', ({ partition, value }) => this.records.push(`${this.isolation}:${partition}:${value}`))
  }

  position(partition) {
    return this.stream.offsetsToFetch.get(`${this.topic}:${partition}`) ?? 0n
  }

  // By an Admin: a Consumer goes on asking with the epoch of a broker that was killed meanwhile.
  async isAtEnd(admin) {
    const asked = this.offsets.map(({ partition }) => ({ partitionIndex: partition }))
    const topics = [{ name: this.topic, partitions: asked }]
    const [{ partitions }] = await admin.listOffsets({ topics, isolationLevel: this.level })
    return partitions.every(({ partitionIndex, offset }) => this.position(partitionIndex) >= offset)
  }

  new() {
    const records = this.records.slice(this.told)
    this.told = this.records.length
    return records
  }
}

class Program {
  constructor(bootstrap) {
    this.bootstrap = bootstrap
    this.admin = new Admin(settings(bootstrap, 'asking'))
    this.producers = {}
    this.transactions = {}
    this.sent = {} // by the transactional id: what its last transaction has sent, topics, partitions and offsets
    this.readers = []
  }

  // It is initialised when it begins a transaction: that is the first one.
  async producer(name, id, timeoutMs) {
    const producer = newProducer(this.bootstrap, id, Number(timeoutMs))
    const first = await producer.beginTransaction(ANY_PRODUCER)
    this.producers[name] = { producer, first, id }
    await this.readersPass(id) // of the producer that it has shut out
  }

  async begin(name) {
    const { producer, first } = this.producers[name]
    this.producers[name].first = undefined
    this.transactions[name] = first || await producer.beginTransaction(ANY_PRODUCER)
    this.sent[this.producers[name].id] = []
  }

  async send(name, topic, partitions, first, count) {
    const messages = numbered(partitions, first, count)
      .map(({ partition, value }) => ({ topic, partition, value: Buffer.from(value) }))
    const { offsets } = await this.transactions[name].send({ messages })
    this.sent[this.producers[name].id].push(...offsets)
  }

  // For a group that nobody is in; otherwise messages have all this from their consumer.
  async offsets(name, groupId, topic, text) {
    const transaction = this.transactions[name]
    const consumer = new Consumer({ ...settings(this.bootstrap, name), groupId })
    const coordinatorId = await consumer.findGroupCoordinator()
    await transaction.addConsumer(consumer)
    for (const [partition, offset] of positions(text)) {
      const metadata = { consumer: { groupId, memberId: '', generationId: -1, coordinatorId } }
      await transaction.addOffset({ topic, partition: Number(partition), offset: BigInt(offset) - 1n, metadata })
    }
    await consumer.close()
  }

  // It would ask the broker to end what is empty too, and there is no transaction.
  async end(name, how) {
    const isEmpty = !this.sent[this.producers[name].id].length
    await this.transactions[name][isEmpty ? 'cancel' : how]()
  }

  async commit(name) {
    await this.end(name, 'commit')
    this.sent[this.producers[name].id] = []
  }

  async abort(name) {
    await this.end(name, 'abort')
    await this.readersPass(this.producers[name].id)
  }

  // … what was sent in this id's last transaction, aborted now.
  async readersPass(id) {
    const left = this.sent[id] || []
    await until(() => this.readers.every(reader =>
      left.every(({ topic, partition, offset }) => topic !== reader.topic || reader.position(partition) > offset)))
    this.sent[id] = []
  }

  async close(name) {
    await this.producers[name].producer.close()
  }

  async read(topic, partitions) {
    this.readers = ISOLATIONS.map(isolation => new Reader(this.bootstrap, topic, Number(partitions), isolation))
    for (const reader of this.readers) await reader.start()
  }

  // Once each has read so many or time is up, and is where no more come.
  async seen(...counts) {
    await until(() => this.readers.every((reader, i) => reader.records.length >= Number(counts[i])))
    for (const reader of this.readers) await until(() => reader.isAtEnd(this.admin))
    return this.readers.flatMap(reader => reader.new())
  }
}

// A stream goes on with what it has in its buffer after a rebalance, and the client does not ask for offsets that are
// certain: so each generation of the group has a stream of its own, from offsets for which the copier has asked.
class Copier {
  constructor(bootstrap, id, groupId, source, target, sessionMs) {
    Object.assign(this, { bootstrap, id, groupId, source, target })
    this.transactions = 0
    this.generation = 0
    this.closing = false
    this.copying = undefined // what is on its way
    this.producer = newProducer(bootstrap, id, COPIER_TIMEOUT_MS)
    this.admin = new Admin(settings(bootstrap, id))
    this.consumer = new Consumer({
      ...settings(bootstrap, id), groupId, autocommit: false, maxWaitTime: 100,
      sessionTimeout: sessionMs, rebalanceTimeout: sessionMs, heartbeatInterval: sessionMs / 6,
      protocols: [{ name: 'roundrobin', version: 1 }], protocolsMetadata: () => this.beforeJoin(),
    })
  }

  async run() {
    this.consumer.on('consumer:group:join', () => this.joined().catch(fail))
    this.consumer.topics.track(this.source)
    await this.consumer.joinGroup({})
    whenInputEnds(() => this.close())
  }

  async endGeneration() {
    this.generation++
    this.stream?.destroy()
    this.stream = undefined
    await this.copying
  }

  // The client joins only when it has this.
  async beforeJoin() {
    await this.endGeneration()
    return Buffer.alloc(0)
  }

  async joined() {
    const generation = ++this.generation
    const isOver = () => this.closing || this.generation !== generation
    const partitions = (this.consumer.assignments || []).flatMap(one => one.partitions)
    if (!partitions.length || isOver()) return
    const offsets = await this.certainOffsets(partitions)
    if (isOver()) return
    const stream = await this.consumer.consume({ topics: [this.source], mode: MessagesStreamModes.MANUAL, offsets })
    if (isOver()) return stream.destroy()
    this.stream = stream
    const messages = []
    stream.on('error', error => { if (!isOver()) fail(error) })
    stream.on('data', message => {
      messages.push(message)
      this.copying ??= this.copyAll(messages, isOver).finally(() => { this.copying = undefined })
    })
  }

  async certainOffsets(partitionIndexes) {
    const groups = [{ groupId: this.groupId, topics: [{ name: this.source, partitionIndexes }] }]
    const [{ topics: [{ partitions }] }] = await this.admin.listConsumerGroupOffsets({ groups, requireStable: true })
    return partitions.map(({ partitionIndex, committedOffset }) =>
      ({ topic: this.source, partition: partitionIndex, offset: committedOffset < 0n ? 0n : committedOffset }))
  }

  async copyAll(messages, isOver) {
    while (messages.length && !isOver()) {
      const some = messages.slice(0, COPY_AT_MOST)
      if (await this.copySome(some)) messages.splice(0, some.length)
    }
  }

  async copySome(messages) {
    try {
      const transaction = await this.producer.beginTransaction(ANY_PRODUCER)
      await transaction.send({
        messages: messages.map(({ partition, value }) => ({ topic: this.target, partition, value })),
      })
      await transaction.addConsumer(this.consumer)
      const last = new Map(messages.map(message => [message.partition, message]))
      for (const message of last.values()) await transaction.addOffset(message)
      this.transactions++
      if (this.transactions % ABORT_EVERY) {
        await transaction.commit()
        say('committed', messages.length)
        return true
      }
      await transaction.abort()
      say('aborted', messages.length)
    } catch (error) {
      say('failed', words(error))
      await this.abort()
    }
    return false
  }

  // The producer of a transaction that cannot be aborted is of no more use.
  async abort() {
    try {
      await this.producer.transaction?.abort()
    } catch (error) {
      say('failed', words(error))
      await this.producer.close()
      this.producer = newProducer(this.bootstrap, this.id, COPIER_TIMEOUT_MS)
    }
  }

  async close() {
    this.closing = true
    await this.endGeneration()
    await this.consumer.close(true)
    await this.producer.close()
  }
}

const told = error => [apiError(error) || error.code || error.name, words(error)]

const main = (bootstrap, ...copier) => {
  if (!copier.length) return serve(new Program(bootstrap), told)
  const [id, groupId, source, target, , sessionMs] = copier
  return new Copier(bootstrap, id, groupId, source, target, Number(sessionMs)).run()
}

main(...process.argv.slice(2)).catch(fail)
