// Ways into a secured broker with @platformatic/kafka; security/ways.py tells what is asked and what is said.
'use strict'

const fs = require('fs')
const { Consumer, MessagesStreamModes, Producer } = require('@platformatic/kafka')

const TIMEOUT_MS = 60000
// A broker that does not like a certificate shows as a connection that failed; one that is away would show by ECONNREFUSED.
const AWAY = 'ECONNREFUSED'
const ways = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))
const read = path => fs.readFileSync(path, 'utf8')

// Without it a challenge that tells of a bad token counts for the end.
const noChallenge = (bytes, callback) =>
  bytes.length ? callback(new Error(`the broker says ${bytes}`)) : callback(null, bytes)

const settings = way => {
  const chosen = {
    clientId: `secured-${way.name}`, bootstrapBrokers: [way.bootstrap], retries: 2, retryDelay: 100,
    connectTimeout: TIMEOUT_MS,
  }
  if (way.protocol.endsWith('SSL')) {
    chosen.tls = { ca: [read(way.ca)] }
    if (way.certificate) Object.assign(chosen.tls, { cert: read(way.certificate), key: read(way.key) })
  }
  if (way.token) {
    chosen.sasl = { mechanism: 'OAUTHBEARER', token: way.token, authBytesValidator: noChallenge }
  } else if (way.mechanism) {
    chosen.sasl = { mechanism: way.mechanism, username: way.username, password: way.password }
  }
  return chosen
}

const produce = async way => {
  const producer = new Producer({ ...settings(way), autocreateTopics: true, acks: -1 })
  try {
    for (const value of way.values)
      await producer.send({ messages: [{ topic: way.topic, partition: 0, value: Buffer.from(value) }] })
  } finally {
    await producer.close()
  }
}

// It reads only as a member of a group.
const consume = async way => {
  const consumer = new Consumer({ ...settings(way), groupId: `secured-${way.name}`, autocommit: false, maxWaitTime: 100 })
  const values = []
  try {
    const stream = await consumer.consume({
      topics: [way.topic], mode: MessagesStreamModes.MANUAL, offsets: [{ topic: way.topic, partition: 0, offset: 0n }],
    })
    for await (const message of stream) {
      values.push(message.value.toString())
      if (values.length === way.values.length) break
    }
  } finally {
    await consumer.close(true)
  }
  return values
}

// Whether this is among what it says that went wrong: errors hold others, and have causes.
const tells = (error, what) =>
  Boolean(error) && (what(error) || tells(error.cause, what) || (error.errors || []).some(each => tells(each, what)))

const meaning = error => {
  if (tells(error, ({ apiId }) => apiId === 'TOPIC_AUTHORIZATION_FAILED')) return 'denied'
  if (tells(error, ({ code }) => code === 'PLT_KFK_AUTHENTICATION')) return 'refused'
  const failed = tells(error, ({ code }) => code === 'PLT_KFK_NETWORK') && !tells(error, ({ code }) => code === AWAY)
  return failed ? 'refused' : 'error'
}

const words = error =>
  [`${error.name}: ${error.message}`, ...[error.cause, ...(error.errors || [])].filter(Boolean).map(words)].join('; ')

const go = async way => {
  let outcome = 'values'
  let detail
  try {
    await produce(way)
    detail = await consume(way)
  } catch (error) {
    outcome = meaning(error)
    detail = words(error)
  }
  fs.writeSync(1, JSON.stringify({ way: way.name, outcome, detail }) + '\n')
}

Promise.all(ways.map(go)).then(() => process.exit(0))
